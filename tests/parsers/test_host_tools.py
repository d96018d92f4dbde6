# What ethtool, tc, sysctl, the kernel's configuration and netcost-record's own texts say; and that
# texts of other programs are taken apart in parsers/ alone.

import ast
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import netcost_analysis as netcost
from netcost_analysis import CaptureError
from netcost_analysis.parsers.ethtool import parse_ethtool_driver, parse_ethtool_statistics
from netcost_analysis.parsers.iproute import parse_objects, qdiscs
from netcost_analysis.parsers.preflight import parse_preflight_cost
from netcost_analysis.parsers.proc_text import parse_task_files, parse_victim_stat
from netcost_analysis.parsers.settings import parse_sysctls
from support.host import ROOT

PACKAGE = Path(netcost.__file__).parent
# What takes a text of several lines, or JSON, apart.
APART = {"splitlines", "MULTILINE", "raw_decode", "JSONDecoder"}


def test_ethtool() -> None:
    text = "NIC statistics:\n     rx0_drops: 3\n     [0]: rx: 4\n     name: many\n"
    # bnxt_en and others begin a ring's counter with its number.
    assert parse_ethtool_statistics(text) == {"rx0_drops": 3, "[0]: rx": 4}
    text = "driver: virtio_net\nversion: 1.0.0\nfirmware-version: \nbus-info: 0000:00:03.0\n"
    told = parse_ethtool_driver(text)
    assert (told["driver"], told["bus-info"]) == ("virtio_net", "0000:00:03.0")
    assert "firmware-version" not in told


def test_tc() -> None:
    assert qdiscs([{"dev": 3, "kind": "fq", "root": True}, {"dev": "a", "kind": "fq"}]) == {}
    counted = {"drops": 1, "backlog": -1, "qlen": True}
    for place in ({"root": True}, {"kind": "ingress"}):
        one = {"dev": "a", "kind": "fq", "handle": "8001:"} | counted | place
        [(key, fields)] = qdiscs([one]).items()
        assert key == ("a", one["kind"], "8001:")
        unknown = dict.fromkeys(("overlimits", "requeues", "backlog", "qlen"))
        assert fields == {"drops": 1} | unknown


@pytest.mark.parametrize("text", ["", "{", "{}", "3", "[" * 100_000])
def test_json_of_no_list_is_refused(text: str) -> None:
    with pytest.raises(CaptureError, match=r"^b/tc\.json is no "):
        parse_objects(text, "b/tc.json")
    assert parse_objects('[3, {"dev": "a"}]', "b/tc.json") == [{"dev": "a"}]


def test_sysctls_of_a_sample() -> None:
    folder = ROOT / "sample-data" / "nic-stolen-time"
    sysctls = json.loads((folder / "manifest.json").read_text())["host"]["sysctls"]
    text = "".join(f"{name} = {value}\n" for name, value in sysctls.items())
    assert parse_sysctls(text) == {name: str(value) for name, value in sysctls.items()}
    odd = "a=\tb = c \nnone\n"
    assert parse_sysctls(odd) == {"a": "b = c"}


def test_tasks_of_a_sample() -> None:
    text = "7 stat 7 (sh) S 1\n7 schedstat 500 20 3\n9 schedstat x 20 3\n11 Name:\tsh\n\n- 3\n"
    found = parse_task_files(text)
    assert found.pids == {7, 9, 11}
    assert found.run_ns == {7: 500, 9: None}
    line = f"7 (a) b) R {' '.join(map(str, range(4, 52)))}"
    stats = parse_victim_stat(f"began 5 {line}\nended 6 7 (sh) R 4\n")
    assert {when: (one.comm, one.user_ticks) for when, one in stats.items()} == {
        "began": ("a) b", 14)
    }


def test_the_cost_that_a_preflight_says() -> None:
    source = "measured here: 3 runs"
    text = f"tool  ok perf\ncost  ok  about 950 ns an event ({source})\n"
    assert parse_preflight_cost(text) == (950, source)
    assert parse_preflight_cost("cost  warn  unknown\n") is None


def _apart(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        name = getattr(node, "attr", None) or getattr(node, "id", None)
        if name in APART:
            yield f"{path.relative_to(PACKAGE)}:{node.lineno} {name}"  # type: ignore[attr-defined]


def test_texts_are_taken_apart_in_parsers_alone() -> None:
    topics = list(PACKAGE.glob("questions/*/*.py"))
    paths = [*topics, *PACKAGE.glob("capture/*.py"), *PACKAGE.glob("timeline/*.py")]
    assert [found for path in paths for found in _apart(path)] == []
    # It finds what there is.
    assert {Path(one).parts[0] for path in PACKAGE.glob("parsers/*.py") for one in _apart(path)}
    assert not [path.name for path in topics if "json.load" in path.read_text()]
