# Captures that strangers recorded: counted, compared with perf event by event, read within bounds,
# or refused in a line that says where.

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from netcost_analysis._native import Capture, CaptureError
from support import repack
from support.bounded import bounded
from support.corpus import ABSENT, files, name, path_of
from support.native_tables import ALL_TABLES, Answer, assert_conserved, rows
from support.perf_dump import dumped_samples
from support.perf_handler import handled_samples
from support.perfdata.sample import CONTEXT_USER, CPU_MODES
from support.run_cli import Netcost

FILES = files("perf")
# A header with no record behind it, and three that a fuzzer made.
UNREADABLE = [
    one for one in FILES if str(one["file"])[:3] in ("003", "054", "067", "072")
] or ABSENT
READABLE = [one for one in FILES if one not in UNREADABLE] or ABSENT
# What perf 6.1 takes only in another shape.
REPACKED: dict[str, Callable[[bytes], bytes]] = {
    "024": repack.as_file,
    "040": repack.with_known_attrs,
    "161": repack.unpacked,
}
# perf gives up at the record without a size in 105.
# Addresses from here on mark whose frames follow.
FIRST_MARKER = 2**64 - 4095
COMPARED = [one for one in READABLE if str(one["file"])[:3] != "105"]
# Those with chains, and one with addresses of data.
CHAINED = [one for one in FILES if str(one["file"])[:3] in ("000", "005", "155", "161")] or ABSENT


def for_perf(one: dict[str, Any], scratch: Path) -> Path:
    change = REPACKED.get(one["file"][:3])
    if change is None:
        return path_of(one)
    path = scratch / "repacked.data"
    path.write_bytes(change(path_of(one).read_bytes()))
    return path


@pytest.mark.parametrize("one", READABLE, ids=name)
def test_samples_are_as_many_as_in_the_file(one: dict[str, Any]) -> None:
    scan = Capture(str(path_of(one))).scan()
    total = scan["records"].get("SAMPLE", 0)
    assert sum(scan["events"].values()) == total
    # Of a compressed file, the manifest knows what perf said; of 161, perf said nothing.
    if not one["file"].startswith("161"):
        assert total == (one["oracle_events"] if one["compressed"] else one["raw_sample_records"])
    for event, count in one["tracepoint_counts"].items():
        assert scan["events"][event] == count


# perf shows what a sample lacks as the largest number there is, and unknown names as numbers; it
# knows one idle task, and not each CPU's.
def handed(seen: dict[str, Any], named: bool) -> tuple[Any, ...]:
    time = None if seen["time"] == 2**64 - 1 else seen["time"]
    cpu = None if seen["cpu"] == 2**32 - 1 else seen["cpu"]
    comm = None if seen["comm"].startswith(":") else seen["comm"]
    where = (time, cpu, seen["pid"], seen["tid"], comm, seen["ip"], seen["period"])
    return (seen["event"] if named else None, *where)


def handed_by_us(event: str, row: dict[str, Any], named: bool) -> tuple[Any, ...]:
    comm = row["comm"] if row["comm"] is None or row["tid"] else row["comm"].split("/")[0]
    where = (row["time_ns"], row["cpu"], row["pid"], row["tid"], comm, row["ip"], row["period"])
    return (event if named else None, *where)


def samples(one: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    capture = Capture(str(path_of(one)))
    names = [event["name"] for event in capture.header()["events"]]
    return [(name, row) for name in names for row in rows(capture.samples(name))]


@pytest.mark.parametrize("one", COMPARED, ids=name)
def test_every_sample_is_what_perf_script_says(one: dict[str, Any], tmp_path: Path) -> None:
    # In another shape, the events have lost their names.
    named = one["file"] is not None and one["file"][:3] not in REPACKED
    found = Counter(handed_by_us(event, row, named) for event, row in samples(one))
    seen = handled_samples(for_perf(one, tmp_path), tmp_path)
    assert found == Counter(handed(told, named) for told in seen)
    assert found.total() > 0


# perf script unwinds stacks, and adds what it found to the chain; its dump shows what was recorded.
@pytest.mark.parametrize("one", CHAINED, ids=name)
def test_every_chain_is_what_perf_dumps(one: dict[str, Any], tmp_path: Path) -> None:
    found: Counter[tuple[Any, ...]] = Counter()
    for _, row in samples(one):
        kernel, frames = row["kernel_frames"] or 0, row["callchain"] or ()
        addr = row.get("addr", 0)
        found[(row["time_ns"], row["tid"], row["cpu_mode"], addr, kernel, *frames)] += 1
    modes = {number: name for name, number in CPU_MODES.items()}
    wanted: Counter[tuple[Any, ...]] = Counter()
    for told in dumped_samples(for_perf(one, tmp_path)):
        chain = told.get("callchain", [])
        user = chain.index(CONTEXT_USER) if CONTEXT_USER in chain else len(chain)
        kernel = sum(address < FIRST_MARKER for address in chain[:user])
        frames = [address for address in chain if address < FIRST_MARKER]
        mode = modes[told["misc"] & 7]
        wanted[(told.get("time"), told["tid"], mode, told["addr"], kernel, *frames)] += 1
    assert found == wanted


# The handler extends the sign of no field that is smaller than a word.
def unsigned(table: pa.Table, name: str) -> list[Any]:
    kind, values = table.schema.field(name).type, table[name].to_pylist()
    if pa.types.is_integer(kind) and kind.bit_width < 64:
        return [value % 2**kind.bit_width for value in values]
    # Where a char array's size says that it is no text, the table has its bytes.
    return [until_nul(one.decode("latin-1")) if isinstance(one, bytes) else one for one in values]


# And it hands over the whole of a char array, where 167 has six registers under that name.
def until_nul(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("latin-1").split(b"\0")[0].decode(errors="replace")
    return value


TRACED = [one for one in COMPARED if one.get("tracepoint_counts")] or ABSENT


@pytest.mark.parametrize("one", TRACED, ids=name)
def test_every_field_is_what_perf_script_says(one: dict[str, Any], tmp_path: Path) -> None:
    seen = handled_samples(path_of(one), tmp_path)
    tables = Capture(str(path_of(one))).all_events()
    for event in one["tracepoint_counts"]:
        theirs = [told for told in seen if told["event"] == event]
        names = sorted(theirs[0]["fields"])
        wanted = Counter(
            (told["time"], told["cpu"], *(until_nul(told["fields"][name]) for name in names))
            for told in theirs
        )
        table = pa.table(tables[event])
        columns = [unsigned(table, name) for name in ("time_ns", "common_cpu", *names)]
        assert wanted == Counter(zip(*columns, strict=True))
        assert wanted.total() == one["tracepoint_counts"][event]


# One of them holds what a ledger is made of; the others say what they lack.
@pytest.mark.parametrize("one", READABLE, ids=name)
def test_ledgers_conserve_or_say_what_is_missing(one: dict[str, Any]) -> None:
    path = path_of(one)
    if "sched:sched_switch" in one["tracepoint_counts"]:
        assert_conserved(Answer(path, ALL_TABLES))
        return
    with pytest.raises(CaptureError, match=r"^no ledger: .*sched_switch") as refused:
        Answer(path, ALL_TABLES)
    assert "\n" not in str(refused.value)


# Everything that can be asked of a file.
EVERYTHING = """
    one = capture()
    names = [event["name"] for event in one.header()["events"]]
    tables = [one.samples(name) for name in names]
    tables += [one.mappings(), one.kernel_symbols(), one.kallsyms()]
    tables += [one.all_events(), one.scan()]
    try:
        one.timeline(["segments", "softirqs", "hardirqs", "polls", "slices", "migrations"])
    except CaptureError as error:
        assert str(error).startswith("no ledger")"""


@pytest.mark.parametrize("one", FILES, ids=name)
def test_any_file_is_read_in_ten_seconds_and_a_gibibyte(one: dict[str, Any]) -> None:
    said = bounded(path_of(one), EVERYTHING.strip(), seconds=10, megabytes=1024)
    assert said.startswith("CaptureError") if one in UNREADABLE else said == "read"


@pytest.mark.parametrize("command", ["info", "events"])
@pytest.mark.parametrize("one", UNREADABLE, ids=name)
def test_the_unreadable_are_refused_in_a_line_that_says_where(
    netcost: Netcost, one: dict[str, Any], command: str
) -> None:
    done = netcost(command, str(path_of(one)), *(["cycles"] if command == "events" else []))
    assert done.code == 1
    assert done.out == ""
    [line] = done.err.splitlines()
    assert re.search(r"(byte|offset) \d+", line)


@pytest.mark.parametrize("one", READABLE, ids=name)
def test_info_and_events_read_every_other(netcost: Netcost, one: dict[str, Any]) -> None:
    info = netcost("info", str(path_of(one)), "--json")
    assert info.code == 0, info.err
    for event, count in info.json["events"].items():
        done = netcost("events", str(path_of(one)), event, "--json", "--limit", "3")
        assert (done.code, len(done.json)) == (0, min(count, 3)), done.err
