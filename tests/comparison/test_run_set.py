# Run sets: runs gathered from paths, folders, experiments and tables, told apart by labels; what a
# reader calls the two sides.

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import netcost_analysis as netcost
from netcost_analysis.comparison.comparison import Comparison
from netcost_analysis.comparison.run import MOST
from netcost_analysis.errors import ArgumentError
from support.compared import recorded
from support.host import SAMPLES
from support.kept import kept_experiment
from support.run_sets import recorded as described

TRACED = SAMPLES / "local-regression-traced"


def test_a_capture_is_a_run() -> None:
    found = netcost.run_set(SAMPLES / "nic-stolen-time")
    assert [run.name for run in found] == [str(SAMPLES / "nic-stolen-time")]
    assert found.runs[0].labels["kernel"].startswith("6.12")
    assert found.runs[0].captures[0].event_count > 0


# A part of the sweep's steps.
@pytest.fixture(scope="module")
def sweep() -> Path:
    return Path(kept_experiment("datapath-sweep").path)


def test_steps_have_labels_and_figures(sweep: Path) -> None:
    found = netcost.run_set(sweep)
    assert len(found) == len((sweep / "steps.tsv").read_text().splitlines()) - 1
    assert found.labels["data_path"] == ("bridge", "xdp")
    assert "offered_pps" not in found.runs[0].figures
    assert found.runs[0].figures["sent_pps"] == pytest.approx(1_000, rel=0.15)
    chosen = found.where(data_path="xdp", destinations=2, offered_pps=[1000, "max"])
    assert chosen.labels["offered_pps"] == ("1000", "max")


def test_a_step_without_a_recording_is_no_run(sweep: Path, tmp_path: Path) -> None:
    shutil.copytree(sweep, tmp_path / "sweep")
    steps = tmp_path / "sweep" / "steps.tsv"
    head, first, *rest = steps.read_text().splitlines()
    nameless = [
        "" if name in ("bundle", "folder") else cell
        for name, cell in zip(head.split("\t"), first.split("\t"), strict=True)
    ]
    steps.write_text("\n".join([head, "\t".join(nameless), *rest]) + "\n")
    assert len(netcost.run_set(tmp_path / "sweep").recorded) == len(rest)


def test_untraced_repeats_are_runs_beside_their_recordings() -> None:
    found = netcost.run_set(TRACED)
    assert len(found.measured) == len(found.recorded) == 36
    assert {run.labels["rps"] for run in found.recorded} == {"off", "on"}
    assert set(found.labels["skb_defer_max"]) == {"0", "64", "128"}
    untraced = netcost.run_set(SAMPLES / "local-regression")
    assert len(untraced) == 720
    assert not untraced.recorded
    assert "repeat" not in untraced.labels


@pytest.mark.parametrize(
    ("labels", "wrong"),
    [
        ({"data_pth": "xdp"}, "no label 'data_pth'; there are data_path"),
        ({"data_path": "xpd"}, "no data_path 'xpd'; there are xdp"),
        ({"data_path": "xdp", "rps": "on"}, "data_path=xdp, rps=on"),
    ],
)
def test_what_no_run_has_is_said_with_what_is_near(labels: dict[str, str], wrong: str) -> None:
    rows = {"data_path": "xdp", "rps": "off"}, {"data_path": "bridge", "rps": "on"}
    runs = [netcost.Run(str(at), row) for at, row in enumerate(rows)]
    with pytest.raises(ValueError, match=wrong):
        netcost.RunSet(runs).where(**labels)


def test_a_folder_of_recordings_is_a_run_set(tmp_path: Path) -> None:
    for name in ("one.data", "two.data"):
        recorded(tmp_path / name, 1, packets=20)
    shutil.copytree(SAMPLES / "nic-stolen-time", tmp_path / "bundle")
    (tmp_path / "notes.md").write_text("no recording")
    names = [Path(run.name).name for run in netcost.run_set(tmp_path)]
    assert names == ["bundle", "one.data", "two.data"]


def test_files_of_a_rotated_recording_are_one_run(tmp_path: Path) -> None:
    folder = tmp_path / "rotated"
    folder.mkdir()
    for stamp in ("2026112303371100", "2026112303371200"):
        recorded(folder / f"perf.data.{stamp}", int(stamp[-4:]), packets=200)
    for given in ([folder], sorted(folder.iterdir())):
        found = netcost.run_set(*given)
        assert sum(capture.event_count for run in found for capture in run.captures) > 2_000
    (run,) = netcost.run_set(folder)
    assert (run.name, len(run.captures)) == (str(folder / "perf.data"), 2)
    changes = netcost.compare(folder, recorded(tmp_path / "new.data", 3)).ask.comparison.changes()
    assert changes.frame["base"].notna().all()


def test_a_table_names_runs_and_their_labels(tmp_path: Path) -> None:
    for seed, name in enumerate(("a.data", "b.data")):
        recorded(tmp_path / name, seed, packets=20)
    table = tmp_path / "runs.tsv"
    table.write_text("path\tkernel\ttransactions\na.data\tsix\t12.5\nb.data\tfive\t13\n")
    found = netcost.run_set(table)
    assert [run.labels["kernel"] for run in found] == ["six", "five"]
    assert [run.figures for run in found] == [{"transactions": 12.5}, {"transactions": 13.0}]
    for wrong in ("file\na.data\n", "path\tkernel\na.data\tsix\n\tfive\n"):
        table.write_text(wrong)
        with pytest.raises(ValueError, match=r"runs\.tsv.*column 'path'"):
            netcost.run_set(table)


def test_a_table_gives_bare_traces_what_was_kept_beside_them(tmp_path: Path) -> None:
    table = tmp_path / "runs.tsv"
    for name in ("trace.perf.data", "victim.txt"):
        (tmp_path / name).symlink_to(SAMPLES / "nic-stolen-time" / name)
    rows = ("trace.perf.data\tvictim.txt\t1", f"{SAMPLES / 'veth-stolen-time'}\t\t")
    table.write_text("\n".join(("path\tvictim_output\tvictim_cpu", *rows)) + "\n")
    bare, bundle = netcost.run_set(table)
    assert bare.labels.keys() == bundle.labels.keys() == {"kernel"}
    (capture,) = bare.captures
    assert capture.bundle is not None
    assert capture.bundle.victim is not None
    assert capture.bundle.victim.cpu == 1
    assert (bundle.captures[0].bundle or capture.bundle).path.name == "veth-stolen-time"


def test_a_side_is_one_condition(sweep: Path) -> None:
    with pytest.raises(ValueError, match=r"base .*destinations is"):
        netcost.compare(sweep, base_where={"data_path": "bridge"}, new_where={"data_path": "xdp"})


def test_sides_are_named_by_what_differs() -> None:
    sides = {"base_where": {"skb_defer_max": 0}, "new_where": {"skb_defer_max": 64}}
    found = netcost.compare(TRACED, where={"rps": "off"}, **sides)
    assert found.differs == {"skb_defer_max": ("0", "64")}
    assert found.named("new") == "skb_defer_max=64"
    assert found.ask.stolen_time.stolen().refusal is not None
    assert "changes" in repr(found.ask)


def test_repeats_with_a_trace_and_without_are_runs_of_one_condition(tmp_path: Path) -> None:
    folder = tmp_path / "regression"
    folder.mkdir()
    (folder / "experiment.json").write_text('{"netcost_experiment": 1}')
    table = "folder\tbundle\trepeat\trps\treceived_bits_per_second\n"
    for number in (1, 2):
        name = f"on-{number}"
        shutil.copytree(SAMPLES / "nic-stolen-time", folder / name)
        table += f"repeats/on/{number}\t\t{number}\ton\t{number}e9\n\t{name}\t{number}\ton\t5\n"
    (folder / "steps.tsv").write_text(table)
    found = netcost.run_set(folder)
    assert [run.name.split("/", 1)[1] for run in found.recorded] == ["on-1", "on-2"]
    assert [run.labels["repeat"] for run in found.recorded] == ["1", "2"]
    assert [run.figures for run in found.recorded] == [{"received_bits_per_second": 5.0}] * 2
    # Recording slows: what was measured without one is not mixed with what was.
    assert [run.figures["received_bits_per_second"] for run in found.measured] == [1e9, 2e9]
    assert len(found.where(repeat=2)) == 2
    alone = netcost.run_set(*found.recorded)
    assert alone.measured == alone.recorded


def named(base: list[netcost.Run], new: list[netcost.Run], **how: object) -> tuple[str, str]:
    found = Comparison(netcost.RunSet(base), netcost.RunSet(new), **how)  # type: ignore[arg-type]
    return found.named("base"), found.named("new")


def runs(*paths: str, **labels: str) -> list[netcost.Run]:
    return [netcost.Run(path, labels, {"received_bits_per_second": 1.0}) for path in paths]


LONG = "/srv/" + "a-folder-with-a-long-name/" * 4


@pytest.mark.parametrize(
    ("base", "new", "wanted"),
    [
        (runs("a", kernel="6.1"), runs("b", kernel="6.12"), ("kernel 6.1", "kernel 6.12")),
        # The conditions of an experiment come before other labels, as many as fit.
        (
            runs("a", host="one", kernel="6.1", flows="1"),
            runs("b", host="two", kernel="6.12", flows="2"),
            ("kernel 6.1, flows 1, host one", "kernel 6.12, flows 2, host two"),
        ),
        (runs("a", rps="on"), runs("b"), ("rps on", "rps unknown")),
        (runs("d/tcp-64.netcost.tar.zst"), runs("d/tcp-1024.data"), ("tcp-64", "tcp-1024")),
        (runs("before/1", "before/2"), runs("after/1", "after/2"), ("before", "after")),
        (runs(f"{LONG}old/x/1"), runs(f"{LONG}new/x/1"), ("old", "new")),
        (runs("d/6.1-1", "d/6.1-2"), runs("d/6.12-1", "d/6.12-2"), ("6.1", "6.12")),
        (runs("d/a", "d/b", "d/c"), runs("d/x", "d/y"), ("a, 2 other runs", "x, 1 other run")),
    ],
)
def test_sides_are_called_by_what_differs(
    base: list[netcost.Run], new: list[netcost.Run], wanted: tuple[str, str]
) -> None:
    found = named(base, new)
    if max(map(len, wanted)) <= MOST:
        assert found == wanted
    else:
        # Left out from the end.
        assert all(whole.startswith(short) for short, whole in zip(found, wanted, strict=True))
    assert max(map(len, found)) <= MOST


def test_a_label_comes_before_what_differs() -> None:
    sides = runs("a", kernel="6.1"), runs("b", kernel="6.12")
    assert named(*sides, label=("before\n", "after" * 20))[0] == "before "
    assert len(named(*sides, label=("x" * 90, "y" * 90))[1]) == MOST
    with pytest.raises(ArgumentError, match="names both sides"):
        named(*sides, label=("same", "same"))


def test_a_setting_tells_sides_apart(tmp_path: Path) -> None:
    sides = [
        [described(tmp_path / name, host={"sysctls": {"net.core.skb_defer_max": value}})]
        for name, value in (("a", 0), ("b", 64))
    ]
    assert named(*sides) == ("skb_defer_max=0", "skb_defer_max=64")
    labelled = runs("a", skb_defer_max="0"), runs("b", skb_defer_max="64")
    assert named(*labelled) == named(*sides)


# As netcost-record --alternate 'CMD A' 'CMD B' labels them.
@pytest.mark.parametrize(
    ("commands", "wanted"),
    [
        (("base/bench -t 3", "head/bench -t 3"), ("base/bench", "head/bench")),
        (("bench --size 1 -t 3", "bench --size 64 -t 3"), ("--size 1", "--size 64")),
        (("bench", "bench --fast"), ("side a", "side b")),
        ((None, None), ("side a", "side b")),
    ],
)
def test_alternated_commands_are_called_by_what_differs(
    tmp_path: Path, commands: tuple[str | None, ...], wanted: tuple[str, str]
) -> None:
    sides = [
        [replace(described(tmp_path / name, victim={"command": command}), labels={"side": name})]
        for name, command in zip("ab", commands, strict=True)
    ]
    assert named(*sides) == wanted


def test_a_window_is_the_runs_own(tmp_path: Path) -> None:
    run = described(tmp_path / "a")
    whole = netcost.RunSet([run]).within("trace").runs[0].timelines()[0]
    assert whole.summary["end_ns"] - whole.summary["start_ns"] > 0
    with pytest.raises(netcost.CaptureError, match="load"):
        netcost.RunSet([run]).within("load").runs[0].timelines()[0].sums()
