# netcost mask on a recording of every kind that is read: no name is left in it, and nothing else is
# changed.

import os
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from netcost_analysis import CaptureError
from netcost_analysis._native import Capture, mask_recording
from netcost_analysis.masking import mask, recording
from netcost_analysis.masking.names import is_kept_task
from support.host import Fresh, require_tool
from support.masking import bare, files, found_in, numbers, totals, views, written
from support.mutations import mutant
from support.native_tables import Answer, rows
from support.oracle import run
from support.perfdata import Header, Where, write_file
from support.perfdata.records import KernelSymbol
from support.small_captures import HEADER, Small, networking, small_captures
from support.stacks import Called, write
from support.tracedat import Dress, Packing, write_trace_dat, write_tracefs
from support.tracedat import options as o
from support.tracedat.small import EVERYTHING, made
from support.tracedat.small import networking as timeline

SECRETS = [b"openssl", b"udpsink", b"child\0", b"described", b"user.slice", b"/usr/bin"]
S = 1_000_000_000
KINDS = sorted(small_captures())
TRACING_DATA, NRCPUS, EVENT_DESC = 1, 7, 12
THREAD_MAP = 73


# Every task's name before and after, wherever a table has one.
def names(source: Path, target: Path) -> set[tuple[str, str]]:
    before, after = (Capture(str(path)).all_events() for path in (source, target))
    pairs = set()
    for event in before:
        for row, other in zip(rows(before[event]), rows(after[event]), strict=True):
            assert bare(row) == bare(other)
            pairs |= {
                (row[key], other[key])
                for key in row
                if "comm" in key and isinstance(row[key], str) and row[key]
            }
    return pairs


def assert_same_but_for_names(source: Path, target: Path) -> None:
    assert numbers(source) == numbers(target)
    pairs = names(source, target)
    # One name for one name.
    assert len({one for one, _ in pairs}) == len(pairs) == len({other for _, other in pairs})
    for one, other in pairs:
        assert (one == other) == one.startswith("swapper"), (one, other)
        assert len(other) <= len(one)


def test_a_recording_of_every_kind(fresh: Fresh) -> None:
    for kind in KINDS:
        folder = fresh()
        source, target = written(small_captures()[kind], folder / "in"), folder / "out"
        # Texts have other tasks: test_text.py.
        assert found_in(source, SECRETS) or kind.startswith("text-")
        masked = mask(source, target)
        assert found_in(target, SECRETS) == []
        assert found_in(folder / "out.masked.txt", SECRETS) == []
        # function_graph may leave out whose calls they are.
        assert masked.replaced.get("task", 0) >= 2 or kind == "text-calls-untimed"
        assert_same_but_for_names(source, target)
        # The same kind: of format, of compression, of a folder's files.
        same = ("format", "mode", "version", "byte_order", "compressed", "wrapped", "clock")
        one, other = Capture(str(source)).header(), Capture(str(target)).header()
        assert [one[key] for key in same] == [other[key] for key in same]
        names, others = ([path.name for path in files(path)][1:] for path in (source, target))
        assert names == others


# What a header claims decides nothing that the file's own length does not bear out.
@pytest.mark.parametrize("page_size", [1 << 16, 1 << 31, 0xFFFFFFFF])
def test_a_copy_is_hardly_larger_whatever_the_size_of_a_page(
    page_size: int, tmp_path: Path
) -> None:
    source, target = tmp_path / "in", tmp_path / "out"
    data = small_captures()["trace-cmd-7"].files["data"]
    at = data.index(b"7\0") + 4
    source.write_bytes(data[:at] + page_size.to_bytes(4, "little") + data[at + 4 :])
    mask(source, target)
    assert target.stat().st_size < len(data) + (1 << 16)


def test_a_copy_of_tracefs(tmp_path: Path) -> None:
    source = write_tracefs(timeline(), tmp_path / "in")
    (source / "set_ftrace_pid").write_text("openssl\n")
    target = tmp_path / "out"
    masked = mask(source, target)
    assert found_in(source, SECRETS)
    assert found_in(target, SECRETS) == []
    out = {what: count for what, count in masked.changes.items() if what.endswith("left out")}
    assert out == {"set_ftrace_pid left out": 1}
    assert (target / "uname").read_text().split()[1:] == ["host1", "6.18.0", "x86_64"]
    assert_same_but_for_names(source, target)


def test_the_names_of_functions_beside_a_recording_stay(tmp_path: Path) -> None:
    source, target = Path(write(tmp_path / "in", Called(("f", "g")))), tmp_path / "out"
    (source / "kcore_dir" / "kcore").write_text("openssl")
    assert mask(source, target).changes["kcore_dir/kcore left out"] == 1
    assert Capture(str(target)).kallsyms() == Capture(str(source)).kallsyms()
    assert [path.name for path in (target / "kcore_dir").iterdir()] == ["kallsyms"]


def test_no_task_of_a_threads_map_is_left(tmp_path: Path) -> None:
    threads = struct.pack("<IHHQ", THREAD_MAP, 0, 64, 2)
    threads += b"".join(struct.pack("<Q16s", tid, b"openssl") for tid in (70, 71))
    (tmp_path / "in").write_bytes(networking().pipe() + threads)
    mask(tmp_path / "in", tmp_path / "out")
    assert found_in(tmp_path / "out", SECRETS) == []


def test_one_without_a_whole_record_is_refused(tmp_path: Path) -> None:
    data = bytearray(networking().file())
    [records] = struct.unpack_from("<Q", data, 40)
    struct.pack_into("<H", data, records + 6, 0)
    (tmp_path / "in").write_bytes(data)
    with pytest.raises(CaptureError) as refused:
        mask(tmp_path / "in", tmp_path / "out")
    assert (refused.value.kind, refused.value.offset) == ("damaged", records)


# Cut anywhere: refused, or masked up to there.
@pytest.mark.parametrize("kind", ["file", "pipe", "file-compressed", "folder", "trace-cmd-6"])
def test_nothing_is_left_in_one_that_is_cut_short(tmp_path: Path, kind: str) -> None:
    small = small_captures()[kind]
    whole, done = small.files["data"], 0
    for size in range(120, len(whole), max(len(whole) // 60, 1)):
        source, target = tmp_path / f"in{size}", tmp_path / f"out{size}"
        written(Small({**small.files, "data": whole[:size]}), source)
        try:
            mask(source, target)
        except (CaptureError, OSError):
            assert not target.exists()
            continue
        done += 1
        assert found_in(target, SECRETS) == [], size
    assert done > 5


# Whatever is damaged in it: refused in a line, or written as something that is read.
def test_a_damaged_one_is_refused_or_masked(tmp_path: Path) -> None:
    done = 0
    for number in range(400):
        one = mutant(number)
        source, target = tmp_path / f"in{number}", tmp_path / f"out{number}"
        written(Small(dict(one.files)), source)
        try:
            mask(source, target)
        except (CaptureError, OSError):
            assert not target.exists()
            continue
        done += 1
        assert Capture(str(target)).scan()["events"] == Capture(str(source)).scan()["events"], one
    assert done > 200


# What claims to be longer than it is, or to be where something else is: what lies there is no part
# of it. A clock over the pages of a CPU that has none any more,
def _long_clock(size: int) -> bytes:
    data = bytearray(made(replace(EVERYTHING, version=6)))
    table = data.index(b"flyrecord\0") + len(b"flyrecord\0")
    for place, number in ((table + 8, 0), (table + 2 * 16, size)):
        data[place : place + 8] = number.to_bytes(8, "little")
    return bytes(data)


# a section of formats, symbols or texts that goes on to the file's end,
def _long_section(number: int) -> bytes:
    data = bytearray(made(EVERYTHING))
    option = data.index(struct.pack("<HI", number, 8))
    [section] = struct.unpack_from("<Q", data, option + 6)
    assert data[section : section + 2] == struct.pack("<H", number)
    struct.pack_into("<Q", data, section + 8, len(data))
    return bytes(data)


# and a part of perf's header over the records, or another part.
def _header_over(number: int, over: int | None) -> bytes:
    data = bytearray(networking().file())
    records = struct.unpack_from("<QQ", data, 40)
    features = [bit for bit in range(64) if data[72 + bit // 8] >> bit % 8 & 1]
    table = sum(records)
    place = (
        records
        if over is None
        else struct.unpack_from("<QQ", data, table + 16 * features.index(over))
    )
    struct.pack_into("<QQ", data, table + 16 * features.index(number), *place)
    return bytes(data)


SECTIONS = (o.HEADER_INFO, o.FTRACE_EVENTS, o.EVENT_FORMATS, o.KALLSYMS, o.PRINTK)
LYING = [
    *((_long_clock, size) for size in (2000, 4096, 4097, 5000, 1 << 40)),
    *((_long_section, number) for number in SECTIONS),
    *((_header_over, NRCPUS, None), (_header_over, EVENT_DESC, TRACING_DATA)),
]


@pytest.mark.parametrize("make", LYING, ids=lambda one: f"{one[0].__name__[1:]}-{one[1]}")
def test_no_claim_hides_names(make: tuple[Any, ...], tmp_path: Path) -> None:
    source, target = tmp_path / "in", tmp_path / "out"
    data, *given = make
    source.write_bytes(data(*given))
    changes = mask(source, target).changes
    assert found_in(source, SECRETS)
    assert found_in(target, SECRETS) == []
    listed = [count for what, count in changes.items() if "header" in what]
    assert data is not _header_over or listed == [1]


def assert_a_tool_reads_the_same(source: Path, target: Path, *command: str) -> None:
    mask(source, target)
    shown = [run(*command, path) for path in (source, target)]
    assert shown[0].count("\n") == shown[1].count("\n") > 5
    assert ["openssl" in one for one in shown] == [True, False]
    assert "task1" in shown[1]


def test_perf_reads_it(tmp_path: Path) -> None:
    perf = require_tool("perf")
    told = replace(timeline(), header=Header(cmdline=("perf", "record", "--filter", "vec==3")))
    for kind, packed in (("file", 0), ("file", 1), ("pipe", 0), ("pipe", 1)):
        source, target = tmp_path / f"{kind}{packed}", tmp_path / f"{kind}{packed}-out"
        told.write(source, kind, packed)
        assert_a_tool_reads_the_same(source, target, perf, "script", "-f", "-i")
    header = run(perf, "report", "--header-only", "-f", "-i", tmp_path / "file0-out")
    assert "hostname : host1" in header
    assert "--filter vec==3" in header


def test_trace_cmd_reads_it(tmp_path: Path) -> None:
    trace_cmd = require_tool("trace-cmd")
    for number, dress in enumerate((Dress(6), Dress(7), Dress(packing=Packing("none")))):
        source, target = tmp_path / f"{number}", tmp_path / f"{number}-out"
        write_trace_dat(timeline(), source, dress)
        assert_a_tool_reads_the_same(source, target, trace_cmd, "report", "-i")


def test_the_map_makes_it_the_same_each_time(tmp_path: Path) -> None:
    source = written(small_captures()["file"], tmp_path / "in")
    one, other, again = tmp_path / "one", tmp_path / "other", tmp_path / "again"
    kept = tmp_path / "map"
    mask(source, one, kept)
    text = kept.read_text()
    assert "task\topenssl\ttask" in text
    assert kept.stat().st_mode & 0o777 == 0o600
    mask(source, other, kept)
    assert one.read_bytes() == other.read_bytes()
    # What is masked stays as it is.
    mask(one, again, kept)
    assert one.read_bytes() == again.read_bytes()
    assert kept.read_text() == text


def test_filters_and_what_was_recorded_stay_known(tmp_path: Path) -> None:
    source, target = tmp_path / "in", tmp_path / "out"
    source.write_bytes(networking().file())
    mask(source, target)
    one, other = Capture(str(source)).header(), Capture(str(target)).header()
    assert one["cmdline"] == other["cmdline"]
    assert "--filter" in one["cmdline"]
    filters, others = ([event["filter"] for event in each["events"]] for each in (one, other))
    assert filters == others


# Writes the source anew when it is asked for the first name, and answers.
class Changing:
    def __init__(self, path: Path) -> None:
        self.path, self.asked = path, 0

    def replace(self, _kind: str, original: bytes) -> bytes:
        self.asked += 1
        if self.asked == 1:
            os.utime(self.path, ns=(1, 1))
        return b"x" * len(original)

    def progress(self, _fraction: float) -> None:
        pass


# What was written would be of no one file.
def test_a_capture_that_is_written_anew_while_it_is_masked(tmp_path: Path) -> None:
    for name, one in small_captures().items():
        if list(one.files) != ["data"] or one.pack is not None:
            continue
        source = written(one, tmp_path / name)
        changing = Changing(source)
        with pytest.raises(CaptureError, match="rewritten"):
            mask_recording(str(source), str(tmp_path / f"{name}-out"), changing)
        assert changing.asked


def test_interrupted_it_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = written(small_captures()["file"], tmp_path / "in")

    def interrupted(*_: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(recording.Names, "name", interrupted)
    with pytest.raises(KeyboardInterrupt):
        mask(source, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_the_search_finds_what_is_packed() -> None:
    # A search that finds nothing proves nothing where it cannot see.
    for kind in ("file-compressed2", "pipe-big-endian-compressed", "trace-cmd-7-zstd", "gzip"):
        data = small_captures()[kind].files["data"]
        assert any(b"openssl" in view for view in list(views(data))[1:]), kind


def test_programs_of_bpf_among_the_kernels_functions(tmp_path: Path) -> None:
    name = "bpf_prog_0123456789abcdef_alices_guard"
    symbols = f"ffffffff81000000 T _text\nffffffffc0000000 t {name}\t[bpf]\n"
    told = networking()
    symbol = KernelSymbol(0xFFFFFFFFC0000000, 64, name, where=Where(0, S))
    record = (*told.records, symbol)
    files = {
        "perf": write_file(told.attrs, told.formats, record, replace(HEADER, kallsyms=symbols)),
        "dat6": made(replace(EVERYTHING, version=6, kallsyms=symbols)),
        "dat7": made(replace(EVERYTHING, kallsyms=symbols, packing=Packing())),
    }
    for kind, data in files.items():
        source, target = tmp_path / kind, tmp_path / f"{kind}-out"
        source.write_bytes(data)
        mask(source, target)
        assert found_in(source, [b"alices_guard"]), kind
        assert found_in(target, [b"alices_guard"]) == [], kind
        assert found_in(target, [b"bpf_prog_0123456789abcdef___"]), kind
        one, other = Capture(str(source)).kallsyms(), Capture(str(target)).kallsyms()
        assert other == one.replace("alices_guard", "_" * 12)


# What this host does while it is recorded: none of its tasks is called by its name.
def test_a_recording_of_this_host(live: Path, tmp_path: Path) -> None:
    target = tmp_path / "out"
    mask(live, target)
    assert totals(live) == totals(target)
    # perf's own name begins its command line, in the header.
    known = {row["comm"] for row in Answer(live, []).sums} - {None, "perf"}
    tasks = {one for one in known if not is_kept_task(one) and len(one) > 3}
    assert tasks
    # In a field or record of 16 bytes a name ends with a NUL.
    secrets = [f"{task}\0".encode() for task in tasks]
    assert found_in(live, secrets)
    assert found_in(target, [*secrets, os.uname().nodename.encode() + b"\0"]) == []
