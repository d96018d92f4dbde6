# netcost view: what it serves, writes and prints, and how it ends.

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from netcost_analysis.plots.palette import KIND
from support.host import SAMPLES
from support.perfdata import cpu, recording
from support.perfdata import happenings as h
from support.run_cli import Netcost
from support.texts import HOSTILE
from support.told import OPENSSL

S = 1_000_000_000
SAMPLE = str(SAMPLES / "nic-stolen-time")


# In the background of a shell SIGINT would be ignored, as it should be.
def heard() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_serves_until_it_is_ended(end: signal.Signals, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "netcost_analysis", "view", SAMPLE, "--no-browser"]
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        preexec_fn=heard,
    ) as served:
        assert served.stdout is not None
        address = urlsplit(served.stdout.readline().split()[0])
        assert address.hostname == "127.0.0.1"
        # A browser keeps its connection.
        connection = http.client.HTTPConnection("127.0.0.1", address.port, timeout=30)
        connection.request("GET", address.path)
        answer = connection.getresponse()
        assert answer.status == 200
        assert b"export function mount" in answer.read()
        served.send_signal(end)
        _, said = served.communicate()
    assert served.returncode == (0 if end == signal.SIGINT else 128 + end)
    assert said == ""
    connection.close()
    with pytest.raises(ConnectionRefusedError):
        http.client.HTTPConnection("127.0.0.1", address.port, timeout=5).connect()
    assert list(tmp_path.iterdir()) == []


def test_writes_a_page_of_its_window(netcost: Netcost, tmp_path: Path) -> None:
    page = tmp_path / "x.html"
    run = netcost(
        *("view", SAMPLE, "--start", "3.5", "--end", "3.7", "--cpu", "0", "-o", str(page))
    )
    assert (run.code, run.out) == (0, f"timeline in {page}\n")
    assert page.stat().st_size < 5_000_000
    data = page.read_text().split('id="data">')[1].split("</script>")[0]
    header = json.loads(data)["header"]
    assert (header["duration_ns"], header["cpus"]) == (200_000_000, [0])


def test_what_does_not_go_together_is_refused(netcost: Netcost) -> None:
    for words in (
        ("-o", "x.html", "--text"),
        ("-o", "x.html", "--port", "0"),
        ("--text", "--no-browser"),
        ("--width", "80"),
    ):
        run = netcost("view", SAMPLE, *words)
        assert (run.code, run.out) == (2, "")


def test_a_port_that_is_taken_is_said_in_a_line(netcost: Netcost) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        run = netcost("view", SAMPLE, "--port", str(port), "--no-browser")
    assert (run.code, run.err.count("\n")) == (1, 1)
    assert run.err.startswith("netcost: ")
    assert str(port) in run.err


def test_a_browser_that_stays_gets_the_page(tmp_path: Path) -> None:
    # One that Python waits for: it has to be answered meanwhile.
    browser, got = tmp_path / "browser", tmp_path / "got"
    browser.write_text(
        f"#!{sys.executable}\n"
        "import sys, urllib.request\n"
        "with urllib.request.urlopen(sys.argv[1], timeout=30) as page:\n"
        f"    open({str(got)!r}, 'w').write(sys.argv[1] + ' ' + page.url)\n"
        "sys.stdin.read()\n"
    )
    browser.chmod(0o755)
    environment = os.environ | {"DISPLAY": ":99", "BROWSER": f"{browser} %s"}
    with subprocess.Popen(
        [sys.executable, "-m", "netcost_analysis", "view", SAMPLE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        preexec_fn=heard,
    ) as run:
        assert run.stdout is not None
        address = run.stdout.readline().split()[0]
        until = time.monotonic() + 60
        while not (got.exists() and got.read_text()):
            assert time.monotonic() < until
            time.sleep(0.02)
        run.send_signal(signal.SIGINT)
        _, said = run.communicate()
    assert (run.returncode, said) == (0, "")
    started, reached = got.read_text().split()
    # All users of a host see with what a program is started.
    assert urlsplit(address).path not in started
    assert reached == address


def test_a_terminal_gets_colours(netcost: Netcost, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = netcost("view", SAMPLE, "--text", "--width", "80", "--cpu", "0")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.delenv("NO_COLOR", raising=False)
    with monkeypatch.context() as only:
        only.setattr("sys.stdout.isatty", lambda: True)
        coloured = netcost("view", SAMPLE, "--text", "--cpu", "0")
    red, green, blue = (int(KIND["poll"][at : at + 2], 16) for at in (1, 3, 5))
    assert f"\x1b[38;2;{red};{green};{blue}m" in coloured.out
    without = re.sub(r"\x1b\[[\d;]*m", "", coloured.out)
    lanes = [line.rstrip() for line in plain.out.splitlines() if line[24:25] in "▁▂▃▄▅▆▇█ "]
    assert [line for line in lanes if "█" in line or "▁" in line]
    for line in lanes:
        if "█" in line or "▁" in line:
            assert line in [one.rstrip() for one in without.splitlines()]


def test_a_name_steers_no_terminal(tmp_path: Path, netcost: Netcost) -> None:
    for name in HOSTILE:
        told = recording(cpu(0, h.Switch(S, OPENSSL), h.Switch(S + 9_000, h.Task(7, name[:15]))))
        run = netcost("view", str(told.write(tmp_path / "perf.data")), "--text")
        assert run.code == 0, run.err
        assert "\x1b" not in run.out
