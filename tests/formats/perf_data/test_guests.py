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


# One cycle counter on the host sees everything: its own kernel, qemu, and the guest inside. An
# ID_INDEX without its second list, as every recording has, says nothing of guests.
@machines
def test_samples_of_a_guest_are_kept_and_marked(tmp_path: Path, machine: Machine) -> None:
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
    records = [IdIndex(((7, 0, 0, 0),)), Comm(QEMU, VCPU, "CPU 0/KVM"), *told, FinishedRound()]
    path.write_bytes(write_file([attr], [], records, machine=machine))
    capture = Capture(str(path))
    [event] = capture.header()["events"]
    assert (event["name"], event["guest"]) == ("cycles", None)
    # Guests' frames are frames, and their markers are none.
    assert [
        (row["cpu_mode"], row["comm"], len(row["callchain"]))
        for row in rows(capture.samples("cycles"))
    ] == [(mode, "CPU 0/KVM", int(mode in chains)) for mode in modes]
    assert capture.scan()["guest_samples"] == 3


# What perf inject does: the guest's events become attrs with ids of their own behind the host's, an
# ID_INDEX says which are whose, and every record of the guest's has a guest's cpumode.
def merged(path: Path, machine: Machine, write: Any) -> Path:
    told = story(machine=machine)
    host = told.attrs()
    inside = [replace(one, ids=tuple(identity + 1000 for identity in one.ids)) for one in host]
    entries = [(identity, 0, 0, 0) for one in (*host, *inside) for identity in one.ids]
    owners = [(QEMU if identity > 1000 else 0, 0) for identity, *_ in entries]
    records: list[Record | Sample] = [IdIndex(tuple(entries), tuple(owners))]
    for one in told.records():
        records.append(one)
        if isinstance(one, Sample):
            records += guests(one, len(host), machine)
    header = Header(clock="monotonic")
    path.write_bytes(write([*host, *inside], told.formats, records, header, machine))
    return path


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


# What the guest's CPUs did is no part of the host's time, and neither side's names are the other's.
@machines
@pytest.mark.parametrize("write", [write_file, write_pipe])
def test_a_guests_recording_in_its_hosts(tmp_path: Path, machine: Machine, write: Any) -> None:
    alone = Answer(story(machine=machine).write(tmp_path / "alone"))
    path = merged(tmp_path / "merged", machine, write)
    capture, together = Capture(str(path)), Answer(path)
    hosts, name = [one.event for one in t.FORMATS], f"irq:softirq_entry (guest {QEMU})"
    assert [(one["name"], one["guest"]) for one in capture.header()["events"]] == [
        *((event, None) for event in hosts),
        *((f"{event} (guest {QEMU})", QEMU) for event in hosts),
    ]
    samples = len(story().events())
    assert together.scan["guest_samples"] == together.scan["events"][name] == samples
    found = rows(capture.events(name))
    assert {row["vec"] for row in found} == {9}
    assert {row["common_comm"] for row in found} <= {None, "in-the-guest"}
    modes = [row["cpu_mode"] for row in rows(capture.samples(name))]
    assert modes == ["guest kernel"] * samples
    comms = {row["comm"] for row in rows(capture.samples("irq:softirq_entry"))}
    assert comms == {"openssl", "ksoftirqd/0"}
    assert_conserved(together)
    assert (together.tables, together.sums) == (alone.tables, alone.sums)
    assert together.displaced == alone.displaced
    counts = {event: together.scan["events"][event] for event in hosts}
    assert counts == alone.scan["events"]
