# The text of perf script has samples with names: they belong where those of the perf.data do.

from pathlib import Path

import pytest

from netcost_analysis import open_capture
from netcost_analysis.capture.capture import Capture
from netcost_analysis.questions.functions.flame import graph, paths
from netcost_analysis.questions.functions.flame_formats import folded
from support.stacks import CLOCK, Stack, Symbols, capture_of, shares, stack

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
    assert "kernel's functions" in str(refusal)
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
