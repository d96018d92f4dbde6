# Devices of several network namespaces that have one name: a poll says the name alone.

from pathlib import Path
from typing import Any

import pytest

import netcost_analysis as netcost
from support.asked import device_cost, device_flags, device_time
from support.device_bundles import bundle, link
from support.interrupt_pairs import raised
from support.perfdata import cpu
from support.perfdata import happenings as h
from support.told import OPENSSL

VETH = {"linkinfo": {"info_kind": "veth"}}
QUEUE = "/sys/class/net/eth0/queues/rx-{}/rps_cpus 0\n"


# Polls of three instances called eth0, of 100, 200 and 300 ns, and the last of them once more.
def polled(folder: Path, *endings: str, queues: int = 1, **fields: Any) -> netcost.Timeline:
    told: list[h.Happening] = []
    for at, napi, ns in ((1000, 7, 100), (2000, 9, 200), (3000, 8, 300), (4000, 8, 300)):
        told += raised(at, at, at + ns, h.NapiPoll(at + ns, "eth0", 10, napi=napi))
    namespaces = [ending.removeprefix(".") or "." for ending in endings]
    manifest = {"netcost_bundle": 1, "trace": "trace.perf.data", "network_namespaces": namespaces}
    files: dict[str, Any] = {"manifest.json": manifest}
    for ending in endings:
        files[f"before/ip_link{ending}.json"] = [link("eth0", **fields)]
        files[f"before/settings/queues{ending}"] = "".join(map(QUEUE.format, range(queues)))
    return netcost.open_capture(bundle(folder, files, cpu(0, *told, task=OPENSSL)).path).timeline()


def said(timeline: netcost.Timeline) -> list[str]:
    return [note for note in timeline.notes if note.startswith("eth0")]


def test_where_each_has_one_queue_they_are_numbered_as_they_were_polled(tmp_path: Path) -> None:
    timeline = polled(tmp_path, "", ".blue", ".red", **VETH)
    devices = {"eth0 (1)": 100, "eth0 (2)": 200, "eth0 (3)": 600}
    for rows in (device_time(timeline), device_cost(timeline)):
        rows = rows[rows["device"].notna()]
        assert dict(zip(rows["device"], rows["poll_ns"], strict=True)) == devices
    assert timeline.polls["device"].tolist() == [*devices, "eth0 (3)"]
    [batch] = timeline.batches("polls")
    assert batch[0]["device"].tolist() == [*devices, "eth0 (3)"]
    assert said(timeline) == []
    assert "unlisted" not in set(device_flags(timeline)["flag"])


@pytest.mark.parametrize(
    ("endings", "queues", "kind", "is_said"),
    [
        # Which of four instances is whose queue nobody says, nor how many other kinds have.
        (("", ".blue"), 2, VETH, True),
        (("", ".blue"), 1, {}, True),
        # A NIC with two queues may have four instances, and a veth with two has two.
        (("",), 2, {}, False),
        (("",), 1, {}, True),
        (("",), 2, VETH, True),
        (("",), 3, VETH, False),
        (("",), 1, {"linkinfo": {"info_kind": "wireguard"}}, False),
    ],
)
def test_else_it_is_said(
    tmp_path: Path, endings: tuple[str, ...], queues: int, kind: dict[str, Any], is_said: bool
) -> None:
    timeline = polled(tmp_path, *endings, queues=queues, **kind)
    assert set(timeline.polls["device"]) == {"eth0"}
    assert bool(said(timeline)) == is_said


def test_damaged_files_take_away_the_numbers_alone(tmp_path: Path) -> None:
    timeline = polled(tmp_path, "", ".blue", **VETH)
    (tmp_path / "before/ip_link.blue.json").write_text("{")
    again = netcost.open_capture(tmp_path).timeline()
    assert (len(timeline.polls), set(again.polls["device"])) == (4, {"eth0"})
