# Loads of memory by component and data, of described samples.

from dataclasses import replace
from pathlib import Path

import pytest

from netcost_analysis.errors import AbsentError
from support.kept import kept
from support.load_captures import (
    ALL_BITS,
    ANONYMOUS,
    DATA,
    DEVICE,
    DIRECT,
    HEAP,
    IOMEM,
    LIBRARY,
    LOADS,
    MAPPED,
    MEMORY,
    MODULE_DATA,
    NOTHING,
    PAGE,
    PER_CPU,
    STACK,
    TASK_STACK,
    VMALLOCINFO,
    Load,
    kept_loads,
    loads_of,
    mapped,
    told_loads,
)
from support.stacks import T

# What the profile of the kit records is said where nothing of it was.
HOW = "--profile loads"
OF_KERNEL, OF_TASK = "unknown, of the kernel", "unknown, of a task"


def test_loads_by_component_and_data() -> None:
    answer = kept(kept_loads()).ask.functions.memory_loads()
    assert (answer["loads"], answer["other_samples"]) == (51, 2)
    rows = answer.frame.set_index(["component", "data_object"])
    copy = rows.loc[("copy", "slab or page")]
    assert (copy["samples"], copy["weight"]) == (10, 100)
    assert copy["load_share"] == pytest.approx(10 / 51)
    assert copy["mean_latency_cycles"] == 300
    # 10 of 300 cycles, 20 of 100, 21 of 5.
    assert copy["latency_share"] == pytest.approx(3_000 / 5_105)
    assert (copy["behind_caches_share"], copy["dtlb_miss_share"]) == (1, 1)
    release = rows.loc[("buffer release", "page structures")]
    assert (release["modified_share"], release["behind_caches_share"]) == (1, 0)
    assert rows.loc[("TCP", "kernel stack"), "mean_latency_cycles"] == 5
    named = answer.tables["named_objects"].set_index("object_name")
    assert named.loc["net_hotdata", "samples"] == 1
    assert "slab or page" in answer.words
    assert answer.plot().get_legend() is not None


def test_loads_are_the_sum_of_their_parts() -> None:
    answer = kept(kept_loads()).ask.functions.memory_loads()
    levels = answer.tables["memory_levels"]
    for frame in (answer.frame, levels):
        assert frame["samples"].sum() == answer["loads"]
        assert frame["weight"].sum() == 510
    assert answer.frame["load_share"].sum() == pytest.approx(1)
    assert answer.frame["latency_share"].sum() == pytest.approx(1)
    by = levels.groupby("component", observed=True)["level_share"].sum()
    assert by.to_list() == pytest.approx([1] * len(by))


def test_what_lies_at_an_address(tmp_path: Path) -> None:
    for at, (addr, phys, kind, name) in enumerate(
        (
            (DIRECT + 0x2000, 0x2000, "slab or page", ""),
            (DIRECT + 0xFEBC0000, 0xFEBC0000, "device registers", ""),
            (STACK + 8, 0x5008, "kernel stack", ""),
            (DEVICE + 8, 0xFEBC0008, "device registers", ""),
            (0xFFFFC90000200010, 0, "vmalloc area", ""),
            (PER_CPU + 8, 0, "per-CPU data", ""),
            (PAGE + 8, 0x7008, "page structures", ""),
            (MODULE_DATA, 0, "data of a module", "veth"),
            (DATA + 4, 0, "data of the kernel", "net_hotdata"),
            (0xFFFFFE8000000000, 0, OF_KERNEL, ""),
            (2**64 - 1, 0, OF_KERNEL, ""),
            (HEAP + 8, 0x8008, "heap of a task", ""),
            (TASK_STACK + 8, 0, "stack of a task", ""),
            (ANONYMOUS + 8, 0, "anonymous memory of a task", ""),
            (LIBRARY + 8, 0, "program or library", "libc.so.6"),
            (LIBRARY + 0x10000, 0, OF_TASK, ""),
            (0, 0, "unknown", ""),
        )
    ):
        # One load of the direct mapping says where that begins.
        rows = [Load("tcp_v4_rcv", addr, phys=phys), Load("tcp_v4_rcv", DIRECT + 4096, phys=4096)]
        capture = loads_of(tmp_path / str(at), rows[0], rows[1], rows[1], records=MAPPED)
        answer = capture.ask.functions.memory_loads()
        assert kind in set(answer.frame["data_object"])
        assert (name in set(answer.tables["named_objects"]["object_name"])) == bool(name)


# Of a kernel that shows no addresses to anyone.
def test_without_areas_the_direct_mapping_is_told_by_physical_addresses(tmp_path: Path) -> None:
    base = 0xFFFF9D4A40000000
    rows = [
        Load("_copy_to_iter", base + 0x5000 + at, phys=0x5000 + at) for at in range(0, 4096, 64)
    ]
    rows += [Load("_copy_to_iter", PAGE), Load("tcp_v4_rcv", STACK)]
    answer = loads_of(tmp_path / "made", *rows, areas=False).ask.functions.memory_loads()
    counts = answer.frame.groupby("data_object")["samples"].sum().to_dict()
    assert counts == {"slab or page": 64, OF_KERNEL: 2}
    assert answer["unknown_object_share"] == pytest.approx(2 / 66)


def test_hashed_addresses_say_nothing() -> None:
    from netcost_analysis.parsers.proc_text import ram, virtual_areas

    line = "0x0000000030c7fc2a-0x00000000d47d6174   20480 dup_task_struct+0xca/0x100 vmap\n"
    assert virtual_areas(line) == []
    assert len(virtual_areas(VMALLOCINFO)) == 4
    hidden = "00000000-00000000 : System RAM\n"
    assert ram(hidden) == []
    assert [one.start for one in ram(IOMEM)] == [0x1000, 0x100000000]
    for text in ("", "\n\n", "0x-0x 1 a\n", "ffff : System RAM\n", "x" * 10_000):
        assert virtual_areas(text) == ram(text) == []


def test_mappings_of_another_task_do_not_count(tmp_path: Path) -> None:
    rows = [Load("tcp_v4_rcv", HEAP), Load("tcp_v4_rcv", HEAP, pid=700)]
    # Of two mappings of one address the last; one that reaches beyond the last address.
    records = [*MAPPED, mapped(500, HEAP, 0x10000, "/new"), mapped(700, 2**64 - 8, 2**63, "/far")]
    answer = loads_of(tmp_path / "made", *rows, records=records).ask.functions.memory_loads()
    counts = answer.frame.groupby("data_object")["samples"].sum().to_dict()
    assert counts == {"program or library": 1, OF_TASK: 1}


def test_hostile_words_and_periods(tmp_path: Path) -> None:
    rows = [
        Load("tcp_v4_rcv", 2**64 - 1, ALL_BITS, 2**32 - 1, 2**64 - 1, phys=2**64 - 1),
        Load("tcp_v4_rcv", STACK, ALL_BITS ^ 1, 0, 0),
        Load("tcp_v4_rcv", 0, MEMORY, 2**32 - 1, 0, phys=2**64 - 1),
        Load("tcp_v4_rcv", 2**63, MEMORY, 2**32 - 1, 2**64 - 1, phys=1),
    ]
    found = loads_of(tmp_path / "made", *rows, records=MAPPED).ask.functions.memory_loads()
    assert found["loads"] == 2
    assert found.words
    only = loads_of(tmp_path / "zero", replace(rows[2])).ask.functions.memory_loads()
    assert only.frame["weight"].to_list() == [0]
    assert only.frame["load_share"].isna().all()
    assert only.words


def test_without_physical_addresses_and_latencies(tmp_path: Path) -> None:
    kind = LOADS.sample_type & ~T.PHYS_ADDR & ~T.WEIGHT_STRUCT
    made = loads_of(tmp_path / "a", *told_loads(), attr=replace(LOADS, sample_type=kind))
    answer = made.ask.functions.memory_loads()
    assert answer["loads"] == 51
    assert answer.frame[["mean_latency_cycles", "latency_share"]].isna().all().all()
    assert answer.frame["samples"].is_monotonic_decreasing
    assert "number" in answer.plot().get_xlabel()


@pytest.mark.parametrize("missing", [T.ADDR, T.DATA_SRC])
def test_samples_that_say_no_data_are_refused(tmp_path: Path, missing: T) -> None:
    attr = replace(LOADS, sample_type=LOADS.sample_type & ~missing)
    refusal = (
        loads_of(tmp_path / "a", *told_loads(), attr=attr).ask.functions.memory_loads().refusal
    )
    assert HOW in str(refusal)
    assert "mem-loads" in str(refusal)


def test_no_load_among_the_samples(tmp_path: Path) -> None:
    rows = [Load("tcp_v4_rcv", 0, NOTHING)]
    refusal = loads_of(tmp_path / "a", *rows).ask.functions.memory_loads().refusal
    assert "was a load" in str(refusal)


def test_a_cpu_and_an_event(tmp_path: Path) -> None:
    ask = loads_of(tmp_path / "a", *told_loads()).ask.functions
    assert ask.memory_loads(cpu=0, event=LOADS.name)["loads"] == 51
    for given in ({"cpu": 7}, {"event": "cycles"}):
        with pytest.raises(AbsentError):
            ask.memory_loads(**given)
