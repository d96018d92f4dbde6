# netcost flame: what it writes, says and refuses.

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from netcost_analysis import open_capture
from support.host import ROOT
from support.perfdata import SampleType
from support.perfdata.attr import TYPE_HARDWARE
from support.run_cli import Netcost
from support.stacks import FREQUENT, KINDS, Called, write

TOLD = (
    Called(("user", "asm_sysvec_x", "f"), times=2),
    Called(("user", "do_syscall_64"), "iperf3", 71, times=3, cpu=1),
)
SAMPLE = str(ROOT / "sample-data" / "io-sizes" / "tcp-64.netcost.tar.zst")


@pytest.fixture
def path(tmp_path: Path) -> str:
    return write(tmp_path / "mine", *TOLD)


def test_each_ending_is_a_format(netcost: Netcost, path: str, tmp_path: Path) -> None:
    for name in ("x.svg", "x.folded", "x.speedscope.json"):
        run = netcost("flame", path, "-o", str(tmp_path / name))
        assert (run.code, run.err) == (0, "")
        assert set(run.out.split()) >= {"2", "cpu-clock", str(tmp_path / name)}
    assert (tmp_path / "x.folded").read_text() == "openssl;asm_sysvec_x;f 2000000\n"
    said = json.loads((tmp_path / "x.speedscope.json").read_text())
    assert said["profiles"][0]["name"] == "mine"
    drawn = (tmp_path / "x.svg").read_text()
    assert ": mine<" in drawn
    assert "2 samples; " in drawn
    assert "stolen 40.0 %" in drawn


def test_every_sample_and_one_cpu(netcost: Netcost, path: str, tmp_path: Path) -> None:
    target = tmp_path / "x.folded"
    netcost("flame", path, "-o", str(target), "--kind", "all")
    assert target.read_text().splitlines() == [
        "iperf3;user_mode;do_syscall_64;interrupts_off:_system_call_entry 3000000",
        "openssl;user_mode;asm_sysvec_x;f 2000000",
    ]
    netcost("flame", path, "-o", str(target), "--kind", "all", "--cpu", "1", "--event", "cpu-clock")
    off = "interrupts_off:_system_call_entry"
    assert target.read_text() == f"iperf3;user_mode;do_syscall_64;{off} 3000000\n"


def test_with_a_base(netcost: Netcost, path: str, tmp_path: Path) -> None:
    base = write(tmp_path / "base", *TOLD, TOLD[0])
    target = tmp_path / "x.svg"
    run = netcost("flame", path, "--base", base, "-o", str(target))
    assert set(run.out.split()) >= {"4", "2", "cpu-clock", str(target)}
    drawn = target.read_text()
    assert "base base, new" in drawn
    [title] = re.findall(r"<title>f \((.*?), 95% ", drawn)
    assert re.findall(r"-?\d+ ms", title) == ["571 ms", "400 ms", "-171 ms"]
    target = tmp_path / "x.speedscope.json"
    assert netcost("flame", path, "--base", base, "-o", str(target)).code == 0
    said = json.loads(target.read_text())
    assert [(one["name"], one["endValue"]) for one in said["profiles"]] == [
        ("base", 4e6),
        ("mine", 2e6),
    ]


# Of one name: then by where they are.
def test_sides_of_one_name(netcost: Netcost, path: str, tmp_path: Path) -> None:
    base, target = write(tmp_path / "other" / "mine", *TOLD), tmp_path / "x.svg"
    netcost("flame", path, "--base", base, "-o", str(target))
    drawn = target.read_text()
    assert f"base …{base[-29:]}, new …{path[-29:]}" in drawn
    assert base.endswith("other/mine")
    assert len(base) > 30


# A long name ends in what tells recordings apart, not in how they are packed. Packets that both
# hosts counted are what rates are of.
def test_a_title_has_no_ending_and_rates_are_of_packets(netcost: Netcost, tmp_path: Path) -> None:
    target, packed = tmp_path / "x.svg", tmp_path / f"{'a' * 40}-tcp.netcost.tar.zst"
    packed.write_bytes(Path(SAMPLE).read_bytes())
    assert netcost("flame", str(packed), "-o", str(target)).code == 0
    assert f"victim: …{'a' * 25}-tcp<" in target.read_text()
    other = SAMPLE.replace("/tcp-64.", "/tcp-1024.")
    assert netcost("flame", str(packed), "--base", other, "-o", str(target)).code == 0
    assert "packet: base tcp-1024," in target.read_text()


# What a timer does not see is a frame, innermost, and the totals are the same.
def test_what_interrupts_were_off_in_is_a_frame(netcost: Netcost, tmp_path: Path) -> None:
    target = tmp_path / "x.folded"
    assert netcost("flame", SAMPLE, "--kind", "all", "-o", str(target)).code == 0
    lines = [line.rpartition(" ") for line in target.read_text().splitlines()]
    off = [(path, int(value)) for path, _, value in lines if "interrupts_off:" in path]
    assert all(path.rpartition(";")[2].startswith("interrupts_off:") for path, _ in off)
    parts = open_capture(SAMPLE).ask.functions.components()["components"]
    weights = parts.set_index("component")["weight"]
    assert sum(value for _, value in off) == weights["interrupts off"]
    assert sum(int(value) for _, _, value in lines) == weights.sum()
    of_ipi = "handle_softirqs;interrupts_off:_call_function_single_interrupt"
    assert any(path.endswith(of_ipi) for path, _ in off)


def test_what_cannot_be_drawn_leaves_nothing(netcost: Netcost, path: str, tmp_path: Path) -> None:
    target = tmp_path / "out" / "x.svg"
    target.parent.mkdir()
    target.write_text("before")
    for option, value, told in (
        ("--cpu", "7", "CPU 7"),
        ("--event", "cycles", "holds cpu-clock"),
        ("--cpu", "1", "--kind all"),
        ("--base", "nowhere", "nowhere"),
    ):
        run = netcost("flame", path, "-o", str(target), option, value)
        assert (run.code, told in run.err) == (1, True)
        assert [one.name for one in target.parent.iterdir()] == ["x.svg"]
        assert target.read_text() == "before"


# As docs/cli.md says that it was made.
def test_the_picture_of_the_docs(netcost: Netcost, tmp_path: Path) -> None:
    target = tmp_path / "x.svg"
    netcost("flame", SAMPLE.replace("/tcp-64.", "/tcp-65536."), "-o", str(target))
    assert target.read_bytes() == (ROOT / "docs" / "images" / "stolen-flame.svg").read_bytes()


# Which of both it is about is said.
def test_a_base_that_cannot_be_drawn_is_named(netcost: Netcost, path: str, tmp_path: Path) -> None:
    base = write(tmp_path / "base", Called(("user", "f"), cpu=3))
    target = str(tmp_path / "x.svg")
    run = netcost("flame", path, "--base", base, "-o", target)
    assert run.err.startswith(f"netcost: {base}: ")
    assert netcost("flame", base, "--base", path, "-o", target).err.startswith(f"netcost: {base}: ")
    for given in ((path, base), (base, path)):
        words = ("flame", given[0], "--base", given[1], "-o", target, "--kind", "all", "--cpu", "3")
        assert netcost(*words).err.startswith(f"netcost: {path}: ")


def test_functions_without_names(netcost: Netcost, path: str, tmp_path: Path) -> None:
    Path(path, "kcore_dir", "kallsyms").unlink()
    run = netcost("flame", path, "-o", str(tmp_path / "x.svg"))
    assert (run.code, run.out, run.err.count("\n")) == (1, "", 1)


# Of counters' events what was counted is no time.
def test_samples_of_cycles(netcost: Netcost, tmp_path: Path) -> None:
    attr = replace(FREQUENT, name="cycles", type=TYPE_HARDWARE)
    folders = [
        write(tmp_path / name, Called(("asm_sysvec_x",), times=times), Called(("user",)), attr=attr)
        for name, times in (("base", 50), ("new", 400))
    ]
    target = tmp_path / "x.svg"
    assert netcost("flame", folders[0], "-o", str(target)).code == 0
    drawn = target.read_text()
    assert ">cycles in interrupts" in drawn
    assert "stolen 98.0 %" in drawn
    assert "asm_sysvec_x (50,000,000 cycles," in drawn
    assert netcost("flame", folders[1], "--base", folders[0], "-o", str(target)).code == 0
    drawn = target.read_text()
    assert "per 1,000 cycles" in drawn
    titles = re.findall(r"\(base (\d+) cycles, new (\d+) .*? change (\S+) ", drawn)
    assert ("980", "998", "+17.1") in titles
    target = tmp_path / "x.speedscope.json"
    assert netcost("flame", folders[0], "-o", str(target)).code == 0
    [profile] = json.loads(target.read_text())["profiles"]
    assert (profile["name"], profile["unit"]) == ("base (cycles)", "none")


# Without tasks' numbers nobody is the idle task; without periods each sample is one.
def test_samples_that_say_little(netcost: Netcost, tmp_path: Path) -> None:
    kinds = KINDS & ~(SampleType.TID | SampleType.PERIOD)
    attr = replace(FREQUENT, sample_type=kinds)
    path = write(tmp_path / "x", Called(("asm_sysvec_x",), "swapper", 0, times=3), attr=attr)
    target = tmp_path / "x.folded"
    run = netcost("flame", path, "-o", str(target))
    assert (run.code, run.err) == (0, "")
    [line] = target.read_text().splitlines()
    assert line.endswith(";asm_sysvec_x 3")


def test_samples_without_stacks_or_times(netcost: Netcost, tmp_path: Path) -> None:
    for lacks in (SampleType.CALLCHAIN, SampleType.TIME, SampleType.CPU, SampleType.IP):
        attr = replace(FREQUENT, sample_type=KINDS & ~lacks)
        path = write(tmp_path / str(int(lacks)), *TOLD, attr=attr)
        run = netcost("flame", path, "-o", str(tmp_path / "x.folded"), "--cpu", "0")
        assert "bug" not in run.err, lacks
        assert run.err.count("\n") == run.code


def test_periods_that_are_none(netcost: Netcost, tmp_path: Path) -> None:
    for period, told in ((2**62, "64 bits"), (2**64 - 1, "64 bits"), (0, "no weight")):
        path = write(tmp_path / str(period), Called(("asm_sysvec_x",), times=4, period=period))
        for words in ((), ("--base", path)):
            run = netcost("flame", path, "-o", str(tmp_path / "x.svg"), *words)
            assert (run.code, told in run.err) == (1, True)
