# An experiment in one file: packed, masked by one map, opened as it is, and refused where a bundle
# would be.

import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import netcost_analysis as netcost
from netcost_analysis import Bundle, CaptureError, mask, open_capture, open_experiment
from netcost_analysis.capture import checksum
from netcost_analysis.capture.packed import is_packed_experiment
from netcost_analysis.opening.experiment import is_experiment
from netcost_analysis.questions.accounting import hidden_cost
from support import packed_bundles as p
from support.host import SAMPLES
from support.kit.pack import PACK, SECRETS, make_bundle, make_experiment, members, snapshot
from support.kit.record import ended
from support.packed_bundles import REFUSED
from support.run_cli import Netcost


# Two bundles that can be opened, in a folder of the lab's.
def experiment(folder: Path, *names: str) -> Path:
    made = make_experiment(folder, names or ("acme 1", "base-1"))
    for path in made.iterdir():
        if path.is_dir():
            p.small_trace(path / "trace.perf.data")
    return made


def packed(folder: Path, env: dict[str, str], *words: str) -> Path:
    archive = folder.with_name("out.netcost.tar.gz")
    done = ended([PACK, folder, "-o", archive, *words], env=env)
    assert (done.returncode, done.stderr) == (0, "")
    return archive


def test_all_of_it_is_in_one_file(
    tmp_path: Path, unpacking: Path, temporary: dict[str, str], netcost: Netcost
) -> None:
    folder = experiment(tmp_path / "e")
    archive = packed(folder, temporary)
    held = members(archive, "experiment.json")
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert held == {str(path.relative_to(folder)): path.read_bytes() for path in files}
    assert is_packed_experiment(archive)
    assert is_experiment(archive)
    plain, series = open_experiment(folder), open_experiment(archive)
    assert series.experiment == plain.experiment
    assert series.steps.equals(plain.steps)
    one, other = (opened.capture("acme 1").timeline().sums() for opened in (plain, series))
    assert one.equals(other)
    # As long as it is in use.
    assert len(list(unpacking.iterdir())) == 1
    del series
    assert list(unpacking.iterdir()) == []

    told = netcost("info", str(archive), "--json").json
    assert told["experiment"] == "repeat"
    assert [one["name"] for one in told["steps"]] == ["acme 1", "base-1"]
    shown = netcost("info", str(archive))
    assert shown.code == 0
    assert sum("trace.perf.data" in line for line in shown.out.splitlines()) == 2
    assert netcost("info", str(folder)).out == shown.out.replace(str(archive), str(folder))


def test_as_a_recording_it_says_how_it_is_opened(
    tmp_path: Path, temporary: dict[str, str], netcost: Netcost
) -> None:
    folder = experiment(tmp_path / "e")
    for path in (folder, packed(folder, temporary)):
        for words in (["stolen"], ["ledger"], ["ask", "handovers"], ["report", "-o", "x.html"]):
            done = netcost(*words, str(path))
            assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
            assert "experiment" in done.err
        for opened in (open_capture, Bundle) if path.is_file() else (open_capture,):
            with pytest.raises(CaptureError, match=r"open_experiment\(PATH\) .* PATH$"):
                opened(path)
    # Nor is a bundle an experiment.
    whole = make_bundle(tmp_path)
    (tmp_path / "out.netcost.tar.gz").unlink()
    for path in (whole, packed(whole, temporary)):
        assert not is_experiment(path)
        with pytest.raises(CaptureError, match="not an experiment"):
            open_experiment(path)


def test_one_map_masks_it_on_the_host(
    tmp_path: Path, unpacking: Path, temporary: dict[str, str]
) -> None:
    folder = experiment(tmp_path / "acme e")
    archive = packed(folder, temporary, "--mask", "--trace", "omit")
    held = {name: data.decode() for name, data in members(archive, "experiment.json").items()}
    everything = "\n".join([*held, *held.values()])
    assert [one for one in (*SECRETS, "acme") if one in everything] == []
    raw = subprocess.run(["gzip", "-dc", archive], capture_output=True).stdout
    assert b"acme" not in raw
    lines = [line.split("\t") for line in (tmp_path / "out.mask-map.tsv").read_text().splitlines()]
    names = {one: other for kind, one, other in lines if kind == "name"}
    series = open_experiment(archive)
    assert list(series.steps["folder"]) == [names["acme 1"], "base-1"]
    assert list(series.steps["where"]) == ["(masked)"] * 2
    assert series.experiment.command == "netcost-record ..."
    assert series.experiment.experiment == "repeat"
    # One task is one task, in all of them.
    bundles = [series.bundle(name) for name in series.steps["folder"]]
    assert len({bundle.victim_comm for bundle in bundles}) == 1
    assert len({bundle.text("pidstat.txt") for bundle in bundles}) == 1


@pytest.mark.parametrize(
    ("source", "out"),
    [
        ("folder", "out.netcost.tar.zst"),
        ("packed", "out"),
        ("bundles packed", "out.netcost.tar.gz"),
    ],
)
def test_netcost_mask_takes_it(
    source: str, out: str, tmp_path: Path, temporary: dict[str, str], netcost: Netcost
) -> None:
    given = folder = experiment(tmp_path / "acme e")
    if source == "packed":
        given = packed(folder, temporary)
    elif source == "bundles packed":
        for path in [one for one in folder.iterdir() if one.is_dir()]:
            assert ended([PACK, path], env=temporary).returncode == 0
            shutil.rmtree(path)
    target = tmp_path / out
    done = netcost("mask", str(given), str(target), "--map", str(tmp_path / "map"))
    assert (done.code, done.err) == (0, "")
    series, plain = open_experiment(target), open_experiment(folder)
    new, old = (list(one.steps["folder"]) for one in (series, plain))
    assert (new[1], new[0] != old[0]) == ("base-1", True)
    assert (
        series.capture(new[0])
        .timeline()
        .sums()["ns"]
        .equals(plain.capture(old[0]).timeline().sums()["ns"])
    )
    assert series.bundle(new[0]).victim_comm == series.bundle(new[1]).victim_comm
    everything = "\n".join(_texts(target, tmp_path / "flat"))
    assert [one for one in (*SECRETS, "acme") if one in everything] == []
    if target.is_file():
        first = list(members(target, "experiment.json"))
        assert first[0] == "experiment.json"


def _texts(path: Path, flat: Path) -> list[str]:
    """Names and texts of all that is in it, whatever is packed."""
    if path.is_dir():
        found = []
        for one in path.rglob("*"):
            found += [str(one.relative_to(path)), *_texts(one, flat / one.name)] * one.is_file()
        return found
    if path.name.endswith((".tar.zst", ".tar.gz")):
        flat.mkdir(parents=True)
        subprocess.run(["tar", "-xf", path, "-C", flat], check=True)
        return _texts(flat, flat / "inner")
    return [path.read_bytes().decode("latin1")]


# Each is refused of a bundle too: here some that its folder of bundles could change.
@pytest.mark.parametrize(
    "name", ["climbs", "link inside", "changed", "missing", "extra", "no sums"]
)
def test_what_is_refused_of_a_bundle(
    name: str, tmp_path: Path, unpacking: Path, netcost: Netcost
) -> None:
    change, says = REFUSED[name]
    files = {"experiment.json": b'{"netcost_experiment": 1}', "steps.tsv": b"folder\n1\n"}
    files |= {f"1/{inside}": data for inside, data in p.bundle_files(tmp_path).items()}
    sound = tmp_path / "sound.tar"
    sound.write_bytes(p.tar(p.members(files)))
    assert open_experiment(sound).steps["folder"].tolist() == [1]
    path = tmp_path / "b.netcost.tar.zst"
    path.write_bytes(p.packed(p.tar(change(p.members(files))), "zstd"))
    before = snapshot(tmp_path)
    with pytest.raises((CaptureError, OSError)) as caught:
        open_experiment(path)
    assert re.search(says.replace("'victim", "'1/victim"), str(caught.value)), caught.value
    run = netcost("info", str(path))
    assert (run.code, run.err.count("\n")) == (1, 1)
    assert snapshot(tmp_path) == before
    assert list(unpacking.iterdir()) == []


def test_a_packed_bundle_in_it_is_said_to_stay_names_and_all(
    tmp_path: Path, temporary: dict[str, str]
) -> None:
    folder = experiment(tmp_path / "e", "one")
    assert ended([PACK, folder / "one"], env=temporary).returncode == 0
    before = snapshot(tmp_path)
    for words in (["--mask", "--trace", "keep"], ["--trace", "omit"]):
        done = ended([PACK, folder, *words], env=temporary)
        assert (done.returncode, done.stderr.count("\n")) == (1, 1)
        assert "one.netcost.tar.zst" in done.stderr
        assert f"netcost mask {folder} masked.netcost.tar.zst" in done.stderr
    assert snapshot(tmp_path) == before


# What the lab recorded: the price of an interrupt is the same out of one file, masked or not.
@pytest.mark.slow
def test_a_sample_answers_the_same(tmp_path: Path, temporary: dict[str, str]) -> None:
    whole = tmp_path / "h.netcost.tar.gz"
    done = ended([PACK, SAMPLES / "hidden-cost", "-o", whole], env=temporary)
    assert done.returncode == 0, done.stderr
    mask(SAMPLES / "hidden-cost", tmp_path / "masked.netcost.tar.zst")
    runs = [
        hidden_cost(open_experiment(path))["runs"].select_dtypes("number")
        for path in (SAMPLES / "hidden-cost", whole, tmp_path / "masked.netcost.tar.zst")
    ]
    assert runs[0].equals(runs[1])
    assert runs[0].equals(runs[2])


def test_the_table_of_a_packed_one_is_not_read_from_outside(tmp_path: Path) -> None:
    told = {"netcost_experiment": 1, "table": "../../../../etc/passwd"}
    files = {"experiment.json": json.dumps(told).encode()}
    path = tmp_path / "b.tar"
    path.write_bytes(p.tar(p.members(files)))
    with pytest.raises(CaptureError, match="outside the experiment"):
        _ = open_experiment(path).steps


# Checksums that are computed ahead are those of the file.


TRACE = SAMPLES / "nic-stolen-time" / "trace.perf.data"


def test_begun_or_not_it_is_the_file_s(tmp_path: Path) -> None:
    expected = hashlib.sha256(TRACE.read_bytes()).hexdigest()
    plain, begun = netcost.open_capture(TRACE), netcost.open_capture(TRACE)
    checksum.begin(begun)
    assert checksum.checksum(begun) == checksum.checksum(plain) == expected
    copy = tmp_path / "copy.perf.data"
    copy.write_bytes(TRACE.read_bytes())
    gone = netcost.open_capture(copy)
    copy.unlink()
    checksum.begin(gone)
    assert checksum.checksum(gone) is None
