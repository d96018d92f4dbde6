# Captures that strangers recorded: counted, compared event by event with what perf, trace-cmd or
# their own lines say, read within bounds, or refused in a line that says where.

import re
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import zstandard

from netcost_analysis._native import Capture, CaptureError
from support.bounded import bounded
from support.native_tables import ALL_TABLES, Answer, assert_conserved, rows
from support.oracle import dumped_samples, handled_samples
from support.perfdata.sample import CONTEXT_USER, CPU_MODES
from support.run_cli import Netcost
from support.shared import ABSENT, files, name, path_of
from support.texts import counts
from support.tracedat.report import assert_same

PERF, TRACE_DAT, TEXT = files("perf"), files("trace.dat"), files("text")


def of(numbers: str, among: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one for one in among if str(one["file"])[:3] in numbers.split()] or ABSENT


# A header with no record behind it, and three that a fuzzer made.
UNREADABLE = of("003 054 067 072", PERF)
READABLE = [one for one in PERF if one not in UNREADABLE] or ABSENT
# perf gives up at the record without a size in 105.
COMPARED = [one for one in READABLE if one not in of("105", PERF)] or ABSENT
# Those with chains, and one with addresses of data.
CHAINED = of("000 005 155 161", PERF)
TRACED = [one for one in COMPARED if one.get("tracepoint_counts")] or ABSENT
# Addresses from here on mark whose frames follow.
FIRST_MARKER = 2**64 - 4095

EVERYTHING = """
    one = capture()
    tables = [one.kallsyms(), one.all_events(), one.scan(), one.mappings(), one.kernel_symbols()]
    if one.header()["format"] == "perf.data":
        tables += [one.samples(event["name"]) for event in one.header()["events"]]
    try:
        one.timeline(["segments", "softirqs", "hardirqs", "polls", "slices", "migrations"])
    except CaptureError as error:
        assert str(error).startswith("no ledger")"""


@pytest.mark.parametrize("one", [*PERF, *TRACE_DAT, *TEXT], ids=name)
def test_any_file_is_read_within_bounds(netcost: Netcost, one: dict[str, Any]) -> None:
    path, is_text = path_of(one), one in TEXT
    limits = (5, 512) if is_text else (10, 1024)
    said = bounded(path, EVERYTHING.strip(), *limits)
    info = netcost("info", str(path), "--json")
    if one in UNREADABLE:
        assert said.startswith("CaptureError")
        assert (info.code, info.out) == (1, "")
        [line] = info.err.splitlines()
        assert re.search(r"(byte|offset) \d+", line)
    else:
        assert said == "read"
        assert info.code == 0, info.err


# A few of them hold what a ledger is made of; the others say what they lack.
@pytest.mark.parametrize("one", [*READABLE, *TRACE_DAT], ids=name)
def test_ledgers_conserve_or_say_what_is_missing(one: dict[str, Any]) -> None:
    path = path_of(one)
    if {"sched:sched_switch", "sched_switch"} & {*one["tracepoint_counts"]}:
        assert_conserved(Answer(path, ALL_TABLES))
        return
    with pytest.raises(CaptureError, match=r"^no ledger: .*sched_switch"):
        Answer(path, ALL_TABLES)


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


# What perf 6.1 refuses is put into a shape that it takes. A little-endian file whose attrs are
# larger than perf knows: the rest, it does not need.
def with_known_attrs(data: bytes) -> bytes:
    changed, known = bytearray(data), 128
    entry, attrs_at, attrs_size = struct.unpack_from("<QQQ", data, 16)
    count, narrow = attrs_size // entry, known + 16
    for place in range(count):
        at, start = attrs_at + place * entry, attrs_at + place * narrow
        attr = data[at : at + 4] + struct.pack("<I", known) + data[at + 8 : at + known]
        changed[start : start + narrow] = attr + data[at + entry - 16 : at + entry]
    struct.pack_into("<QQQ", changed, 16, narrow, attrs_at, count * narrow)
    return bytes(changed)


# Type and bytes of a pipe's records.
def records(data: bytes, order: str) -> Iterator[tuple[int, bytes]]:
    at, tracing_data = 16, 66
    while at + 8 <= len(data):
        kind, _, size = struct.unpack_from(order + "IHH", data, at)
        size += struct.unpack_from(order + "I", data, at + 8)[0] if kind == tracing_data else 0
        yield kind, data[at : at + size]
        at += size


# A little-endian pipe with COMPRESSED2 records: one zstd stream runs through all of them.
def unpacked(data: bytes) -> bytes:
    unpack = zstandard.ZstdDecompressor().decompressobj()
    result = data[:16]
    for kind, record in records(data, "<"):
        (size,) = struct.unpack_from("<Q", record, 8) if kind == 83 else (0,)
        result += unpack.decompress(record[16 : 16 + size]) if kind == 83 else record
    return result


# A big-endian pipe with one event and without formats, as a file: perf 6.1 does not know the
# features in front of ChromeOS' pipes, and loses its way in every pipe of foreign byte order.
def as_file(data: bytes) -> bytes:
    told = list(records(data, ">"))
    [attr] = [record[8:] for kind, record in told if kind == 64]
    (size,) = struct.unpack_from(">I", attr, 4)
    kernels = b"".join(record for kind, record in told if kind < 64)
    ids_at, attrs_at = 104, 104 + len(attr) - size
    header = data[:8] + struct.pack(">QQQQ", 104, size + 16, attrs_at, size + 16)
    header += struct.pack(">QQQQ", attrs_at + size + 16, len(kernels), 0, 0) + bytes(32)
    section = struct.pack(">QQ", ids_at, len(attr) - size)
    return header + attr[size:] + attr[:size] + section + kernels


REPACKED: dict[str, Callable[[bytes], bytes]] = {
    "024": as_file,
    "040": with_known_attrs,
    "161": unpacked,
}


def for_perf(one: dict[str, Any], scratch: Path) -> Path:
    change = REPACKED.get(one["file"][:3])
    if change is None:
        return path_of(one)
    path = scratch / "repacked.data"
    path.write_bytes(change(path_of(one).read_bytes()))
    return path


def samples(one: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    capture = Capture(str(path_of(one)))
    names = [event["name"] for event in capture.header()["events"]]
    return [(name, row) for name in names for row in rows(capture.samples(name))]


# perf shows what a sample lacks as the largest number there is, and unknown names as numbers; it
# knows one idle task, and not each CPU's. In another shape, the events have lost their names.
@pytest.mark.parametrize("one", COMPARED, ids=name)
def test_every_sample_is_what_perf_script_says(one: dict[str, Any], tmp_path: Path) -> None:
    mine = samples(one)
    found = Counter(
        (
            None if one["file"][:3] in REPACKED else event,
            *(row["time_ns"], row["cpu"]),
            row["comm"].split("/")[0] if row["comm"] and not row["tid"] else row["comm"],
            *(row[column] for column in ("pid", "tid", "ip", "period")),
        )
        for event, row in mine
    )
    wanted = Counter(
        (
            None if one["file"][:3] in REPACKED else seen["event"],
            None if seen["time"] == 2**64 - 1 else seen["time"],
            None if seen["cpu"] == 2**32 - 1 else seen["cpu"],
            None if seen["comm"].startswith(":") else seen["comm"],
            *(seen[column] for column in ("pid", "tid", "ip", "period")),
        )
        for seen in handled_samples(for_perf(one, tmp_path), tmp_path)
    )
    assert found == wanted
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


@pytest.mark.parametrize("one", TRACED, ids=name)
def test_every_field_is_what_perf_script_says(one: dict[str, Any], tmp_path: Path) -> None:
    seen = handled_samples(path_of(one), tmp_path)
    tables = Capture(str(path_of(one))).all_events()
    for event in one["tracepoint_counts"]:
        theirs = [told for told in seen if told["event"] == event]
        names = sorted(set(theirs[0]["fields"]) - {"common_comm"})
        wanted = Counter(
            (told["time"], told["cpu"], *(until_nul(told["fields"][name]) for name in names))
            for told in theirs
        )
        table = pa.table(tables[event])
        columns = [unsigned(table, name) for name in ("time_ns", "common_cpu", *names)]
        assert wanted == Counter(zip(*columns, strict=True))
        assert wanted.total() == one["tracepoint_counts"][event]


# (version, word, byte order, clock, compressed, first and last words of uname)
HEADERS = {
    "178": (6, 4, "little", "local", False, "buildroot", "i686"),
    "200": (7, 8, "little", "local", True, "NEO-KIFI-RESURRECTED", "x86_64"),
    "203": (6, 4, "little", "local", False, "buildroot", "i686"),
    "209": (7, 8, "little", "perf", True, "lanhao-VirtualBox", "x86_64"),
}


@pytest.mark.parametrize("one", TRACE_DAT, ids=name)
def test_every_event_and_field_is_what_trace_cmd_says(one: dict[str, Any]) -> None:
    path = path_of(one)
    found = assert_same(path)
    assert sum(found.values()) == one["oracle_events"]
    assert one["tracepoint_counts"].items() <= found.items()
    header = Capture(str(path)).header()
    words = header["uname"].split()
    names = ("version", "word_bytes", "byte_order", "clock", "compressed")
    said = (*(header[name] for name in names), words[1], words[-1])
    assert said == HEADERS[one["file"][:3]]


# A second reading of the lines, for these files only: what stands before and behind a time.
LINE = re.compile(r"^(?P<who>.*?)\s\[(?P<cpu>\d{3})\].*?\s(?P<time>\d+\.\d{6}):\s+(?P<rest>.*)$")
SWITCH = re.compile(r"prev_comm=(\S+) prev_pid=(\d+) .*? next_comm=(\S+) next_pid=(\d+)")


@pytest.mark.parametrize("one", TEXT, ids=name)
def test_every_line_of_a_text_has_its_row(one: dict[str, Any]) -> None:
    path = path_of(one)
    capture, text = Capture(str(path)), path.read_text(errors="replace")
    scan, tables = capture.scan(), capture.all_events()
    assert counts(scan) == one["tracepoint_counts"]
    assert scan["records"]["event"] == one["oracle_events"]
    places = ("time_ns", "common_cpu", "common_pid")
    found = [tuple(row[name] for name in places) for of in tables.values() for row in rows(of)]
    wanted = []
    for match in filter(None, map(LINE.match, text.splitlines())):
        [pid] = re.findall(r"(\d+)$", match["who"].rstrip())
        wanted.append((int(match["time"].replace(".", "")) * 1000, int(match["cpu"]), int(pid)))
    assert sorted(found) == sorted(wanted)
    assert len(wanted) == one["oracle_events"]
    if "sched_switch" in one["tracepoint_counts"]:
        table = pa.table(tables["sched:sched_switch"])
        names = ("prev_comm", "prev_pid", "next_comm", "next_pid")
        columns = [[str(value) for value in table[name].to_pylist()] for name in names]
        assert list(zip(*columns, strict=True)) == SWITCH.findall(text)


# No frame of a call chain is missed.
@pytest.mark.parametrize("one", TEXT, ids=name)
def test_every_frame_of_a_text_is_in_a_chain(one: dict[str, Any]) -> None:
    path = path_of(one)
    frames = [line for line in path.read_text(errors="replace").splitlines() if line[:1] == "\t"]
    if not frames:
        pytest.skip("it has no call chains")
    found = Capture(str(path))
    tables = [pa.table(found.samples(event["name"])) for event in found.header()["events"]]
    assert sum(map(len, tables)) == one["oracle_events"]
    chains = [chain for table in tables for chain in table["callchain"].to_pylist()]
    addresses = sorted(address for chain in chains for address in chain)
    assert addresses == sorted(int(line.split()[0], 16) for line in frames)
