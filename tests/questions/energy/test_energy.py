# Joules and watts of drawn counters: by domain, above the idle floor, by owner, by size of I/O; and
# texts of a bundle with meters, damaged at random.

import random
from pathlib import Path
from typing import Any

import pytest

import netcost_analysis as netcost
from netcost_analysis.errors import ArgumentError
from netcost_analysis.questions.energy.power import busy_shares
from netcost_analysis.snapshots.mpstat_times import mpstat_intervals
from support.energy_bundles import (
    PACKETS,
    ROUND_NS,
    ROUNDS,
    WATTS,
    ZONES,
    S,
    energy_bundle,
    energy_experiment,
    energy_samples,
    perf_energy,
    stat_samples,
)
from support.host import SAMPLES
from support.kept import kept

BUSY_NS, NETWORK_NS = 2 * S, ROUNDS * ROUND_NS


def opened(folder: Path, files: dict[str, str | None] | None = None, **said: Any) -> Any:
    return netcost.open_capture(energy_bundle(folder, files, **said)).ask.energy


def test_without_idle_time_there_is_no_floor(tmp_path: Path) -> None:
    for number, stat in enumerate((None, stat_samples((0.06, 0.5, 0.5, 0.5)))):
        answer = opened(tmp_path / str(number), {"samples/stat": stat}).power()
        assert answer.frame[["idle_watts", "dynamic_joules"]].isna().all(axis=None)


# mpstat read other counters of the same CPUs in the same seconds.
@pytest.mark.parametrize("name", ["io-sizes/tcp-64", "io-sizes/tcp-65536", "quiet-interface"])
def test_busy_time_is_what_mpstat_says(name: str) -> None:
    bundle = netcost.open_capture(SAMPLES / f"{name}.netcost.tar.zst").bundle
    assert bundle is not None
    intervals = mpstat_intervals(bundle)
    intervals = intervals[intervals["cpu"].isna()]
    assert len(intervals) >= 3
    busy = 1 - intervals["idle_share"] - intervals["iowait_share"]
    assert busy_shares(bundle, intervals) == pytest.approx(busy.to_numpy(), abs=0.03)


def test_packages_add_up_and_sources_do_not(tmp_path: Path) -> None:
    files = {
        "samples/energy": energy_samples({**ZONES, "intel-rapl:1 package-1": WATTS}),
        "energy.jsonl": perf_energy(20.0, 20.0),
        "turbostat.txt": "PkgWatt\tRAMWatt\n15.25\t2.00\n",
    }
    answer = opened(tmp_path, files, record_command="netcost-record --interval 1").power()
    by_source = answer.frame.groupby("source")["zone"].size()
    assert by_source.to_dict() == {"powercap": 4, "turbostat": 2, "perf": 1}
    joules = answer.frame.groupby(["source", "domain"])["joules"].sum()
    assert (joules["perf", "package"], joules["turbostat", "dram"]) == (40.0, 2.0)
    package = answer["by_domain"].iloc[0]
    assert (package["source"], package["zones"], package["metered_ns"]) == ("powercap", 2, 4 * S)
    figures = package[["joules", "watts", "idle_watts"]].tolist()
    assert figures == pytest.approx([2 * sum(WATTS), 42, 20])
    late, timeless = answer.notes
    assert "2,000 ms" in late
    assert "turbostat" in timeless


# What each owner gets adds up to what there is, whoever that is.
@pytest.mark.parametrize(
    ("domain", "joules", "dynamic"), [("package", 84.0, 44.0), ("dram", 14.0, 6.0)]
)
def test_an_apportionment_adds_up(
    tmp_path: Path, domain: str, joules: float, dynamic: float
) -> None:
    answer = opened(tmp_path).energy_by_owner(domain=domain)
    sums = answer.frame[["owner_share", "owner_joules", "owner_dynamic_joules", "busy_ns"]].sum()
    assert sums.tolist() == pytest.approx([1, joules, dynamic, BUSY_NS])
    network = answer.frame[answer.frame["owner_kind"] == "network"]
    assert network["busy_ns"].sum() == NETWORK_NS
    each = 1e6 * dynamic * NETWORK_NS / BUSY_NS / (ROUNDS * PACKETS)
    assert answer["network_dynamic_uj_per_packet"] == pytest.approx(each)
    assert (answer["window_joules"], answer["metered_share"]) == pytest.approx((joules, 1))


# What of intervals lies in the window. perf says when they were to within its start, turbostat not
# at all.
def test_an_apportionment_is_of_the_window(tmp_path: Path) -> None:
    capture = netcost.open_capture(energy_bundle(tmp_path))
    # Half of the second with 10 W, all of that with 30 W, a quarter of that with 34 W.
    window = capture.timeline(start_s=1.5, end_s=3.25).ask.energy.energy_by_owner()
    assert window["window_joules"] == pytest.approx(5 + 30 + 34 / 4)
    assert window["metered_share"] == pytest.approx(1)
    none: dict[str, str | None] = {"samples/energy": None}
    perf = opened(tmp_path / "p", none | {"energy.jsonl": perf_energy(20.0, 20.0)})
    turbostat = opened(tmp_path / "t", none | {"turbostat.txt": "PkgWatt\n10.0\n30.0\n"})
    zone = {"intel-rapl:0 package-0": (30.0, 34.0)}
    half = opened(tmp_path / "h", {"samples/energy": energy_samples(zone, start_s=3)})
    for ask, source, joules in (
        (perf, "perf", 40),
        (turbostat, "turbostat", 40),
        (half, "powercap", 64),
    ):
        answer = ask.energy_by_owner()
        assert answer["source"] == source
        assert answer["window_joules"] == pytest.approx(joules)
        assert answer["metered_share"] == pytest.approx(0.5)
    assert perf.energy_by_owner()["interval_error_ns"] == pytest.approx(2 * S)
    assert turbostat.energy_by_owner()["interval_error_ns"] is None


# A package that lacks an interval is not taken for one without power.
def test_packages_that_were_not_metered_alike(tmp_path: Path) -> None:
    zones = {"intel-rapl:0 package-0": (10.0,) * 4, "intel-rapl:1 package-1": (30.0,) * 4}
    text = "".join(energy_samples(zones).splitlines(keepends=True)[:-1])
    answer = opened(tmp_path, {"samples/energy": text})
    assert answer.power()["by_domain"]["watts"].tolist() == pytest.approx([130 / 3.5])
    owners = answer.energy_by_owner()
    assert owners["window_joules"] == pytest.approx(130)
    assert owners["metered_share"] == pytest.approx(3.5 / 4)


def test_what_cannot_be_apportioned(tmp_path: Path) -> None:
    ask = opened(tmp_path / "a")
    with pytest.raises(ArgumentError, match=r"'gpu'.*package, cores, dram"):
        ask.energy_by_owner(domain="gpu")
    some = netcost.open_capture(tmp_path / "a").timeline(cpus=[0]).ask.energy.energy_by_owner()
    assert "all 2 CPUs" in str(some.refusal)
    late = {"samples/energy": energy_samples(ZONES, start_s=30)}
    assert "no energy was" in str(opened(tmp_path / "b", late).energy_by_owner().refusal)


def test_sizes_without_an_idle_step_or_a_table(tmp_path: Path) -> None:
    busy = energy_experiment(tmp_path / "a", sizes=(64, 1024)).ask.energy.energy_by_size()
    assert busy.frame["idle_watts"].isna().all()
    experiment = energy_experiment(tmp_path / "b", sizes=(0, 64))
    whole = experiment.ask.energy.energy_by_size().frame
    table = experiment.path / "steps.tsv"
    lines = table.read_text().splitlines()
    # No rate follows from a stranger's table.
    for value in ("nan", "-1", "1e400", "many", "99999999999999999999"):
        cells = [[*line.split("\t")[:3], *[value] * 3] for line in lines[1:]]
        table.write_text("\n".join([lines[0], *map("\t".join, cells)]))
        frame = netcost.open_experiment(experiment.path).ask.energy.energy_by_size().frame
        assert frame["joules_per_gb"].isna().all()
        assert frame["watts"].notna().all()
    table.write_text("".join(f"{line.partition(chr(9))[0]}\n" for line in lines))
    bare = netcost.open_experiment(experiment.path).ask.energy.energy_by_size()
    assert bare.frame["watts"].notna().all()
    assert bare.frame["joules_per_gb"].isna().all()
    assert bare["ends"].empty
    with pytest.raises(netcost.CaptureError, match="nothing to draw"):
        bare.plot()
    # netcost-record writes no trace where it was asked for none.
    table.write_text("\n".join(lines))
    for path in experiment.path.glob("*/manifest.json"):
        path.write_text(path.read_text().replace('"perf.data"', "null"))
        (path.parent / "perf.data").unlink()
    ask = netcost.open_experiment(experiment.path).ask
    assert ask.energy.energy_by_size().frame.equals(whole)
    assert len(ask.counters.counters_by_step().frame) == 4


# Samples, none of which has a meter, say the reason.
def test_energy_that_was_not_measured() -> None:
    for name, why in {
        "io-sizes/tcp-64.netcost.tar.zst": "virtual machine (kvm)",
        "veth-stolen-time": "counters were recorded",
        "veth-stolen-time/trace.perf.data": "netcost-record keeps",
    }.items():
        refusal = str(kept(name).ask.energy.power().refusal)
        assert why in refusal
        assert "\n" not in refusal


def test_hostile_counters_are_an_answer_or_a_line(tmp_path: Path) -> None:
    files = {
        "samples/energy": energy_samples({"intel-rapl:0 <b>$x_`|": WATTS}),
        "samples/stat": "@ 1 1 1\ncpu0 99999999999999999999999 0 0 1\n@ 2 2 2\ncpu0 1\n",
    }
    answer = opened(tmp_path / "a", files).power()
    assert "<b>" not in answer._repr_html_()
    assert answer.frame["idle_watts"].isna().all()
    for number, text in enumerate(("", "\x00", "@ 1 1 1\n", "@ 1 5 1\nx y 1 2\n", "{" * 5_000)):
        refused = opened(tmp_path / f"b{number}", {"samples/energy": text}).power().refusal
        assert "not measured" in str(refused)


def test_pictures_show_what_the_table_says(tmp_path: Path) -> None:
    ask = opened(tmp_path / "a")
    lines = [line for line in ask.power().plot().get_lines() if line.get_label()[0] != "_"]
    assert [line.get_label() for line in lines] == ["package", "cores", "dram"]
    assert max(lines[0].get_ydata()) == pytest.approx(max(WATTS))
    bars = [bar.get_width() for bar in ask.energy_by_owner().plot().patches]
    assert sum(bars) == pytest.approx(44.0)
    answer = energy_experiment(tmp_path / "b").ask.energy.energy_by_size()
    for axes in (answer.plot(), answer.plot_packets()):
        drawn = axes.get_lines()[0]
        assert list(drawn.get_xdata()) == [64, 1024, 65536]
        assert list(drawn.get_ydata()) == pytest.approx([200, 75, 25])


# Beside the drawn ones, those of the other two sources.
FILES: dict[str, str | None] = {
    "energy.jsonl": perf_energy(20.0, 20.0, 20.0, 20.0),
    "turbostat.txt": "Busy%\tPkgWatt\tRAMWatt\n1.0\t15.25\t2.00\n1.0\t15.25\t2.00\n",
}
DAMAGED = (
    *("counters.jsonl", "energy.jsonl", "turbostat.txt", "manifest.json", "before/stat"),
    *("samples/energy", "samples/stat", "samples/softnet_stat"),
)
TOKENS = (
    *("-1", "nan", "1e999", "18446744073709551615", "9" * 30, "", ";", ",", "\x00", "\n", "\x1b"),
    *("@ 1 1 1\n", "@ 2 5 4", "null", "{}", "0", "<not counted>", "é", "1e-320"),
)


def damage(text: str, draw: random.Random) -> str:
    letters = list(text)
    for _ in range(draw.choice((1, 2, 5))):
        at = draw.randrange(len(letters))
        letters[at : at + draw.choice((0, 1, 3, 8, 40, 400))] = draw.choice(TOKENS) or "x"
    return "".join(letters) * draw.choice((1, 1, 1, 2))


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 20))]
)
def test_damaged_texts_are_an_answer_or_a_line(tmp_path: Path, seed: int) -> None:
    folder = energy_bundle(tmp_path, FILES)
    draw, answered, refused = random.Random(seed), 0, []
    for name in DAMAGED * 2:
        whole = (folder / name).read_text()
        (folder / name).write_text(damage(whole, draw))
        for question in ("power", "energy_by_owner", "cpu_counters"):
            try:
                answer = netcost.open_capture(folder).ask(question)
            except netcost.CaptureError as error:
                assert name == "manifest.json"
                refused.append(str(error))
                continue
            answered += answer.refusal is None
            assert answer._repr_html_()
            assert all(isinstance(note, str) for note in answer.notes)
        (folder / name).write_text(whole)
    assert not [line for line in refused if "\n" in line]
    # Most damage is to lines that can be left out.
    assert answered > 24
