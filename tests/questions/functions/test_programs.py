# Functions of programs: which file is at an address, and its functions where that file is at hand
# and is the one that was recorded.

import os
import random
import shutil
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from netcost_analysis import Capture, CaptureError, mask, open_capture
from netcost_analysis.questions.samples.flame import graph, paths
from netcost_analysis.questions.samples.flame_formats import folded
from support.perfdata import Fork, Mmap2, Where
from support.programs import Program, compiled
from support.stacks import CLOCK, Stack, Symbols, capture_of, shares, stack

BASE = 0x7F0000000000
HERE = Where(0, 1, 500, 500)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    return compiled(tmp_path_factory.mktemp("program"))


# A sample in all of the program's file, mapped from its beginning.
def sampled(
    program: Program, folder: Path, path: object = None, build_id: bytes | None = None
) -> Capture:
    size, name = program.path.stat().st_size, str(program.path if path is None else path)
    mapped = Mmap2(500, BASE, size, name, HERE, build_id=build_id)
    return capture_of(folder, mapped, Stack(user=(BASE + program.inside,), time_ns=5))


def frames(capture: Capture, search: "list[str] | None") -> pd.DataFrame:
    found = capture.native.stacks("cycles", None, False, True, search)
    return pa.table(found["frames"]).to_pandas()


def names(capture: Capture) -> list[tuple[object, object]]:
    rows = capture.ask.functions.functions(user=True).frame[["function", "dso"]].astype(object)
    return list(rows.where(rows.notna(), None).itertuples(index=False, name=None))


def test_a_function_has_its_file_its_place_and_what_is_inlined(
    program: Program, tmp_path: Path
) -> None:
    capture = sampled(program, tmp_path / "x", build_id=program.build_id)
    found = frames(capture, [])
    assert found["symbol"].tolist() == ["mix", "outer"]
    assert found["inlined"].tolist() == [True, False]
    assert found["file_offset"].tolist() == [program.inside] * 2
    assert set(found["build_id"]) == {program.build_id.hex()}
    assert found["offset"].tolist()[1] == program.inside - program.offset
    assert names(capture) == [("outer", str(program.path))]
    assert capture.ask.functions.components().frame["component"].tolist() == ["application"]
    # No file is read unless it is asked for.
    found = frames(capture, None)
    assert found["symbol"].isna().all()
    assert found["dso"].tolist() == [str(program.path)]
    frame = capture.ask.functions.functions().frame
    assert frame["function"].tolist() == ["(user mode)"]
    assert frame["dso"].isna().all()


# Where no build was recorded, as where masking left zeros, the file that is there is taken.
def test_a_file_of_another_build_is_not_taken(program: Program, tmp_path: Path) -> None:
    builds = ((bytes(range(20)), None), (bytes(20), "outer"), (None, "outer"))
    for number, (build_id, function) in enumerate(builds):
        capture = sampled(program, tmp_path / str(number), build_id=build_id)
        assert names(capture) == [(function, str(program.path))]


@pytest.mark.parametrize("kind", ["build id", "path", "name"])
def test_a_folder_of_programs(program: Program, tmp_path: Path, kind: str) -> None:
    given, digits = tmp_path / "symbols", program.build_id.hex()
    at = {
        "build id": given / ".build-id" / digits[:2] / f"{digits[2:]}.debug",
        "path": given / "opt/gone/program",
        "name": given / "program",
    }[kind]
    at.parent.mkdir(parents=True)
    shutil.copy(program.path, at)
    sampled(program, tmp_path / "x", "/opt/gone/program", program.build_id)
    assert names(open_capture(tmp_path / "x")) == [(None, "/opt/gone/program")]
    capture = open_capture(tmp_path / "x", symbols=given)
    assert names(capture) == [("outer", "/opt/gone/program")]
    with pytest.raises(CaptureError, match="nothing is no"):
        open_capture(tmp_path / "x", symbols=tmp_path / "nothing")


# A reader of a FIFO would wait for ever, one of /dev/zero would never end.
def test_a_path_that_leads_to_no_regular_file(program: Program, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to(tmp_path / "fifo")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "text").write_text("no program")
    (tmp_path / "short").write_bytes(b"\x7fELF")
    own = [str(tmp_path / name) for name in ("fifo", "link", "loop", "text", "short", "missing")]
    others = ["/dev/zero", "/dev/stdin", "/proc/kcore", "/proc/self/mem", "/", ""]
    others += ["[vdso]", "//anon", "../" * 20 + "etc/passwd", "/a\n\x1b[2J" * 400]
    for number, path in enumerate([*own, *others]):
        capture = sampled(program, tmp_path / f"x{number}", path)
        assert [function for function, _ in names(capture)] == [None]


def test_damaged_programs_are_read_or_not(program: Program, tmp_path: Path) -> None:
    whole, draw = program.path.read_bytes(), random.Random(7)
    target = tmp_path / "program"
    capture = sampled(program, tmp_path / "x", target)
    for _ in range(400):
        bytes_ = bytearray(whole)
        # Headers more often than the rest.
        for _ in range(draw.randint(1, 8)):
            end = draw.choice([64, 1024, len(bytes_)])
            bytes_[draw.randrange(end)] = draw.choice([0, 1, 0x7F, 0x80, 0xFF, draw.randrange(256)])
        target.write_bytes(bytes_[: draw.choice([len(bytes_), draw.randrange(len(bytes_))])])
        assert len(frames(capture, [])) < 64


# A process has what its parent had, and what is mapped later counts from then on.
def test_the_file_is_that_of_the_process_at_the_time(tmp_path: Path) -> None:
    at, later = (Where(0, time, 500, 500) for time in (1, 20))
    capture = capture_of(
        tmp_path / "x",
        Mmap2(400, BASE, 4096, "/a", at),
        Fork(500, 400, 500, 400, 5, Where(0, 5, 400, 400)),
        Mmap2(500, BASE, 4096, "/b", later),
        *(Stack(user=(BASE + 8,), time_ns=time) for time in (2, 10, 30)),
    )
    found = capture.native.stacks("cycles", None, False, True, None)
    table = pa.table(found["frames"]).to_pandas()
    stacks = pa.table(found["stacks"]).column("frames").to_pylist()
    samples = pa.table(found["samples"]).column("stack").to_pylist()
    dsos = [table["dso"].tolist()[stacks[number][0]] for number in samples]
    assert [None if isinstance(dso, float) else dso for dso in dsos] == [None, "/a", "/b"]


def test_a_masked_copy_names_no_program(program: Program, tmp_path: Path) -> None:
    sampled(program, tmp_path / "x", build_id=program.build_id)
    mask(tmp_path / "x" / "data", tmp_path / "masked")
    capture = open_capture(tmp_path / "masked", symbols=program.path.parent)
    [(function, dso)] = names(capture)
    assert function is None
    assert isinstance(dso, str)
    assert "program" not in dso
    assert capture.mappings()["build_id"].isna().all()
    assert program.build_id not in (tmp_path / "masked").read_bytes()


# The text of perf script has samples with names: they belong where those of the perf.data do.

SEND = "tcp_sendmsg < inet_sendmsg < __sys_sendto < do_syscall_64+0x20"
IPI = "__irq_exit_rcu < sysvec_call_function_single < asm_sysvec_call_function_single"
USER = (0x400010, 0x400020)
TOLD = [
    *[stack("pv_native_safe_halt < default_idle")] * 2,
    stack(f"_copy_from_iter < {SEND}", user=USER),
    stack(f"tcp_ack.isra.0 < {SEND}"),
    stack(f"veth_xmit [veth] < dev_hard_start_xmit < {SEND}"),
    stack(f"bpf_prog_6deef7357e7b4530_x [bpf] < {SEND}"),
    stack(f"handle_softirqs+0x80 < {IPI} < {SEND}"),
    stack("? < unheard_of"),
    Stack(user=USER),
]


def text_of(told: list[Stack], symbols: Symbols, chains: bool = True) -> str:
    lines = []
    for number, one in enumerate(told):
        head = f"iperf3 500 [{one.cpu:03}] {100 + number}.000001: {one.period} cpu-clock:ppp: "
        frames = []
        for name in one.frames:
            function, _, module = name.partition(" ")
            at, known = symbols.address(name), function.partition("+")[0]
            where = f"({'bpf_prog_x' if module == '[bpf]' else module or '[kernel.kallsyms]'})"
            frames.append(f"{at:x} {'[unknown]' if known == '?' else known + '+0x4'} {where}")
        frames += [f"{at:x} main+0x10 (/usr/bin/iperf3)" for at in one.user]
        if chains:
            lines.append(head + "\n" + "".join(f"\t{frame}\n" for frame in frames))
        else:
            lines.append(head + frames[0])
    return "\n".join(lines) + "\n"


def read(folder: Path, told: list[Stack], chains: bool = True) -> Capture:
    folder.mkdir(exist_ok=True)
    path = folder / "perf.txt"
    path.write_text(text_of(told, Symbols(), chains))
    return open_capture(path)


def test_each_sample_is_where_that_of_the_perf_data_is(tmp_path: Path) -> None:
    capture = read(tmp_path / "t", TOLD)
    same = capture_of(tmp_path / "r", *TOLD, attrs=[CLOCK])
    assert shares(capture) == shares(same)
    rows, others = (one.ask.functions.functions().frame for one in (capture, same))
    assert rows.equals(others)
    one, other = (one.ask.functions.components() for one in (capture, same))
    assert one["interrupts_off"].equals(other["interrupts_off"])
    assert (one["sampled_event"], one["is_timed"]) == ("cpu-clock:ppp", True)
    # A text's frames of programs are one, without a name.
    rows = capture.ask.functions.functions(user=True).frame
    user = rows[rows["component"] == "application"]
    assert user[["function", "dso"]].isna().all(axis=None)
    assert (user["samples"].tolist(), rows["samples"].sum()) == ([1], len(TOLD))
    # A window and a graph take it too.
    part = capture.ask.functions.components(start_s=1.5, end_s=2.5).frame
    assert part["component"].tolist() == ["copy"]
    lines = "".join(folded(graph([paths(capture)])))
    assert "interrupts_off:_call_function_single_interrupt 1\n" in lines


def test_without_call_chains_they_are_told_by_where_they_are(tmp_path: Path) -> None:
    told = [stack("tcp_ack"), stack("memcpy"), Stack(user=USER[:1])]
    found = shares(read(tmp_path / "t", told, chains=False))
    assert found == {"TCP": 1, "unclassified": 1, "application": 1}


# Guests have kernels of their own; so has user mode places in brackets.
@pytest.mark.parametrize("place", ["[guest.kernel.kallsyms]", "[vdso]", "[heap]"])
def test_what_is_no_module_of_this_kernel_is_none(tmp_path: Path, place: str) -> None:
    address = "ffffffff81000010" if "guest" in place else "7ffd00000010"
    line = f"iperf3 500 [000] 100.000001: 1 cpu-clock: \n\t{address} tcp_ack+0x4 ({place})\n\n"
    path = tmp_path / "perf.txt"
    path.write_text(line)
    assert shares(open_capture(path)) == {"application": 1}


def test_names_that_are_not_there_are_asked_for(tmp_path: Path) -> None:
    refusal = read(tmp_path / "t", [stack("?")]).ask.functions.components().refusal
    assert "kernel functions" in str(refusal)
    # A text without samples says what it lacks.
    path = tmp_path / "trace.txt"
    path.write_text(
        "# tracer: nop\n#\n a-1 [000] d.h1. 1.000000: irq_handler_entry: irq=1 name=x\n"
    )
    refusal = open_capture(path).ask.functions.components().refusal
    assert "samples of functions" in str(refusal)


# What a line of perf script may lack: where the sample was taken, its chain, its CPU, its period.
@pytest.mark.parametrize(
    "where", ["", "\n", f" {0xFFFFFFFF81000010:x}", " 10 f+0x4 (a)", "\n\t10 f (a)\n"]
)
def test_every_question_on_every_shape_of_sample(where: str, tmp_path: Path) -> None:
    for number, (cpu, period) in enumerate((("[007] ", ""), ("", "1000 "))):
        path = tmp_path / f"{number}.txt"
        path.write_text(
            "".join(f"sh 5 {cpu}{at}.000001: {period}cycles:{where}\n" for at in (1, 2))
        )
        capture = open_capture(path)
        assert capture.info["events"] == {"cycles": 2}
        table = capture.ask.table
        for topic, name in table.loc[
            table["asked_of"] == "recording", ["topic", "question"]
        ].values:
            answer = getattr(getattr(capture.ask, topic), name)()
            assert answer.refusal or isinstance(answer.words, str)
        assert (capture.ask.functions.functions().refusal is None) == ("(a)" in where)
