# Loads of memory by component and data, of described samples; and perf's data_src, as the kernel's
# drivers make it and as nobody should.

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcost_analysis.errors import AbsentError
from netcost_analysis.parsers.proc_text import ram, virtual_areas
from netcost_analysis.questions.functions.data_objects import data_objects, decoded
from support import load_captures as made
from support.host import examples
from support.kept import kept
from support.load_captures import Load, loads_of, source
from support.stacks import T

OF_KERNEL, OF_TASK = "unknown, of the kernel", "unknown, of a task"
# By address and physical address the kind of data, and its name.
OBJECTS = (
    (made.DIRECT + 0x2000, 0x2000, "slab or page", ""),
    (made.DIRECT + 0xFEBC0000, 0xFEBC0000, "device registers", ""),
    (made.STACK + 8, 0x5008, "kernel stack", ""),
    (made.DEVICE + 8, 0xFEBC0008, "device registers", ""),
    (0xFFFFC90000200010, 0, "vmalloc area", ""),
    (made.PER_CPU + 8, 0, "per-CPU data", ""),
    (made.PAGE + 8, 0x7008, "page structures", ""),
    (made.MODULE_DATA, 0, "data of a module", "veth"),
    (made.DATA + 4, 0, "data of the kernel", "net_hotdata"),
    (0xFFFFFE8000000000, 0, OF_KERNEL, ""),
    (2**64 - 1, 0, OF_KERNEL, ""),
    (made.HEAP + 8, 0x8008, "heap of a task", ""),
    (made.TASK_STACK + 8, 0, "stack of a task", ""),
    (made.ANONYMOUS + 8, 0, "anonymous memory of a task", ""),
    (made.LIBRARY + 8, 0, "program or library", "libc.so.6"),
    (made.LIBRARY + 0x10000, 0, OF_TASK, ""),
    (0, 0, "unknown", ""),
    # One more load of the direct mapping says where that begins.
    (made.DIRECT + 4096, 4096, "slab or page", ""),
)


def test_loads_are_the_sum_of_their_parts() -> None:
    answer = kept(made.kept_loads()).ask.functions.memory_loads()
    levels = answer.tables["memory_levels"]
    for frame in (answer.frame, levels):
        assert frame[["samples", "weight"]].sum().tolist() == [answer["loads"], 510]
    assert answer.frame[["load_share", "latency_share"]].sum().tolist() == pytest.approx([1, 1])
    by = levels.groupby("component", observed=True)["level_share"].sum()
    assert by.to_list() == pytest.approx([1] * len(by))


def test_what_lies_at_an_address(tmp_path: Path) -> None:
    rows = [Load("tcp_v4_rcv", addr, phys=phys) for addr, phys, _, _ in OBJECTS]
    capture = loads_of(tmp_path / "made", *rows, records=made.MAPPED)
    found = data_objects(capture, capture.samples(made.LOADS.name))
    assert list(zip(found.kind, found.name, strict=True)) == [one[2:] for one in OBJECTS]


# Of a kernel that shows no addresses to anyone.
def test_without_areas_the_direct_mapping_is_told_by_physical_addresses(tmp_path: Path) -> None:
    base = 0xFFFF9D4A40000000
    rows = [
        Load("_copy_to_iter", base + 0x5000 + at, phys=0x5000 + at) for at in range(0, 4096, 64)
    ]
    rows += [Load("_copy_to_iter", made.PAGE), Load("tcp_v4_rcv", made.STACK)]
    answer = loads_of(tmp_path / "made", *rows, areas=False).ask.functions.memory_loads()
    counts = answer.frame.groupby("data_object")["samples"].sum().to_dict()
    assert counts == {"slab or page": 64, OF_KERNEL: 2}
    assert answer["unknown_object_share"] == pytest.approx(2 / 66)


def test_hashed_addresses_say_nothing() -> None:
    line = "0x0000000030c7fc2a-0x00000000d47d6174   20480 dup_task_struct+0xca/0x100 vmap\n"
    assert virtual_areas(line) == ram("00000000-00000000 : System RAM\n") == []
    assert len(virtual_areas(made.VMALLOCINFO)) == 4
    assert [one.start for one in ram(made.IOMEM)] == [0x1000, 0x100000000]
    for text in ("", "\n\n", "0x-0x 1 a\n", "ffff : System RAM\n", "x" * 10_000):
        assert virtual_areas(text) == ram(text) == []


def test_mappings_of_another_task_do_not_count(tmp_path: Path) -> None:
    rows = [Load("tcp_v4_rcv", made.HEAP), Load("tcp_v4_rcv", made.HEAP, pid=700)]
    # Of two mappings of one address the last; one that reaches beyond the last address.
    records = [
        *made.MAPPED,
        made.mapped(500, made.HEAP, 0x10000, "/new"),
        made.mapped(700, 2**64 - 8, 2**63, "/far"),
    ]
    answer = loads_of(tmp_path / "made", *rows, records=records).ask.functions.memory_loads()
    counts = answer.frame.groupby("data_object")["samples"].sum().to_dict()
    assert counts == {"program or library": 1, OF_TASK: 1}


def test_hostile_words_and_periods(tmp_path: Path) -> None:
    rows = [
        Load("tcp_v4_rcv", 2**64 - 1, made.ALL_BITS, 2**32 - 1, 2**64 - 1, phys=2**64 - 1),
        Load("tcp_v4_rcv", made.STACK, made.ALL_BITS ^ 1, 0, 0),
        Load("tcp_v4_rcv", 0, made.MEMORY, 2**32 - 1, 0, phys=2**64 - 1),
        Load("tcp_v4_rcv", 2**63, made.MEMORY, 2**32 - 1, 2**64 - 1, phys=1),
    ]
    answer = loads_of(tmp_path / "made", *rows, records=made.MAPPED).ask.functions.memory_loads()
    assert answer["loads"] == 2
    assert answer.words
    only = loads_of(tmp_path / "zero", rows[2]).ask.functions.memory_loads()
    assert only.frame["weight"].to_list() == [0]
    assert only.frame["load_share"].isna().all()
    assert only.words


def test_what_samples_may_lack(tmp_path: Path) -> None:
    def asked(lacks: T, *loads: Load) -> object:
        attr = replace(made.LOADS, sample_type=made.LOADS.sample_type & ~lacks)
        capture = loads_of(tmp_path / str(int(lacks)), *loads, attr=attr)
        return capture.ask.functions.memory_loads()

    answer = asked(T.PHYS_ADDR | T.WEIGHT_STRUCT, *made.told_loads())
    assert answer["loads"] == 51
    assert answer.frame[["mean_latency_cycles", "latency_share"]].isna().all(axis=None)
    assert answer.frame["samples"].is_monotonic_decreasing
    assert "number" in answer.plot().get_xlabel()
    for lacks in (T.ADDR, T.DATA_SRC):
        assert "--profile loads" in str(asked(lacks, *made.told_loads()).refusal)
    assert "was a load" in str(asked(T(0), Load("tcp_v4_rcv", 0, made.NOTHING)).refusal)


def test_a_cpu_and_an_event() -> None:
    ask = kept(made.kept_loads()).ask.functions
    assert ask.memory_loads(cpu=0, event=made.LOADS.name)["loads"] == 51
    for asked in ({"cpu": 7}, {"event": "cycles"}):
        with pytest.raises(AbsentError):
            ask.memory_loads(**asked)


HIT = 0x02
# pebs_data_source of arch/x86/events/intel/ds.c, and perf_ibs_get_data_src of amd/ibs.c: op, level,
# result, snoop, TLB.
UNKNOWN = "unknown, unknown, unknown, unknown, unknown"
WORDS = {
    made.L1: "load, L1, hit, none, hit",
    made.L3_MODIFIED: "load, L3, hit, modified, hit",
    made.MEMORY: "load, memory, hit, miss, miss",
    made.STORE: "store, L1, hit, unknown, unknown",
    made.NOTHING: UNKNOWN,
    # "unknown L3": it missed there, and where it came from is not said.
    source(lvl=0x04, lvlnum=3): "load, L3, miss, unknown, unknown",
    source(lvl=HIT | 0x10, lvlnum=0xC): "load, line fill buffer, hit, unknown, unknown",
    source(lvl=HIT | 0x400, lvlnum=3, remote=1, snoop=0x10): (
        "load, remote cache, hit, modified, unknown"
    ),
    source(lvl=HIT | 0x100, lvlnum=0xD, remote=1): "load, remote memory, hit, unknown, unknown",
    source(lvl=HIT, lvlnum=9): "load, CXL memory, hit, unknown, unknown",
    # Before Linux 4.14 there was no number.
    source(lvl=HIT | 0x20): "load, L2, hit, unknown, unknown",
    source(lvl=HIT | 0x80): "load, memory, hit, unknown, unknown",
    source(lvl=HIT | 0x1000): "load, I/O, hit, unknown, unknown",
    # Contradictions.
    source(op=0): UNKNOWN,
    source(op=2 | 4): UNKNOWN,
    source(lvl=HIT | 4 | 0x08 | 0x20): "load, unknown, unknown, unknown, unknown",
    made.ALL_BITS: UNKNOWN,
    0: UNKNOWN,
}


def test_each_word_says_its_own() -> None:
    rows = decoded(np.array(list(WORDS), dtype="u8")).itertuples(index=False, name=None)
    assert dict(zip(WORDS, map(", ".join, rows), strict=True)) == WORDS
    assert len(decoded(np.array([], dtype="u8"))) == 0


# Reserved bits say nothing, and no word has no answer.
@examples(40)
@given(st.integers(0, 2**64 - 1))
def test_any_word_is_decoded(word: int) -> None:
    row, below = decoded(np.array([word, word & (1 << 46) - 1], dtype="u8")).to_numpy().tolist()
    assert row == below
    assert {type(part) for part in row} == {str}
