# Virtual machines: samples that the host took while a guest ran, and a guest's own recording that
# `perf inject --guest-data` has merged into the host's.

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from netcost_analysis._native import Capture
from support.native_tables import Answer, assert_conserved, rows
from support.perfdata import (
    MACHINES,
    Attr,
    Comm,
    Common,
    FinishedRound,
    IdIndex,
    Machine,
    Mmap2,
    Record,
    Sample,
    SampleType,
    Where,
    write_file,
    write_pipe,
)
from support.perfdata import tracepoints as t
from support.perfdata.attr import TYPE_HARDWARE
from support.perfdata.features import Header
from support.perfdata.sample import CONTEXT_GUEST_KERNEL, CONTEXT_GUEST_USER
from support.story import story

T = SampleType
QEMU, VCPU = 4000, 4001
BASIC = T.IDENTIFIER | T.IP | T.TID | T.TIME | T.CPU
machines = pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
writers = pytest.mark.parametrize("write", [write_file, write_pipe])


# One cycle counter on the host sees everything: its own kernel, qemu, and the guest inside.
def test_samples_of_a_guest_are_kept_and_marked(tmp_path: Path) -> None:
    for machine in MACHINES.values():
        attr = Attr("cycles", 0, (7,), TYPE_HARDWARE, BASIC | T.CALLCHAIN, flags=frozenset())
        modes = ("kernel", "guest kernel", "user", "guest user", "guest kernel", "hypervisor")
        chains = {
            "guest kernel": (CONTEXT_GUEST_KERNEL, 0xFFFFFFFF82000000),
            "guest user": (CONTEXT_GUEST_USER, 0x7F0000000000),
        }
        told = [
            Sample(Where(0, 10 + place, QEMU, VCPU), mode=mode, callchain=chains.get(mode, ()))
            for place, mode in enumerate(modes)
        ]
        path = tmp_path / "perf.data"
        records = [Comm(QEMU, VCPU, "CPU 0/KVM"), *told, FinishedRound()]
        path.write_bytes(write_file([attr], [], records, machine=machine))
        capture = Capture(str(path))
        found = rows(capture.samples("cycles"))
        assert [row["cpu_mode"] for row in found] == list(modes)
        assert {row["comm"] for row in found} == {"CPU 0/KVM"}
        # Guests' frames are frames, and their markers are none.
        lengths = [len(row["callchain"]) for row in found]
        assert lengths == [1 if mode in chains else 0 for mode in modes]
        assert capture.scan()["guest_samples"] == 3


# What perf inject does: the guest's events become attrs with ids of their own behind the host's, an
# ID_INDEX says which are whose, and every record of the guest's has a guest's cpumode.
def merged(
    path: Path, machine: Machine, write: Any, guest: bool
) -> tuple[Path, list[Attr], list[Attr]]:
    told = story(machine=machine)
    host = told.attrs()
    inside = [replace(one, ids=tuple(identity + 1000 for identity in one.ids)) for one in host]
    attrs = [*host, *inside] if guest else host
    records: list[Record | Sample] = []
    if guest:
        entries = [(identity, 0, 0, 0) for one in attrs for identity in one.ids]
        owners = [(QEMU if identity > 1000 else 0, 0) for identity, *_ in entries]
        records.append(IdIndex(tuple(entries), tuple(owners)))
    for one in told.records():
        records.append(one)
        if guest and isinstance(one, Sample):
            records += guests(one, len(host), machine)
    header = Header(clock="monotonic")
    path.write_bytes(write(attrs, told.formats, records, header, machine))
    return path, host, inside


# The guest's task 500 is not the host's, and its CPUs are busy at other times.
def guests(beside: Sample, events: int, machine: Machine) -> list[Record | Sample]:
    place = t.FORMATS.index(t.SOFTIRQ_ENTRY)
    where = Where(beside.where.cpu, beside.where.time, 500, 500, events + place)
    raw = t.SOFTIRQ_ENTRY.pack({"vec": 9}, Common(0x10, 2, 500), machine)
    return [
        Comm(500, 500, "in-the-guest", where, mode="guest kernel"),
        Mmap2(500, 0x1000, 4096, "/in/the/guest", where, mode="guest user"),
        Sample(where, raw, mode="guest kernel"),
    ]


def test_a_guests_events_have_names_of_their_own(tmp_path: Path) -> None:
    for machine in MACHINES.values():
        for write in (write_file, write_pipe):
            path, host, inside = merged(tmp_path / "perf.data", machine, write, guest=True)
            capture = Capture(str(path))
            events = capture.header()["events"]
            wanted = [(one.name, None) for one in host]
            wanted += [(f"{one.name} (guest {QEMU})", QEMU) for one in inside]
            assert [(one["name"], one["guest"]) for one in events] == wanted
            scan = capture.scan()
            samples = len(story().events())
            assert scan["events"][f"irq:softirq_entry (guest {QEMU})"] == samples
            assert scan["guest_samples"] == samples
            found = rows(capture.events(f"irq:softirq_entry (guest {QEMU})"))
            assert {row["vec"] for row in found} == {9}
            # The host's names of tasks are not the guest's.
            assert {row["common_comm"] for row in found} <= {None, "in-the-guest"}
            modes = [
                row["cpu_mode"]
                for row in rows(capture.samples(f"irq:softirq_entry (guest {QEMU})"))
            ]
            assert modes == ["guest kernel"] * samples


# What the guest's CPUs did is no part of the host's time: the ledger is the host's own.
def test_the_ledger_is_the_hosts(tmp_path: Path) -> None:
    for machine in MACHINES.values():
        for write in (write_file, write_pipe):
            alone, together = (
                Answer(merged(tmp_path / f"{guest}.data", machine, write, guest)[0])
                for guest in (False, True)
            )
            assert_conserved(together)
            assert together.tables == alone.tables
            assert together.sums == alone.sums
            assert together.displaced == alone.displaced
            hosts = {one.event for one in t.FORMATS}
            counts = {name: n for name, n in together.scan["events"].items() if name in hosts}
            assert counts == alone.scan["events"]


# And the host's own samples keep the host's names.
def test_the_hosts_tasks_keep_their_names(tmp_path: Path) -> None:
    for machine in MACHINES.values():
        path, *_ = merged(tmp_path / "perf.data", machine, write_file, guest=True)
        found = rows(Capture(str(path)).samples("irq:softirq_entry"))
        assert {row["comm"] for row in found} == {"openssl", "ksoftirqd/0"}


# An ID_INDEX without its second list, as every recording has, says nothing of guests.
def test_an_index_of_ids_alone_makes_no_guests(tmp_path: Path) -> None:
    for machine in MACHINES.values():
        attr = Attr("cycles", 0, (7,), TYPE_HARDWARE, BASIC)
        told = [IdIndex(((7, 0, 0, 0),)), Sample(Where(0, 10, 1, 1)), FinishedRound()]
        path = tmp_path / "perf.data"
        path.write_bytes(write_file([attr], [], told, machine=machine))
        capture = Capture(str(path))
        [event] = capture.header()["events"]
        assert (event["name"], event["guest"]) == ("cycles", None)
        assert capture.scan()["guest_samples"] == 0
