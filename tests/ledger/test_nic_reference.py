# The slow reference ledger on real captures: perf's own decoding retold as happenings, each
# distinct timestamp one cell, and the native segments laid over them. Where a capture begins and
# ends, perf is still switching events on and off one by one, so both are cut away.

from bisect import bisect_left, bisect_right
from pathlib import Path

import pytest

from support.native_tables import Answer
from support.oracle import Seen, perf_handler
from support.perfdata import Cpu, Recording
from support.perfdata import happenings as h
from support.reference_ledger import Ledger, reference
from support.shared import Case

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
