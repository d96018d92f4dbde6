# What a trace lacks by the kernel's own counters, as capture/lib counts it on the host: counters
# made to match, to miss, or to grow outside the recorded window only, with every awk that is here.

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from support.host import ROOT
from support.kit.awk import every_awk, run

S = 1_000_000_000
STOLEN = (ROOT / "capture/profiles/stolen.events").read_text()
EVENTS = f" {' '.join(word for word in STOLEN.split() if ':' in word)} "

# When the files were read: before in [B0, B1], after in [A0, A1].
B0, B1, A0, A1 = 100 * S + 7, 100 * S + 1000, 101 * S, 101 * S + 500
FILES = ("softirqs", "interrupts", "net_softnet_stat", "stat")


# What the kernel writes; of each file one text before and one after.
def softirqs(*rows: Sequence[int], name: str = "NET_RX") -> str:
    lines = [f"{'':20}{'CPU0':>11}{'CPU1':>11}"]
    names = ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED"]
    for one in names:
        values = rows[0] if one == name else [5, 5]
        lines.append(f"{one + ':':>12} " + " ".join(f"{value:>10}" for value in values))
    return "\n".join(lines) + "\n"


def interrupts(lines: Mapping[str, tuple[Sequence[int], str]]) -> str:
    text = "           CPU0       CPU1       \n"
    for name, (values, tail) in lines.items():
        text += f"{name + ':':>4} " + " ".join(f"{value:>10}" for value in values) + f"  {tail}\n"
    return text + "ERR:          0\n"


def softnet(*processed: int) -> str:
    zeros = " ".join(["00000000"] * 11)
    return "".join(
        f"{count:08x} {zeros} {cpu:08x} 00000000 00000000\n" for cpu, count in enumerate(processed)
    )


def copies(folder: Path, before: Mapping[str, str], after: Mapping[str, str]) -> Path:
    for name, texts, times in (("before", before, (B0, B1)), ("after", after, (A0, A1))):
        (folder / name).mkdir(parents=True)
        stamp = "".join(f"{file} {times[0]} {times[1]}\n" for file in FILES)
        (folder / name / "stamp").write_text(f"monotonic_ns 1\nrealtime_ns 2\n{stamp}")
        for file, text in texts.items():
            (folder / name / file).write_text(text)
    return folder


def grown(awk: Sequence[str], folder: Path, cpus: str = "0 1", whole: str = "yes") -> list[str]:
    words = [
        f"{folder}/{place}/{file}"
        for place in ("before", "after")
        for file in ("stamp", *FILES)
        if (folder / place / file).exists()
    ]
    text = run(awk, ["grown"], words, cpus=cpus, whole=whole, events=EVENTS)
    assert text.startswith("counters\n")
    return text.splitlines()


def judged(
    awk: Sequence[str], folder: Path, lines: Sequence[str], lost: str = "0", exact: str = "yes"
) -> tuple[dict[str, list[int]], list[str]]:
    """Rows by kind, name and CPU: counted, recorded, inside, least, most. And what is named."""
    (folder / "grown").write_text("\n".join(grown(awk, folder)) + "\n")
    (folder / "text").write_text("\n".join([*lines, "status 0"]) + "\n")
    tallies = run(awk, ["tally", "tally-text"], [folder / "grown", folder / "text"])
    assert tallies.endswith("status 0\n")
    (folder / "tallies").write_text(tallies)
    words = [folder / "grown", folder / "tallies"]
    said = run(awk, ["missing"], words, exact=exact, lost=lost).splitlines()
    rows = [line.split()[1:] for line in said if line.startswith("row ")]
    named = [short(line) for line in said if not line.startswith("row ")]
    return {" ".join(row[:3]): [int(word) for word in row[3:]] for row in rows}, named


# How much of what is missing, and on which CPU.
def short(said: str) -> str:
    said = said.replace("under ", "<")
    return re.sub(r"^missing (\S+) % of (.+?)(?: on CPU (\d+))?$", r"\1 \2 \3", said).strip()


def at(cpu: int, time: int, event: str) -> str:
    return f"[{cpu:03}] {time // S:5}.{time % S:09}: {event}"


def of_trace_cmd(line: str, task: str = "a [b] c:-12") -> str:
    where, time, event, *rest = line.split()
    return f"{task:>22}  {where}  {time} {event.partition(':')[2]:<21} {' '.join(rest)}"


def rx(cpu: int, count: int, first: int = B1, step: int = 1000) -> list[str]:
    return [
        at(cpu, first + step * i, "irq:softirq_entry: vec=3 [action=NET_RX]") for i in range(count)
    ]


@every_awk
@pytest.mark.parametrize("form", [str, of_trace_cmd])
def test_what_was_recorded_matches(
    awk: list[str], form: Callable[[str], str], tmp_path: Path
) -> None:
    lines = [*rx(0, 40), *rx(1, 7), at(1, B0, "irq:irq_handler_entry: irq=36 name=virtio1 req.0")]
    lines += [at(0, A1, "sched:sched_switch: prev_comm=a prev_pid=1 ==> next_comm=b next_pid=2")]
    lines += [
        at(1, A0, "napi:napi_poll: napi poll on napi struct 0x1 for device eth0 work 9 budget 64")
    ]
    lines += [at(1, B1, "irq_vectors:local_timer_entry: vector=236")]
    lines += [at(1, B1, "irq_vectors:call_function_single_entry: vector=251")]
    lines += [
        at(1, B1, "irq_vectors:call_function_entry: vector=252"),
        at(0, B1, "irq:softirq_exit: vec=3"),
    ]
    irqs = {"36": ([0, 9], "PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0")}
    irqs |= {"LOC": ([5, 5], "Local timer interrupts"), "CAL": ([1, 1], "Function call interrupts")}
    later = {"36": ([0, 10], irqs["36"][1]), "LOC": ([5, 6], ""), "CAL": ([1, 3], "")}
    later = {name: (values, irqs[name][1]) for name, (values, _) in later.items()}
    before = {"softirqs": softirqs([100, 2]), "interrupts": interrupts(irqs)}
    after = {"softirqs": softirqs([140, 9]), "interrupts": interrupts(later)}
    before |= {"stat": "intr 1 2\nctxt 50\n", "net_softnet_stat": softnet(1, 0xFFFFFFFE)}
    # A counter of 32 bits that went over its end.
    after |= {"stat": "intr 1 2\nctxt 51\n", "net_softnet_stat": softnet(1, 7)}
    rows, named = judged(
        awk, copies(tmp_path / "a=b", before, after), [form(line) for line in lines]
    )
    assert rows == {
        "softirq NET_RX 0": [40, 40, 40, 0, 0],
        "softirq NET_RX 1": [7, 7, 7, 0, 0],
        "irq 36 1": [1, 1, 0, 0, 1],
        "vector LOC 1": [1, 1, 1, 0, 0],
        "vector CAL 1": [2, 2, 2, 0, 0],
        "packets packets 1": [9, 9, 9, 0, 0],
        "switches ctxt -": [1, 1, 0, 0, 1],
    }
    assert named == []


@every_awk
def test_what_is_missing_is_proved_and_named(awk: list[str], tmp_path: Path) -> None:
    before = {"softirqs": softirqs([0, 0]), "net_softnet_stat": softnet(0, 0)}
    after = {"softirqs": softirqs([500, 1128]), "net_softnet_stat": softnet(900, 18000)}
    lines = [*rx(0, 500), *rx(1, 592)]
    polls = "napi:napi_poll: napi poll on napi struct 0x1 for device eth0 work {} budget 64"
    lines += [at(0, B1, polls.format(600)), at(1, B1, polls.format(1446))]
    rows, named = judged(awk, copies(tmp_path / "run", before, after), lines)
    assert rows["softirq NET_RX 1"] == [1128, 592, 592, 536, 536]
    assert rows["packets packets 0"] == [900, 600, 600, 300, 300]
    # Packets by themselves are no proof, as on CPU 0.
    assert named == [
        "beyond",
        "47 NET_RX 1",
        "91 packets 1",
    ]


@every_awk
def test_what_grew_outside_the_window_is_no_proof(awk: list[str], tmp_path: Path) -> None:
    before, after = {"softirqs": softirqs([0, 0])}, {"softirqs": softirqs([12, 0])}
    # Ten between the readings, one during each, and others before and after both.
    lines = [*rx(0, 10), *rx(0, 1, B0), *rx(0, 1, A1), *rx(0, 3, B0 - 3, 1), *rx(0, 3, A1 + 1, 1)]
    rows, named = judged(awk, copies(tmp_path / "run", before, after), lines)
    assert rows == {"softirq NET_RX 0": [12, 12, 10, 0, 2]}
    assert named == []
    # One more, and it has to be said: no event of outside may stand for it.
    before, after = {"softirqs": softirqs([0, 0])}, {"softirqs": softirqs([13, 0])}
    rows, named = judged(awk, copies(tmp_path / "more", before, after), lines)
    assert rows == {"softirq NET_RX 0": [13, 12, 10, 1, 3]}
    assert named == ["beyond", "7.6 NET_RX 0"]
    # Unless it was lost, and that is said.
    assert judged(awk, tmp_path / "more", lines, lost="1")[1] == ["7.6 NET_RX 0"]


@every_awk
def test_the_networks_softirqs_are_named_first(awk: list[str], tmp_path: Path) -> None:
    before = {"softirqs": softirqs([0, 0]), "stat": "ctxt 0\n"}
    after = {"softirqs": softirqs([2, 1]), "stat": "ctxt 900\n"}
    _, named = judged(awk, copies(tmp_path / "run", before, after), [])
    assert named == [
        "beyond",
        "100 NET_RX 0",
        "100 NET_RX 1",
        "100 switches",
    ]


@every_awk
def test_few_of_many(awk: list[str], tmp_path: Path) -> None:
    folder = copies(
        tmp_path / "run", {"softirqs": softirqs([0, 0])}, {"softirqs": softirqs([2001, 100])}
    )
    _, named = judged(awk, folder, [*rx(0, 2000), *rx(1, 99)])
    assert named == [
        "beyond",
        "<0.1 NET_RX 0",
        "1.0 NET_RX 1",
    ]


# A share that floats do not hold is rounded down all the same, and never further.
@every_awk
@pytest.mark.parametrize(("missing", "said"), [(29, "2.9"), (7, "0.7"), (999, "99"), (1000, "100")])
def test_shares_are_exact(awk: list[str], missing: int, said: str, tmp_path: Path) -> None:
    after = {"softirqs": softirqs([1000, 0])}
    folder = copies(tmp_path / "run", {"softirqs": softirqs([0, 0])}, after)
    assert judged(awk, folder, rx(0, 1000 - missing))[1] == ["beyond", f"{said} NET_RX 0"]


@every_awk
def test_with_another_clock_only_the_whole_trace_is_proof(awk: list[str], tmp_path: Path) -> None:
    before, after = {"softirqs": softirqs([0, 0])}, {"softirqs": softirqs([12, 9])}
    rows, named = judged(
        awk, copies(tmp_path / "run", before, after), [*rx(0, 20, 5), *rx(1, 6, 5)], exact=""
    )
    assert rows == {"softirq NET_RX 0": [12, 20, 0, 0, 12], "softirq NET_RX 1": [9, 6, 0, 3, 9]}
    assert named == ["beyond", "33 NET_RX 1"]


@every_awk
def test_lines_that_have_no_event_each_are_left_out(awk: list[str], tmp_path: Path) -> None:
    tails = {"9": "IO-APIC   9-fasteoi   acpi, i2c_handler", "30": "GPIO 4 button"}
    tails |= {"31": "GPIO 5 lid", "40": "PCI-MSI 7-edge      eth0-rx-0", "RES": "Rescheduling"}
    before = {"interrupts": interrupts({name: ([0, 0], tail) for name, tail in tails.items()})}
    after = {"interrupts": interrupts({name: ([4, 4], tail) for name, tail in tails.items()})}
    lines = [at(0, B1, "irq:irq_handler_entry: irq=31 name=lid")] * 4
    rows, _ = judged(awk, copies(tmp_path / "run", before, after), lines)
    # Shared: an event for each handler. 30 and RES: not one event on any CPU, as of handlers in
    # another's thread and of a hypervisor's IPIs. 31 has some; 40's flow always has them.
    assert rows == {
        "irq 31 0": [4, 4, 4, 0, 0],
        "irq 31 1": [4, 0, 0, 4, 4],
        "irq 40 0": [4, 0, 0, 4, 4],
        "irq 40 1": [4, 0, 0, 4, 4],
    }


@every_awk
def test_only_what_was_recorded_is_compared(awk: list[str], tmp_path: Path) -> None:
    before = {"softirqs": softirqs([0, 0]), "stat": "ctxt 1\n", "net_softnet_stat": softnet(0, 0)}
    after = {"softirqs": softirqs([3, 3]), "stat": "ctxt 9\n", "net_softnet_stat": softnet(5, 5)}
    folder = copies(tmp_path / "run", before, after)
    lines = [line.split()[1:5] for line in grown(awk, folder, "1", "") if line.startswith("grown")]
    assert lines == [["softirq", "3", "NET_RX", "1"], ["packets", "packets", "packets", "1"]]
    (folder / "before" / "softirqs").unlink()
    lines = [line.split()[1:5] for line in grown(awk, folder) if line.startswith("grown")]
    assert [line[0] for line in lines] == ["packets", "packets", "switches"]


@every_awk
def test_many_interrupts_keep_those_that_miss(awk: list[str], tmp_path: Path) -> None:
    tail = "PCI-MSI 7-edge      eth0"
    before = {"interrupts": interrupts({str(n): ([0, 0], tail) for n in range(300)})}
    after = {"interrupts": interrupts({str(n): ([1, 0], tail) for n in range(300)})}
    lines = [at(0, B1, f"irq:irq_handler_entry: irq={n} name=eth0") for n in range(300) if n != 77]
    rows, named = judged(awk, copies(tmp_path / "run", before, after), lines)
    assert set(rows) == {"irq 77 0"}
    assert named == ["beyond", "100 interrupt 77 0"]


@every_awk
def test_perf_counts_its_losses_and_a_program_that_fails_is_seen(
    awk: list[str], tmp_path: Path
) -> None:
    (tmp_path / "grown").write_text("counters\n")
    lines = [at(0, 5, "PERF_RECORD_LOST lost 99"), at(1, 6, "PERF_RECORD_LOST lost 2")]
    for end, status in (("status 0\n", "0"), ("status 141\n", "141"), ("", "none")):
        (tmp_path / "text").write_text("\n".join(lines) + "\n" + end)
        said = run(awk, ["tally", "tally-text"], [tmp_path / "grown", tmp_path / "text"])
        assert said == f"lost 101\nstatus {status}\n"


@every_awk
def test_numbers_of_cpus_are_decimal(awk: list[str], tmp_path: Path) -> None:
    (tmp_path / "grown").write_text("counters\n")
    lines = [line for number in (0, 8, 10, 100) for line in rx(number, 1)]
    (tmp_path / "text").write_text("\n".join(lines) + "\nstatus 0\n")
    said = run(awk, ["tally", "tally-text"], [tmp_path / "grown", tmp_path / "text"]).splitlines()
    found = sorted(int(line.split()[3]) for line in said if line.startswith("tally "))
    assert found == [0, 8, 10, 100]
