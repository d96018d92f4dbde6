# In whose time the data of packets is freed: planted frees are told by task, context and CPU.

import json
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import netcost_analysis as netcost
from support.asked import skb_frees
from support.host import require_tool
from support.kit.record import RECORD, ended, require_recorder
from support.perfdata import Recording, cpu
from support.perfdata import happenings as h
from support.perfdata.tracepoints import FORMATS, KFREE, KFREE_SKB
from support.talking import CLIENT, NET_RX, SERVER

START, END = 0xFFFFFFFF81E42890, 0xFFFFFFFF81E42A60
SYMBOLS = f"""{START - 0x10:x} T skb_before
{START:x} t skb_release_data
{END:x} T __pfx_pskb_expand_head
"""
OTHERS = (START - 1, END, 0x1000)


def opened(folder: Path, recording: Recording, symbols: str | None, **host: Any) -> netcost.Capture:
    folder.mkdir()
    recording.write(folder / "trace.perf.data")
    manifest = {"netcost_bundle": 1, "trace": "trace.perf.data", "host": host}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    if symbols is not None:
        (folder / "before" / "settings").mkdir(parents=True)
        (folder / "before" / "settings" / "symbols").write_text(symbols)
    return netcost.open_capture(folder)


# | client: 3 frees, some of others' memory, NET_RX on top with 2 | server: 4 |
def bundle(folder: Path, symbols: str | None) -> netcost.Capture:
    site = iter([START, END - 1] * 20)
    client = [
        *(h.Kfree(100 + place, next(site)) for place in range(3)),
        *(h.Kfree(200 + place, one) for place, one in enumerate(OTHERS)),
        h.BhDisable(1_000),
        h.SoftirqRaise(1_005, NET_RX),
        h.BhEnable(1_009),
        h.SoftirqEntry(1_010, NET_RX),
        *(h.Kfree(1_100 + place, next(site)) for place in range(2)),
        h.SoftirqExit(2_000, NET_RX),
        h.Switch(9_000, h.idle(0)),
    ]
    server = [
        *(h.Kfree(5_000 + place, next(site)) for place in range(4)),
        h.Switch(9_000, h.idle(1)),
    ]
    lanes = cpu(0, *client, task=CLIENT), cpu(1, *server, task=SERVER)
    taken = Recording(lanes, formats=(*FORMATS, KFREE), known=(CLIENT, SERVER))
    return opened(folder, taken, symbols)


def test_frees_are_told_by_whose_time_they_took(tmp_path: Path) -> None:
    capture = bundle(tmp_path / "b", SYMBOLS)
    found = capture.ask.processes.skb_frees()
    rows = found.frame.set_index(["comm", "context", "cpu"])
    assert rows["frees"].to_dict() == {
        ("server", "task", 1): 4,
        ("client", "task", 0): 3,
        ("client", "softirq", 0): 2,
    }
    assert rows["frees_share"].to_list() == pytest.approx([4 / 9, 3 / 9, 2 / 9])
    assert set(found.frame["side"]) == {"other"}
    # Windows that meet add up, and a CPU's is its own.
    start = capture.timeline().summary["start_ns"]
    cut = (1_101 - start) / 1e9
    parts = [capture.timeline(0.0, cut), capture.timeline(cut, None)]
    assert sum(int(skb_frees(part)["frees"].sum()) for part in parts) == 9
    assert skb_frees(capture.timeline(cpus=[1]))["frees"].to_list() == [4]


HIDDEN = re.sub(r"^\w+", "0000000000000000", SYMBOLS, flags=re.MULTILINE)


@pytest.mark.parametrize("symbols", [None, "", HIDDEN], ids=["none", "empty", "hidden"])
def test_without_addresses_it_says_what_is_missing(tmp_path: Path, symbols: str | None) -> None:
    refusal = bundle(tmp_path / "b", symbols).ask.processes.skb_frees().refusal
    assert "addresses at which" in str(refusal)


def test_what_was_recorded_and_did_not_happen_is_none(tmp_path: Path) -> None:
    lane = cpu(0, h.Switch(9_000, h.idle(0)), task=CLIENT)
    taken = Recording((lane,), formats=(*FORMATS, KFREE), known=(CLIENT,))
    taken.write(tmp_path / "perf.data")
    found = netcost.open_capture(tmp_path / "perf.data").ask.processes.skb_frees()
    assert found.refusal is None
    assert found.frame.empty
    assert found.words


# | client: NET_RX, which wakes the server and frees what it left | server: reads, frees the rest |
def talked(folder: Path, limit: int | None, left: int, dropped: int = 0) -> netcost.Capture:
    client: list[h.Happening] = []
    server: list[h.Happening] = []
    for number in range(200):
        now = 1_000_000 + 10_000 * number
        inside = [h.Kfree(now + 60, START)] if number < left else []
        lost = number < dropped
        inside += [h.KfreeSkb(now + 70, number), h.Kfree(now + 71, START)] if lost else []
        client += [
            h.BhDisable(now),
            h.SoftirqRaise(now + 5, NET_RX),
            h.BhEnable(now + 9),
            h.SoftirqEntry(now + 10, NET_RX),
            h.Waking(now + 50, SERVER, 1),
            *inside,
            h.NapiPoll(now + 90, "(no_device)", 1),
            h.SoftirqExit(now + 100, NET_RX),
        ]
        server += [h.Wakeup(now + 160, SERVER, 1), h.Switch(now + 180, SERVER)]
        server += [h.Kfree(now + 200, START)] if number >= left else []
        server += [h.Switch(now + 480, h.idle(1), 1)]
    lanes = cpu(0, *client, task=CLIENT), cpu(1, *server, task=h.idle(1))
    taken = Recording(lanes, formats=(*FORMATS, KFREE, KFREE_SKB), known=(CLIENT, SERVER))
    host = {} if limit is None else {"sysctls": {"net.core.skb_defer_max": limit}}
    return opened(folder, taken, SYMBOLS, **host)


@pytest.mark.parametrize(
    ("limit", "left", "dropped", "stuck"),
    [
        (64, 0, 0, True),
        # What is dropped in a softirq is freed there, by nobody's leave.
        (64, 0, 40, True),
        (64, 100, 0, False),
        (64, 200, 0, False),
        (1, 0, 0, False),
        (0, 0, 0, False),
        (None, 0, 0, False),
    ],
)
def test_deferral_that_is_stuck_is_said(
    limit: int | None, left: int, dropped: int, stuck: bool, tmp_path: Path
) -> None:
    found = talked(tmp_path / "b", limit, left, dropped).ask.processes.skb_frees()
    assert set(found.frame["side"]) <= {"client", "server"}
    assert found.parts["deferral_stuck"] == stuck
    assert ("not deferred" in found.words) == stuck


TALK = """python3 -c '
import socket, time
a, b = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
b.bind(("127.0.0.1", 0))
for _ in range(3000):
    a.sendto(bytes(1400), b.getsockname())
    b.recv(2000)
'"""


# perf has the symbols of the kernel that it runs on, and names the function of each call.
@pytest.mark.live
def test_perf_says_the_same_of_this_kernel(tmp_path: Path) -> None:
    require_recorder("perf")
    command = [RECORD, "-o", tmp_path / "b", "--tool", "perf", "--profile", "stolen,frees"]
    done = ended([*command, "--victim", TALK, "--duration", "20"])
    assert done.returncode == 0, done.stderr
    found = netcost.open_capture(tmp_path / "b").ask.processes.skb_frees().frame
    ours = found.groupby(["tid", "cpu"])["frees"].sum().to_dict()
    trace = tmp_path / "b" / "trace.perf.data"
    script = [require_tool("perf"), "script", "-i", trace, "-F", "tid,cpu,event,trace"]
    listed = subprocess.run(script, capture_output=True, text=True, check=True).stdout
    line = re.compile(
        r"\s*(\d+) \[(\d+)\]\s+kmem:(?:kfree|kmem_cache_free): call_site="
        r"(?:skb_release_data|skb_free_head|skb_kfree_head)\+"
    )
    theirs = Counter(
        (int(told[1]), int(told[2])) for one in listed.splitlines() if (told := line.match(one))
    )
    assert ours == theirs
    assert sum(theirs.values()) >= 3000
