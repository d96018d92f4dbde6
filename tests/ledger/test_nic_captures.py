# Captures of guests with real NIC drivers (two of them with perf 6.12's newer attributes, which
# perf 6.1 refuses), against what the guests' own kernels counted meanwhile.

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from pathlib import Path

import pytest

from netcost_analysis._native import Capture
from support.native_tables import Answer, Row, assert_conserved, rows
from support.oracle import Seen, perf_handler
from support.perfdata import Cpu, Recording
from support.perfdata import happenings as h
from support.perfdata.tracepoints import ACTIONS
from support.reference_ledger import Ledger, reference
from support.shared import CASES, Case


@pytest.fixture(scope="module", params=CASES, ids=lambda case: "-".join(case))
def case(request: pytest.FixtureRequest, unpacked: Path) -> Case:
    return Case(unpacked, *request.param)


# Each snapshot ran `cat` on one file after another: a counter was read somewhere in the life of its
# own `cat`, which sched_switch shows. So the kernel's difference lies between the events of the
# inner and of the outer window.
class Windows:
    FILES = ("interrupts", "softirqs", "stat", "net_softnet_stat", "net_dev", "schedstat", "uptime")

    def __init__(self, switches: list[Row]) -> None:
        first: dict[int, int] = {}
        last: dict[int, int] = {}
        cats = set()
        for row in sorted(switches, key=lambda row: row["time_ns"]):
            for side in ("prev", "next"):
                pid = row[f"{side}_pid"]
                first.setdefault(pid, row["time_ns"])
                last[pid] = row["time_ns"]
                if row[f"{side}_comm"] == "cat":
                    cats.add(pid)
        lives = sorted((first[pid], last[pid]) for pid in cats)
        assert len(lives) == 2 * len(self.FILES)
        self.before = dict(zip(self.FILES, lives, strict=False))
        self.after = dict(zip(self.FILES, lives[len(self.FILES) :], strict=True))

    def bounds(self, file: str, events: list[Row], amount: Callable[[Row], int]) -> range:
        (early, before), (after, late) = self.before[file], self.after[file]
        inner = sum(amount(row) for row in events if before <= row["time_ns"] <= after)
        outer = sum(amount(row) for row in events if early <= row["time_ns"] <= late)
        return range(inner, outer + 1)


@pytest.fixture(scope="module")
def tables(case: Case) -> dict[str, list[Row]]:
    return {name: rows(table) for name, table in Capture(str(case.path)).all_events().items()}


@pytest.fixture(scope="module")
def got(case: Case) -> Answer:
    return Answer(case.path)


def counters(file: Path) -> dict[str, list[str]]:
    lines = file.read_text().splitlines()[1:]
    return {line.split()[0].rstrip(":"): line.split()[1:] for line in lines if line.split()}


@pytest.mark.parametrize(
    ("file", "event", "field", "least"),
    [
        ("softirqs", "irq:softirq_entry", "vec", 1000),
        ("interrupts", "irq:irq_handler_entry", "irq", 500),
    ],
)
def test_counts_agree_with_the_kernels(
    case: Case, tables: dict[str, list[Row]], file: str, event: str, field: str, least: int
) -> None:
    windows = Windows(tables["sched:sched_switch"])
    before, after = counters(case.before / file), counters(case.after / file)
    numbers = {name: ACTIONS.index(name) for name in before if name in ACTIONS}
    numbers |= {name: int(name) for name in before if name.isdigit()}
    numbers.pop("HRTIMER", None)
    compared = 0
    for name, number in numbers.items():
        for cpu in (0, 1):
            mine = [
                row for row in tables[event] if (row["common_cpu"], row[field]) == (cpu, number)
            ]
            counted = int(after[name][cpu]) - int(before[name][cpu])
            assert counted in windows.bounds(file, mine, lambda row: 1), (name, cpu)
            compared += counted
    assert compared > least


def test_packets_of_polls_agree_with_net_dev(case: Case, tables: dict[str, list[Row]]) -> None:
    def received(file: Path) -> int:
        [line] = [
            line for line in file.read_text().splitlines() if line.strip().startswith("eth0:")
        ]
        return int(line.split()[2])

    counted = received(case.after / "net_dev") - received(case.before / "net_dev")
    windows = Windows(tables["sched:sched_switch"])
    possible = windows.bounds(
        "net_dev",
        tables["napi:napi_poll"],
        lambda row: row["work"] if row["dev_name"] == "eth0" else 0,
    )
    assert counted in possible
    assert counted > 1000


def test_every_nic_capture_conserves(case: Case, got: Answer) -> None:
    assert_conserved(got)
    start, end = got.window
    middle = (start + end) // 2
    for window in ((start, middle), (middle, end)):
        assert_conserved(Answer(case.path, start_ns=window[0], end_ns=window[1]))


# The thief has a name: the NIC's interrupts and polls, and the victim is openssl, pinned to CPU 0.
def test_the_nic_robs_openssl(case: Case, got: Answer) -> None:
    robbed = {
        row["device"] for row in got.sums if row["comm"] == "openssl" and row["context"] == "poll"
    }
    if "6.1rt" in case.path.parent.name:
        # On PREEMPT_RT the polls run in irq threads: scheduled, not stolen.
        scheduled = [row for row in got.sums if row["context"] == "poll"]
        assert {row["cost_class"] for row in scheduled} <= {"scheduled", "from_idle"}
        assert any(row["comm"].startswith("irq/") for row in scheduled)
        return
    assert "eth0" in robbed
    named = {row["device"] for row in got.hardirqs if row["context"] == "hardirq"}
    assert "eth0" in named, "the NIC's interrupts are its own, whatever their action is called"


# The slow reference ledger on real captures: perf's own decoding retold as happenings, each
# distinct timestamp one cell, and the native segments laid over them. Where a capture begins and
# ends, perf is still switching events on and off one by one, so both are cut away.


HARDIRQ = 0x08
EDGE, SETTLED = 120_000_000, 60_000_000
# perf 6.1 does not read the e1000e guest's attributes.
CASES = [
    *(("k6.1-igb-mini", "p_main"), ("k6.12-virtio-mini", "p_burst")),
    ("k6.1rt-virtio-mini", "p_main"),
]


def retell(one: Seen, at: int) -> h.Happening:
    fields = one.fields
    match one.event:
        case "irq:irq_handler_entry":
            return h.IrqEntry(at, fields["irq"], fields["name"])
        case "irq:irq_handler_exit":
            return h.IrqExit(at, fields["irq"])
        case "irq:softirq_raise":
            return h.SoftirqRaise(at, fields["vec"])
        case "irq:softirq_entry":
            return h.SoftirqEntry(at, fields["vec"])
        case "irq:softirq_exit":
            return h.SoftirqExit(at, fields["vec"])
        case "napi:napi_poll":
            poll = (fields["dev_name"], fields["work"], fields["budget"], fields["napi"])
            return h.NapiPoll(at, *poll)
        case "sched:sched_switch":
            task = h.Task(fields["next_pid"], fields["next_comm"])
            return h.Switch(at, task, fields["prev_state"])
    return h.Happening(at)


class Retold:
    def __init__(self, events: list[Seen]) -> None:
        lanes = self.lanes(events)
        self.times = sorted({one.time for lane in lanes.values() for one in lane})
        cell = {time: place for place, time in enumerate(self.times)}
        cpus = []
        for number, lane in lanes.items():
            told: list[h.Happening] = []
            open_irqs = 0
            for one in lane:
                at, edge = cell[one.time], one.event.removeprefix("irq:irq_handler_")
                open_irqs += (edge == "entry") - (edge == "exit")
                # The timer's vector is not in these recordings; the flags of what it raises are.
                hidden = one.fields["common_flags"] & HARDIRQ and not open_irqs
                if hidden and one.event == "irq:softirq_raise":
                    told += (h.unrecorded(h.VectorEntry(at)), retell(one, at))
                    told.append(h.unrecorded(h.VectorExit(at)))
                else:
                    told.append(retell(one, at))
            first = lane[0].fields
            cpus.append(Cpu(number, tuple(told), h.Task(first["prev_pid"], first["prev_comm"])))
        self.ledger: Ledger = reference(Recording(tuple(cpus)))

    # Each CPU from its first switch after the edge on: from there its context is known.
    def lanes(self, events: list[Seen]) -> dict[int, list[Seen]]:
        start, end = events[0].time + EDGE, events[-1].time - EDGE
        lanes: dict[int, list[Seen]] = {}
        for one in events:
            if start <= one.time <= end and (one.cpu in lanes or one.event == "sched:sched_switch"):
                lanes.setdefault(one.cpu, []).append(one)
        return lanes


@pytest.mark.parametrize("names", CASES, ids=lambda case: "-".join(case))
def test_the_ledger_agrees_with_the_reference_on_real_captures(
    tmp_path: Path, unpacked: Path, names: tuple[str, str]
) -> None:
    path = Case(unpacked, *names).path
    whole = Answer(path, [])
    if whole.summary["repeats_dropped"]:
        pytest.skip("perf wrote records twice, and perf script does not say which")
    retold = Retold(perf_handler(path, tmp_path))
    times, cells = retold.times, retold.ledger.cells
    start, end = times[0] + SETTLED, times[-1]
    got = Answer(path, ["segments"], start_ns=start, end_ns=end)
    compared = 0
    for cpu, lane in cells.items():
        for row in got.on(cpu):
            first = bisect_right(times, row["start_ns"]) - 1
            last = bisect_left(times, row["end_ns"])
            for owner in lane[first:last]:
                compared += 1
                mine = (row["context"], row["tid"], row["napi"], row["cost_class"])
                wanted = (owner.context, owner.tid, owner.napi, owner.cost_class)
                assert mine == wanted, row
                assert row["id"] == owner.id or owner.context == "task", row
    assert compared > 5_000
