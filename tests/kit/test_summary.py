# summary.txt: what a recording says on the host itself, against the same figures of the package.

import math
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from netcost_analysis import open_capture
from netcost_analysis.capture.bundle import Bundle
from netcost_analysis.questions.accounting.account_readings import cpu_counters, seconds_between
from netcost_analysis.questions.got_shares import work_share
from support.host import SAMPLES
from support.kit.awk import every_awk, run
from support.kit.record import SHORT, TOOLS, Recorder, by_tool

BUNDLES = (
    "veth-stolen-time",
    "nic-stolen-time",
    "stolen-time-tcp.netcost.tar.zst",
    "quiet-interface.netcost.tar.zst",
)
FILES = ("stamp", "softirqs", "interrupts", "net_softnet_stat", "stat", "work")
MOST_LINES = 25


def files(bundle: Path) -> list[str]:
    names = [f"{side}/{name}" for name in FILES for side in ("before", "after")]
    of_baseline = [
        f"baseline/{side}/{one}" for one in ("stamp", "work") for side in ("before", "after")
    ]
    names += [*of_baseline, "baseline/victim.txt", "victim.txt"]
    return [name for name in names if (bundle / name).exists() and (bundle / name).stat().st_size]


def summarized(
    awk: Sequence[str], bundle: Path, monkeypatch: pytest.MonkeyPatch, polled: str = "", **of: str
) -> str:
    monkeypatch.chdir(bundle)
    return run(awk, ["summary"], [*files(bundle), *([polled] if polled else [])], **of)


def figures(text: str) -> dict[tuple[str, str], float]:
    rows = [line.split() for line in text.splitlines()]
    return {(name, of): float(value) for name, of, value in rows}


def by_package(bundle: Bundle) -> dict[tuple[str, str], float]:
    before, after = bundle.before, bundle.after
    found: dict[tuple[str, str], float] = {}
    seconds = seconds_between(before, after, "softirqs")
    grown = after.softirqs.loc["NET_RX"] - before.softirqs.loc["NET_RX"]
    found |= {("net_rx", str(cpu)): n / seconds for cpu, n in grown.items()}
    seconds = seconds_between(before, after, "net_softnet_stat")
    packets = (after.softnet_stat["processed"] - before.softnet_stat["processed"]).dropna()
    found |= {("packets", str(cpu)): n / seconds for cpu, n in packets.items()}
    seconds = seconds_between(before, after, "interrupts")
    lines = (after.interrupts - before.interrupts).dropna().sum(axis=1)
    found |= {("line", str(name)): n / seconds for name, n in lines.items()}
    work = work_share(bundle)
    if work is not None:
        found["work", "-"] = work
    return found


@every_awk
@pytest.mark.parametrize("name", BUNDLES)
def test_every_figure_is_the_packages(
    name: str, awk: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = Bundle(SAMPLES / name)
    said = figures(summarized(awk, bundle.path, monkeypatch, figures="yes"))
    expected = by_package(bundle)
    assert {key for key, value in expected.items() if not math.isnan(value)} <= said.keys()
    for key, value in expected.items():
        assert said[key] == pytest.approx(value, rel=1e-5, abs=1e-5), key
    if bundle.victim_cpu is not None:
        shares = cpu_counters(bundle).shares
        for kind in ("softirq", "irq"):
            mine = said[kind, str(bundle.victim_cpu)]
            assert mine == pytest.approx(shares[kind], abs=1e-6)
    assert not any(key[0] == "batch" for key in said)


@every_awk
def test_a_large_host_fits_into_a_ticket(
    awk: Sequence[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cpus = range(64)
    head = " ".join(f"CPU{cpu}" for cpu in cpus)
    for side, at, times in (("before", 10**9, 1), ("after", 3 * 10**9, 3)):
        folder = tmp_path / side
        folder.mkdir()
        reads = "".join(f"{name} {at} {at}\n" for name in FILES)
        (folder / "stamp").write_text(f"monotonic_ns {at}\n{reads}")
        rows = " ".join(str(1000 * times * (cpu + 1)) for cpu in cpus)
        (folder / "softirqs").write_text(f"{head}\n NET_RX: {rows}\n")
        lines = [f"{line}: {rows} PCI-MSI eth0-{line}\n" for line in range(30)]
        (folder / "interrupts").write_text(f"{head}\n{''.join(lines)}")
        ticks = [
            f"cpu{cpu} {100 * times} 0 0 {50 * times} 0 0 {10 * times} 0 0 0\n" for cpu in cpus
        ]
        (folder / "stat").write_text("".join(ticks))
    text = summarized(awk, tmp_path, monkeypatch)
    # Above it stand at most four lines, and two below.
    assert len(text.splitlines()) + 6 <= MOST_LINES
    assert "56 more CPUs" in text
    # 2,000 x 64 in 2 s, on the last CPU.
    assert re.search(r"^ +63 +64000 ", text, re.M)
    assert "58 more CPUs" in text
    assert "softirq 6.2 %" in text


@every_awk
def test_work_in_openssls_own_forms(
    awk: Sequence[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "baseline").mkdir()
    (tmp_path / "baseline" / "victim.txt").write_text(
        "+DT:aes-256-cbc:2:1024\n+R:1000:aes-256-cbc:2.0\n+DT:aes-256-cbc:2:64\n+R:4000:aes:2.0\n"
    )
    (tmp_path / "victim.txt").write_text(
        "Doing AES-256-CBC ops for 4s on 1024 size blocks: 1000 AES-256-CBC ops in 2.99s\n"
        "Doing AES-256-CBC ops for 2s on 64 size blocks: 1000 AES-256-CBC ops in 2.99s\n"
        "Doing AES-256-CBC ops for 2s on 8192 size blocks: 7 AES-256-CBC ops in 2.99s\n"
    )
    # A half and a quarter; what the baseline has not is not compared.
    assert figures(summarized(awk, tmp_path, monkeypatch, figures="yes"))["work", "-"] == 0.375


def test_work_is_unknown_without_a_baseline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "victim.txt").write_text("Doing a ops for 4s on 1 size blocks: 1 a ops in 1s\n")
    assert "work" not in summarized(["awk"], tmp_path, monkeypatch)


LOAD = "taskset -c 0 python3 -c '{}'".format(
    "import socket\n"
    "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
    's.bind(("127.0.0.1", 0)); s.connect(s.getsockname())\n'
    'while True: s.send(b"x"); s.recv(9)'
)


# Events are counted for a while, and no longer.
@pytest.mark.measures
@by_tool(*TOOLS)
def test_a_recording_ends_with_it(tool: str, tmp_path: Path, recorder: Recorder) -> None:
    # Packets by the trace alone, so that whatever perf misses is missing from both.
    options = ["--tool", tool, "--profile", "light", "--sidecars", "none", "--interval", "0"]
    speed = "openssl speed -seconds 1 -bytes 1024 -evp sha256"
    victim = ["--victim", speed, "--victim-cpu", "1", "--baseline", "--load", LOAD]
    done = recorder(*options, *victim)
    text = (tmp_path / "b" / "summary.txt").read_text()
    assert done.stdout.startswith(text)
    lines = text.splitlines()
    assert len(lines) <= MOST_LINES
    capture = open_capture(tmp_path / "b")
    assert lines[-1].startswith(f"verdict    {capture.bundle.manifest.completeness.verdict}")  # type: ignore[union-attr]
    work = work_share(capture.bundle)
    [told] = [line.split() for line in lines if line.startswith("work ")]
    assert told[1] == f"{100 * work:.1f}"
    shares = cpu_counters(capture.bundle).shares
    assert f"CPU 1*     softirq {100 * shares['softirq']:.1f} %, irq" in text
    # Mean batch of each CPU, of the whole trace.
    polls = capture.timeline().polls
    polls = polls[(polls["work"] > 0).fillna(False)]
    for cpu, own in polls.groupby("cpu")["work"]:
        row = next(line.split() for line in lines if re.match(rf"^ {{11}}{cpu} ", line))
        assert float(row[3]) == pytest.approx(own.mean(), abs=0.01)
    assert len(polls) > 100


@pytest.mark.live
def test_without_a_victim_and_without_a_trace(tmp_path: Path, recorder: Recorder) -> None:
    for name, options in (("a", SHORT), ("b", ("--profile", "none", "--sidecars", "none"))):
        recorder(*options, "--duration", "0.5", name=name)
        text = (tmp_path / name / "summary.txt").read_text()
        assert not any(line.startswith("work") for line in text.splitlines())
        assert re.search(r"^CPU \d+ +softirq", text, re.M)
        assert ("not counted" in text) == (name == "b")
