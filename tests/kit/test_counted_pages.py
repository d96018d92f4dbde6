# What the pages of a kernel's ring buffer hold, as the capture kit counts it on the host with od
# and awk: what the native reader finds in them, whichever kernel and machine wrote them.

import re
import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given

from support.host import Fresh, examples
from support.kit.awk import AWKS, every_awk, run
from support.narrator import recordings
from support.native_tables import events
from support.perfdata import Machine, Recording, cpu, recording
from support.perfdata import happenings as h
from support.perfdata.machine import MACHINES
from support.perfdata.timeline import narrowed
from support.ring_pages import page_size
from support.tracedat import Dress, Style, write_tracefs
from support.tracedat.dresses import dresses, machines, without_repeats
from support.tracedat.small import USUAL, networking

S = 1_000_000_000
NET_RX = 3
KINDS = ("softirq", "irq", "vector", "packets", "switches")
VECTORS = {"LOC": ("local_timer",), "RES": ("reschedule",)}
VECTORS |= {"CAL": ("call_function", "call_function_single")}


# What the pages of tracefs hold, as the native reader finds it, whoever wrote them.
def expected(folder: Path, window: tuple[int, int, int, int]) -> Counter[str]:
    begin, first, last, end = window
    found: Counter[str] = Counter()
    wanted = [("softirq", "irq:softirq_entry", "vec"), ("irq", "irq:irq_handler_entry", "irq")]
    wanted += [("packets", "napi:napi_poll", "packets"), ("switches", "sched:sched_switch", "ctxt")]
    wanted += [
        ("vector", f"irq_vectors:{one}_entry", kind)
        for kind, names in VECTORS.items()
        for one in names
    ]
    for kind, event, what in wanted:
        if not (folder / "events" / event.replace(":", "/")).is_dir():
            continue
        for row in events(folder, event):
            where = "-" if kind == "switches" else row["common_cpu"]
            key, n = (
                f"{kind} {row.get(what, what)} {where}",
                row["work"] if kind == "packets" else 1,
            )
            found[key + " outer"] += n if begin <= row["time_ns"] <= end else 0
            found[key + " inner"] += n if first <= row["time_ns"] <= last else 0
            found[key + " whole"] += n
            if kind == "packets" and n > 0:
                found[f"polls polls {where} whole"] += 1
    return Counter({key: n for key, n in found.items() if n})


Pages = dict[str, list[Path]]


def dumped(folder: Path, machine: Machine, window: tuple[int, int, int, int]) -> Pages:
    """By CPU what tally-pages.awk reads; od turns the words of another byte order to the host's."""
    lines = ["counters", *(f"window {kind} {' '.join(map(str, window))}" for kind in KINDS)]
    (folder / "grown").write_text("\n".join(lines) + "\n")
    offset, size = page_size((folder / "header_page").read_text())
    known = [f"page {offset // 4}"]
    for event, text in (
        ("irq/softirq_entry", "softirq - vec"),
        ("irq/irq_handler_entry", "irq - irq"),
        ("napi/napi_poll", "packets - work"),
        ("sched/sched_switch", "switches - -"),
        *(
            (f"irq_vectors/{one}_entry", f"vector {kind} -")
            for kind, names in VECTORS.items()
            for one in names
        ),
    ):
        path = folder / "events" / event / "format"
        if path.exists():
            form, (kind, name, field) = path.read_text(), text.split()
            number = re.search(r"^ID: (\d+)", form, re.MULTILINE)
            place = re.search(rf"field:[^;]* {field};\s*offset:(\d+);", form)
            word = "-" if field == "-" or place is None else int(place[1]) // 4
            known.append(f"event {number[1]} {kind} {name} {word}")
    (folder / "known").write_text("\n".join(known) + "\n")
    found = {}
    order = "little" if machine.order == "<" else "big"
    for raw in sorted(folder.glob("per_cpu/cpu*/raw")):
        words = ["od", "-An", "-v", f"--endian={order}", "-tu4", f"-w{size}", str(raw)]
        dump = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        path = raw.with_name("dump")
        path.write_text(dump + "status 0\n")
        found[raw.parent.name.removeprefix("cpu")] = [folder / "grown", folder / "known", path]
    return found


def of_pages(awk: Sequence[str], machine: Machine, pages: Pages) -> Counter[str]:
    """What expected() says, by tally-pages.awk."""
    found: Counter[str] = Counter()
    big = "yes" if machine.order == ">" else ""
    for number, inputs in pages.items():
        told = run(awk, ["tally", "tally-pages"], inputs, cpu=number, big=big)
        for line in told.splitlines():
            if line.startswith("tally "):
                _, kind, name, cpu, *numbers = line.split()
                for what, number in zip(("outer", "inner", "whole"), numbers, strict=True):
                    found[f"{kind} {name} {cpu} {what}"] += int(number)
            else:
                assert line == "status 0"
    return Counter({key: n for key, n in found.items() if n})


def windows(told: Recording) -> tuple[int, int, int, int]:
    """Of the times that events have, so that some are at its very edges."""
    times = sorted({what.at for one in told.cpus for what in one.happenings} | {0})
    quarter = len(times) // 4
    return times[0], times[quarter], times[-1 - quarter], times[-1]


@examples(20)
@given(recordings(), dresses(), machines())
def test_pages_of_any_kernel_count_as_they_are_read(
    fresh: Fresh, told: Recording, dress: Dress, machine: Machine
) -> None:
    folder = fresh()
    told = replace(narrowed(without_repeats(told)), machine=machine)
    write_tracefs(told, folder, replace(dress, instances={}, options=(), clock="mono"))
    window = windows(told)
    pages, wanted = dumped(folder, machine, window), expected(folder, window)
    for awk in AWKS:
        assert of_pages(awk, machine, pages) == wanted


@every_awk
@pytest.mark.parametrize("stamps", ["extend", "absolute"])
@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_times_beyond_what_a_double_holds(
    awk: list[str], machine: Machine, stamps: str, tmp_path: Path
) -> None:
    # Two years after boot: 6e16 ns. The edges are still exact, to the nanosecond.
    late = 2 * 365 * 86400 * S + 123_456_789
    happened = [h.SoftirqRaise(late - S, NET_RX), h.SoftirqEntry(late, NET_RX)]
    happened += [h.NapiPoll(late + 1, "eth0", 7, 64), h.SoftirqExit(late + 2, NET_RX)]
    told = replace(recording(cpu(0, *happened)), machine=machine)
    write_tracefs(told, tmp_path, Dress(clock="mono", style=Style(stamps=stamps)))
    for shift, outer, inner in ((0, 1, 1), (1, 1, 0), (-1, 0, 0)):
        window = (late - 5, late + max(shift, 0), late + max(shift, 0), late + min(shift, 0))
        found = of_pages(awk, machine, dumped(tmp_path, machine, window))
        assert (found["softirq 3 0 outer"], found["softirq 3 0 inner"]) == (outer, inner)
        assert found["softirq 3 0 whole"] == 1
        assert found["packets packets 0 whole"] == 7


@every_awk
@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_a_story_with_all_that_is_counted(awk: list[str], machine: Machine, tmp_path: Path) -> None:
    told = replace(narrowed(networking(machine)), clock="monotonic")
    write_tracefs(told, tmp_path, replace(USUAL, clock="mono", discard_each=3))
    found = of_pages(awk, machine, dumped(tmp_path, machine, windows(told)))
    assert found == expected(tmp_path, windows(told))
    assert {key.split()[0] for key in found} == {*KINDS, "polls"}
