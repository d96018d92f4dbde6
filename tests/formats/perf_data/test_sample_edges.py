# Samples where a record alone does not tell: whose counts they are, what the event is called, what
# is cut short.

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from netcost_analysis._native import Capture, CaptureError
from support.native_tables import rows
from support.perfdata import (
    MACHINES,
    Attr,
    Bytes,
    Comm,
    Counts,
    Encoder,
    FinishedRound,
    Fork,
    Machine,
    Record,
    Sample,
    SampleType,
    Where,
    write_file,
    write_pipe,
)
from support.perfdata.attr import READ_GROUP, READ_ID, TYPE_HARDWARE
from support.perfdata.sample import CONTEXT_KERNEL, CONTEXT_USER, CONTEXT_USER_DEFERRED

T = SampleType
BASIC = T.IDENTIFIER | T.IP | T.TID | T.TIME
CYCLES = Attr("cycles", 0, (10,), type=TYPE_HARDWARE, sample_type=BASIC)
MISSES = Attr("cache-misses", 3, (20,), type=TYPE_HARDWARE, sample_type=BASIC)
machines = pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)


def capture(
    path: Path, attrs: list[Attr], *records: Record | Sample, machine: Machine | None = None
) -> Capture:
    told = [*records, FinishedRound()]
    data = write_file(attrs, [], told, machine=machine or MACHINES["x86_64"])
    (path / "perf.data").write_bytes(data)
    return Capture(str(path / "perf.data"))


def at(time: int, event: int = 0, **values: Any) -> Sample:
    return Sample(Where(0, time, 500, 501, event), **values)


def column(found: Capture, name: str, of: str) -> list[Any]:
    return [row[of] for row in rows(found.samples(name))]


# The user's part of a chain that was put off: the kernel leaves a cookie, by which a later
# CALLCHAIN_DEFERRED can be found. It is no address.
def test_a_cookie_in_a_chain_is_no_frame(tmp_path: Path) -> None:
    for machine in MACHINES.values():
        chain = (CONTEXT_KERNEL, 0xFFFFFFFF81000001, 0xFFFFFFFF81000002, CONTEXT_USER_DEFERRED, 77)
        attr = replace(CYCLES, sample_type=BASIC | T.CALLCHAIN)
        found = capture(tmp_path, [attr], at(1, callchain=chain), machine=machine)
        assert column(found, "cycles", "callchain") == [[0xFFFFFFFF81000001, 0xFFFFFFFF81000002]]
        assert column(found, "cycles", "kernel_frames") == [2]


# A chain of the user's alone, and one with nothing in it.
def test_chains_without_kernel_frames(tmp_path: Path) -> None:
    attr = replace(CYCLES, sample_type=BASIC | T.CALLCHAIN)
    chains = ((CONTEXT_USER, 0x400000, 0x400010), ())
    found = capture(tmp_path, [attr], *(at(1, callchain=one) for one in chains))
    assert column(found, "cycles", "callchain") == [[0x400000, 0x400010], []]
    assert column(found, "cycles", "kernel_frames") == [0, 0]


# Each attr has its own columns: which one a sample follows, its first word says.
def test_events_of_different_sample_types_are_told_apart(tmp_path: Path) -> None:
    for machine in MACHINES.values():
        for write in (write_file, write_pipe):
            attrs = [CYCLES, replace(MISSES, sample_type=BASIC | T.ADDR | T.PHYS_ADDR | T.RAW)]
            told = [
                at(number, number % 2, addr=number, phys_addr=2 * number) for number in range(6)
            ]
            (tmp_path / "perf.data").write_bytes(write(attrs, [], told, machine=machine))
            found = Capture(str(tmp_path / "perf.data"))
            assert column(found, "cycles", "time_ns") == [0, 2, 4]
            assert column(found, "cache-misses", "time_ns") == [1, 3, 5]
            assert column(found, "cache-misses", "addr") == [1, 3, 5]
            assert column(found, "cache-misses", "phys_addr") == [2, 6, 10]
            assert "addr" not in rows(found.samples("cycles"))[0]


# Two groups: each leader's samples carry the counts of its own group, in any order of ids.
def test_group_reads_belong_to_the_events_of_their_group(tmp_path: Path) -> None:
    for machine in MACHINES.values():
        names = ("cycles", "instructions", "branches", "branch-misses")
        attrs = [
            Attr(
                name,
                config,
                (10 + config, 20 + config),
                type=TYPE_HARDWARE,
                sample_type=BASIC | T.READ,
                read_format=READ_GROUP | READ_ID,
            )
            for name, config in zip(names, (0, 1, 4, 5), strict=True)
        ]
        first, second = Counts(((0, 100, 0), (1, 200, 0))), Counts(((3, 400, 0), (2, 300, 0)))
        told = (at(1, 0, counts=first), at(2, 2, counts=second))
        found = capture(tmp_path, attrs, *told, machine=machine)
        [leader], [other] = rows(found.samples("cycles")), rows(found.samples("branches"))
        assert {k: v for k, v in leader.items() if k.startswith("read:") and v is not None} == {
            "read:cycles": 100,
            "read:instructions": 200,
        }
        assert {k: v for k, v in other.items() if k.startswith("read:") and v is not None} == {
            "read:branches": 300,
            "read:branch-misses": 400,
        }


# A period that is the attr's stands in no sample; a frequency is no period.
def test_the_fixed_period_is_the_attrs(tmp_path: Path) -> None:
    often = replace(MISSES, period=4000, flags=frozenset({"freq"}))
    attrs = [replace(CYCLES, period=100_003), often]
    found = capture(tmp_path, attrs, at(1, 0, period=7), at(2, 1, period=7))
    assert column(found, "cycles", "period") == [100_003]
    assert column(found, "cache-misses", "period") == [None]
    events = {event["name"]: event for event in found.header()["events"]}
    asked = {name: (one["period"], one["frequency"]) for name, one in events.items()}
    assert asked == {"cycles": (100_003, None), "cache-misses": (None, 4000)}


# What a sample's record does not hold any more, it cannot say: no table has it, but it is counted.
def test_samples_cut_short_are_counted_and_left_out(tmp_path: Path) -> None:
    for machine in MACHINES.values():
        for left in (8, 16, 24, 32):
            attr = replace(CYCLES, sample_type=BASIC | T.CALLCHAIN)
            whole = Encoder([attr], machine).encode(at(2, callchain=(CONTEXT_KERNEL, 1, 2)))
            cut = Bytes(machine.pack("IHH", 9, 1, 8 + left) + whole[8 : 8 + left])
            found = capture(tmp_path, [attr], at(1), cut, at(3), machine=machine)
            assert column(found, "cycles", "time_ns") == [1, 3]
            scan = found.scan()
            assert scan["records"]["SAMPLE"] == 3
            assert any("1 sample" in note for note in scan["notes"])


LENGTHS = (1, 5, 2**16, 2**29, 2**31, 2**32 - 1, 2**32, 2**61, 2**61 + 1, 2**63, 2**64 - 1)


# A chain, a payload, a stack longer than the record that it stands in.
def test_parts_longer_than_their_record_are_left_out(tmp_path: Path) -> None:
    for machine in MACHINES.values():
        for part in ("callchain", "raw", "branches", "user_stack", "counts", "aux"):
            kinds = {
                "callchain": T.CALLCHAIN,
                "raw": T.RAW,
                "branches": T.BRANCH_STACK,
                "user_stack": T.STACK_USER,
                "counts": T.READ,
                "aux": T.AUX,
            }
            attr = replace(
                CYCLES, sample_type=BASIC | kinds[part], read_format=READ_GROUP | READ_ID
            )
            encoder = Encoder([attr], machine)
            # The part's length is the first word after the fixed four, and the record ends there.
            fixed = encoder.encode(at(2))[8 : 8 + 4 * 8]
            # A payload's has 32 bits, and four bytes of the payload stand beside it.
            width = 4 if part == "raw" else 8
            lengths = [one for one in LENGTHS if width < one < 2 ** (8 * width)]
            told: list[Record | Sample] = [at(1)]
            for length in lengths:
                body = fixed + machine.integer(length, width) + bytes(8 - width)
                told.append(Bytes(encoder.framed(9, body, 1)))
            found = capture(tmp_path, [attr], *told, at(3), machine=machine)
            assert column(found, "cycles", "time_ns") == [1, 3]
            scan = found.scan()
            assert scan["records"]["SAMPLE"] == len(lengths) + 2
            assert any(f"{len(lengths)} samples" in note for note in scan["notes"])


def test_a_limit_cuts_the_table(tmp_path: Path) -> None:
    for limit in (0, 1, 4, 5, 6):
        found = capture(tmp_path, [CYCLES], *(at(time) for time in range(1, 6)))
        times = [row["time_ns"] for row in rows(found.samples("cycles", limit))]
        assert times == list(range(1, 1 + min(limit, 5)))


def test_an_event_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="cache-misses"):
        capture(tmp_path, [CYCLES], at(1)).samples("cache-misses")


# Threads inherit their parent's name, and exec changes it.
def test_names_follow_forks_and_execs(tmp_path: Path) -> None:
    def sample(time: int, tid: int) -> Sample:
        return Sample(Where(0, time, tid, tid))

    found = capture(
        tmp_path,
        [CYCLES],
        Comm(500, 500, "sh"),
        sample(1, 500),
        Fork(600, 500, 600, 500, 2, Where(0, 2, 500, 500)),
        sample(3, 600),
        Comm(600, 600, "openssl", Where(0, 4, 600, 600), exec=True),
        sample(5, 600),
        sample(6, 500),
        sample(7, 0),
    )
    names = column(found, "cycles", "comm")
    assert names[:4] == ["sh", "sh", "openssl", "sh"]
    assert names[4].startswith("swapper")
