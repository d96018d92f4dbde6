# What files, folders and namespaces are called once they are masked: in awk and in Python alike.

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from netcost_analysis import Bundle, CaptureError, mask
from netcost_analysis.cli.convert import mask as mask_command
from netcost_analysis.masking.manifests import masked_experiment, masked_steps
from netcost_analysis.masking.names import Names
from netcost_analysis.masking.texts import Texts
from support.host import ROOT, Fresh, examples, write_files
from support.kit.pack import PACK, make_bundle, masked, members
from support.kit.record import ended
from support.packed_bundles import small_trace

LIBRARY = ROOT / "capture" / "lib"
AWK = ("mask-names", "mask-addresses", "mask-paths", "mask-texts")
PART = st.sampled_from(
    [
        *("manifest.json", "files", "before", "after", "samples", "settings", "baseline", "acme"),
        *("calibration", "idle-traced", "trace.perf.data", "trace.tracefs", "trace.dat", "repeats"),
        *("acme.json", "acme.perf.data", "net_dev", "net_dev.acme", "net_dev.host", "ip_link.json"),
        *("ip_link.acme.json", "ip_link.txt", "ethtool", "ethtool.acme", "eth0", "driver", "stat"),
        *("statistics", "stamp", "cpuinfo", "steps.tsv", "experiment.json", "6.12-nic-1-flows"),
        *("bridge-wire-to1-max", "40000x4-pps-2", "7", "one.netcost.tar.zst", "server", "acme.tar"),
        *("1-pps.netcost.tar.gz", "victim.txt", "victim.acme", "iperf3.json", ".json", ".hidden"),
        *("a.b.c", "acme-1", "name1", "name1.json", "local", "uname"),
    ]
)


def in_awk(call: str, lines: list[str]) -> list[str]:
    text = "\n".join((LIBRARY / f"{name}.awk").read_text() for name in AWK)
    done = subprocess.run(
        ["awk", f"{text}\n{{ print {call} }}"],
        input="".join(f"{line}\n" for line in lines).encode(errors="surrogateescape"),
        capture_output=True,
        env={**os.environ, "LC_ALL": "C"},
        check=True,
    )
    return done.stdout.decode(errors="surrogateescape").split("\n")[:-1]


# Many to an example: each starts awk.
@examples(10)
@given(st.lists(st.lists(PART, min_size=1, max_size=5), min_size=30, max_size=80))
def test_awk_and_python_agree(parts: list[list[str]]) -> None:
    listed = ["/".join(one) for one in parts]
    paths = Texts(Names()).paths
    assert in_awk("mask_file_name($0)", listed) == [paths.masked(one) for one in listed]


def test_awk_and_python_agree_on_stamps() -> None:
    lines = ["monotonic_ns 5", "net_dev 1 2", "net_dev.acme 1 2", "ip_link.acme.json 3 4"]
    lines += ["ethtool.acme/eth0/statistics 5 6", "net_dev.host 1 2"]
    paths = Texts(Names()).paths
    assert paths.stamp("\n".join(lines)).split("\n") == in_awk("mask_stamp($0)", lines)
    assert "acme" not in paths.stamp("\n".join(lines))


def test_awk_and_python_agree_on_steps() -> None:
    rows = [
        "folder\trepeat\tload\tkernel\twhere\tto you\tcompleteness",
        "acme 1\t1\tyes\t6.1\tgreg\t1e9\tmisses 48 % of NET_RX on CPU 1",
    ]
    rows += [
        "base-2\t2\tno\t6.18.0-acme\t10.0.0.1x\t40000x4\tsaid 'x'",
        "acme 1\t-1.5\tmaybe\t\t\tnan\tcomplete",
    ]
    texts = Texts(Names())
    told = masked_steps(texts, "\n".join(rows))
    assert told.split("\n") == in_awk("mask_steps($0, NR)", rows)
    assert "greg" not in told
    masked_row = told.split("\n")[1].split("\t")
    assert masked_row[:-1] == ["name1", "1", "yes", "6.1", "(masked)", "1e9"]
    assert masked_row[-1] == rows[1].split("\t")[-1]
    text = json.dumps({"command": "/x/netcost-record --repeat 2", "experiment": "mine"})
    said = json.loads(masked_experiment(texts, text))
    assert said == {"command": "netcost-record ...", "experiment": "(masked)"}


# Nothing that netcost-record and the lab write is called anew, or nobody would find it.
def test_names_of_the_samples_stay() -> None:
    paths = Texts(Names()).paths
    samples = ROOT / "sample-data"
    listed: set[str] = set()
    for path in samples.rglob("*"):
        of, *inside = path.relative_to(samples).parts
        # What is in fleet are answers, no recording.
        if inside and of not in ("fleet", "__pycache__") and path.is_file():
            listed.add("/".join(inside))
        if path.name.endswith(".netcost.tar.zst"):
            done = subprocess.run(["tar", "-tf", path], capture_output=True, text=True, check=True)
            listed |= {line.partition("/")[2] for line in done.stdout.splitlines()}
    assert len(listed) > 500
    assert [one for one in sorted(listed) if paths.masked(one) != one] == []
    told = sorted(listed)
    assert in_awk("mask_file_name($0)", told) == told


def of_a_customer(folder: Path) -> Path:
    """A bundle whose own names, and those of files, folders and namespaces, say whose it is."""
    bundle = make_bundle(folder).rename(folder / "acme prod")
    manifest = json.loads((bundle / "manifest.json").read_text())
    manifest["network_namespaces"] = [".", "acme-web"]
    manifest["load"]["files"] = "files/"
    manifest["notes"].append("refused by this host, not recorded in acme-web: irq:x")
    write_files(
        bundle,
        {
            "manifest.json": json.dumps(manifest, indent=1),
            "before/stamp": "monotonic_ns 1\nnet_dev 1 2\nnet_dev.acme-web 1 2\n",
            "before/net_dev.acme-web": "  veth0: 1 2 3\n",
            "before/ip_link.acme-web.json": "[]\n",
            "before/ethtool.acme-web/veth0/statistics": "rx: 1\n",
            "files/acme-orders.json": "{}\n",
            "files/acme/net_dev": "@ 1 2 3\neth0: 1 2 3\n",
            "files/acme/acme.log": "hello\n",
            "acme-notes.json": "{}\n",
            "acme/secret": "x\n",
            "calibration/acme/stat": "cpu 1\n",
        },
    )
    return bundle


def listing(held: dict[str, str]) -> str:
    return "\n".join([*held, *held.values()])


def test_no_name_of_a_file_is_left(tmp_path: Path, temporary: dict[str, str]) -> None:
    bundle = of_a_customer(tmp_path)
    held, names = masked(bundle, tmp_path, temporary)
    assert "acme" not in listing(held)
    space = names["name", "acme-web"]
    assert held["before/stamp"].splitlines()[2:] == [f"net_dev.{space} 1 2"]
    assert f"before/net_dev.{space}" in held
    assert f"before/ip_link.{space}.json" in held
    assert f"before/ethtool.{space}/veth0/statistics" in held
    manifest = json.loads(held["manifest.json"])
    assert manifest["network_namespaces"] == [".", space]
    assert manifest["load"]["files"] == "files/"
    assert manifest["notes"][-1].endswith(f"not recorded in {space}: irq:x")
    told = (tmp_path / "out.netcost.tar.gz.masked.txt").read_text()
    assert "acme" not in told
    # Names of devices are not masked, and that is said.
    assert {"eth0", "veth0"} <= set(told.replace("\n", " ").split())


@pytest.mark.parametrize("words", [[], ["--name", "lab7"]])
def test_neither_the_folder_nor_the_file_carries_the_bundles_name(
    words: list[str], tmp_path: Path, temporary: dict[str, str]
) -> None:
    of_a_customer(tmp_path)
    command = [PACK, "acme prod", "--gzip", "--mask", "--trace", "omit", *words]
    done = ended(command, env=temporary, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    name = words[1] if words else "masked"
    left = {path.name for path in tmp_path.iterdir()} - {"tmp", "acme prod"}
    archive = tmp_path / f"{name}.netcost.tar.gz"
    assert left == {archive.name, f"{archive.name}.masked.txt", f"{name}.mask-map.tsv"}
    listed = subprocess.run(["tar", "-tf", archive], capture_output=True, text=True).stdout
    assert {line.partition("/")[0] for line in listed.splitlines()} == {
        words[1] if words else "bundle"
    }
    raw = subprocess.run(["gzip", "-dc", archive], capture_output=True).stdout
    assert b"acme" not in raw
    assert members(archive)


# What it says to run is run as it stands.
@pytest.mark.parametrize("trace", ["omit", "keep"])
def test_it_says_how_the_trace_is_masked(
    trace: str, tmp_path: Path, temporary: dict[str, str]
) -> None:
    bundle = of_a_customer(tmp_path)
    small_trace(bundle / "trace.perf.data")
    command = [PACK, "acme prod", "--mask", "--trace", trace, "--map", "our map's.tsv", "--gzip"]
    done = ended(command, env=temporary, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    [line] = [one for one in done.stdout.splitlines() if one.startswith("    netcost mask ")]
    netcost = tmp_path / "bin" / "netcost"
    netcost.parent.mkdir()
    netcost.write_text(f'#!/bin/sh\nexec {sys.executable} -m netcost_analysis "$@"\n')
    netcost.chmod(0o755)
    env = {**temporary, "PATH": f"{netcost.parent}:{temporary['PATH']}", "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(["sh", "-c", line], env=env, cwd=tmp_path, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
    whole = Bundle(tmp_path / "masked-with-trace.netcost.tar.gz")
    assert whole.victim_comm == "task1"
    assert whole.trace.stat().st_size > 100
    texts = Bundle(tmp_path / "masked.netcost.tar.gz")
    assert texts.text("samples/daemons") == whole.text("samples/daemons")


def test_netcost_mask_names_files_alike(tmp_path: Path, temporary: dict[str, str]) -> None:
    bundle = of_a_customer(tmp_path)
    (bundle / "trace.perf.data").unlink()
    held, names = masked(bundle, tmp_path, temporary)
    table = tmp_path / "out.mask-map.tsv"
    mask(bundle, tmp_path / "two", table)
    others = {
        path.relative_to(tmp_path / "two").as_posix(): path.read_text()
        for path in (tmp_path / "two").rglob("*")
        if path.is_file()
    }
    assert "acme" not in listing(others)
    assert set(held) >= set(others)
    for name in ("before/stamp", f"before/net_dev.{names['name', 'acme-web']}"):
        assert held[name] == others[name]
    assert "acme" not in (tmp_path / "two.masked.txt").read_text()
    # And by itself, with a new map.
    told = mask(bundle, tmp_path / "three")
    assert told.replaced["name"] >= 4
    assert any("eth0" in one and "veth0" in one for one in told.not_masked)


def test_netcost_mask_takes_any_name(fresh: Fresh, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("acme prod", "-x", "*", "a\\b", "'\"", "ä", "--map", "$(x)", "~"):
        folder = fresh()
        monkeypatch.chdir(folder)
        bundle = make_bundle(folder).rename(folder / name)
        (bundle / "trace.perf.data").unlink()
        write_files(bundle, {f"files/{name}.json": "{}"})
        words = ["--map", f"{name}.map", "--", name, f"{name}.out.tar.gz"]
        done = CliRunner().invoke(mask_command, words)
        assert (done.exit_code, done.exception) == (0, None)
        assert "files/name1.json" in members(folder / f"{name}.out.tar.gz")
        assert {path.name for path in folder.iterdir()} == {
            *(name, f"{name}.map", f"{name}.out.tar.gz", f"{name}.out.tar.gz.masked.txt")
        }


def test_netcost_mask_refuses_a_line_break(tmp_path: Path) -> None:
    bundle = make_bundle(tmp_path)
    for slot in ("in", "out", "map"):
        given = {"in": bundle, "out": tmp_path / "out", "map": tmp_path / "map"}
        given[slot] = tmp_path / "a\nb"
        with pytest.raises(CaptureError, match="line break"):
            mask(given["in"], given["out"], given["map"])
        assert [path.name for path in tmp_path.iterdir()] == ["quiet"]


# As of a device: the map would take its place.
@pytest.mark.parametrize(
    "make",
    [os.mkfifo, Path.mkdir, lambda path: path.symlink_to("kept")],
    ids=["pipe", "folder", "link"],
)
def test_netcost_mask_keeps_its_map_in_a_file(make: Callable[[Path], None], tmp_path: Path) -> None:
    bundle, table = make_bundle(tmp_path), tmp_path / "map"
    (tmp_path / "kept").write_text("")
    make(table)
    before = table.lstat()
    with pytest.raises(CaptureError, match="map is not"):
        mask(bundle, tmp_path / "out", table)
    assert table.lstat().st_mode == before.st_mode
    assert not (tmp_path / "out").exists()
