# Joules and watts of drawn counters: by domain, above the idle floor, by owner, by size of I/O.

from pathlib import Path
from typing import Any

import pytest

import netcost_analysis as netcost
from netcost_analysis.errors import ArgumentError
from netcost_analysis.questions.energy.metered import busy_shares
from netcost_analysis.snapshots.mpstat_times import mpstat_intervals
from support.energy_bundles import (
    PACKETS,
    ROUND_NS,
    ROUNDS,
    WATTS,
    ZONES,
    S,
    counted,
    energy_bundle,
    energy_experiment,
    energy_samples,
    stat_samples,
)
from support.host import ROOT
from support.kept import kept, kept_experiment

BUSY_NS = 2 * S
NETWORK_NS = ROUNDS * ROUND_NS


def opened(folder: Path, files: dict[str, str | None] | None = None, **said: Any) -> Any:
    return netcost.open_capture(energy_bundle(folder, files, **said)).ask.energy


def perf(*joules: float, event: str = "power/energy-pkg/") -> str:
    # Of all CPUs together: no cpu.
    lines = [counted({0: {event: one}}, 1).replace('"cpu": "0", ', "") for one in joules]
    texts = [line.replace("1.0,", f"{n}.0,", 1) for n, line in enumerate(lines, 1)]
    return "".join(texts).replace('"unit": ""', '"unit": "Joules"')


# Two seconds idle at 10 W, then 30 and 34 W at half the CPUs' time.
def test_energy_and_its_idle_floor(tmp_path: Path) -> None:
    answer = opened(tmp_path).power()
    package, cores, dram = answer.frame.to_dict("records")
    assert package["joules"] == pytest.approx(sum(WATTS))
    assert package["watts"] == pytest.approx(21.0)
    assert (package["idle_watts"], package["idle_intervals"]) == (pytest.approx(10.0), 2)
    assert package["dynamic_watts"] == pytest.approx(11.0)
    assert package["dynamic_joules"] == pytest.approx(44.0)
    assert (cores["zone"], cores["joules"]) == ("package-0 core", pytest.approx(42.0))
    assert dram["dynamic_joules"] == pytest.approx(6.0)
    over_time = answer.tables["over_time"]
    assert over_time.loc[over_time["zone"] == "package-0", "watts"].tolist() == pytest.approx(WATTS)
    assert answer.notes == ()


def test_without_idle_time_there_is_no_floor(tmp_path: Path) -> None:
    for number, stat in enumerate((None, stat_samples((0.06, 0.5, 0.5, 0.5)))):
        answer = opened(tmp_path / str(number), {"samples/stat": stat}).power()
        assert answer.frame["idle_watts"].isna().all()
        assert answer.frame["dynamic_joules"].isna().all()


# mpstat saw the same CPUs in the same seconds, by counters of its own reading.
@pytest.mark.parametrize("name", ["io-sizes/tcp-64", "io-sizes/tcp-65536", "quiet-interface"])
def test_busy_time_is_what_mpstat_says(name: str) -> None:
    bundle = netcost.open_capture(ROOT / f"sample-data/{name}.netcost.tar.zst").bundle
    assert bundle is not None
    told = mpstat_intervals(bundle)
    told = told[told["cpu"].isna()]
    assert len(told) >= 3
    busy = 1 - told["idle_share"] - told["iowait_share"]
    assert busy_shares(bundle, told) == pytest.approx(busy.to_numpy(), abs=0.03)


def test_packages_add_up_and_sources_do_not(tmp_path: Path) -> None:
    zones = {**ZONES, "intel-rapl:1 package-1": WATTS}
    files = {
        "samples/energy": energy_samples(zones),
        "energy.jsonl": perf(20.0, 20.0),
        "turbostat.txt": "PkgWatt\tRAMWatt\n15.25\t2.00\n",
    }
    answer = opened(tmp_path, files, record_command="netcost-record --interval 1").power()
    assert answer.frame["source"].value_counts().to_dict() == {
        "powercap": 4,
        "turbostat": 2,
        "perf": 1,
    }
    [package, *_] = answer["by_domain"].to_dict("records")
    assert (package["source"], package["zones"]) == ("powercap", 2)
    assert package["joules"] == pytest.approx(2 * sum(WATTS))
    assert package["watts"] == pytest.approx(42.0)
    assert package["idle_watts"] == pytest.approx(20.0)
    assert package["metered_ns"] == 4 * S
    late, timeless = answer.notes
    assert "2,000 ms" in late
    assert "turbostat" in timeless
    by_source = answer.frame.set_index(["source", "domain"])["joules"]
    assert by_source["perf", "package"] == 40.0
    assert by_source["turbostat", "dram"] == 2.0


# What each owner gets adds up to what there is, whoever that is.
def test_an_apportionment_adds_up(tmp_path: Path) -> None:
    ask = opened(tmp_path)
    for domain, joules, dynamic in (("package", 84.0, 44.0), ("dram", 14.0, 6.0)):
        answer = ask.energy_by_owner(domain=domain)
        frame = answer.frame.set_index("owner_kind")
        assert frame["owner_share"].sum() == pytest.approx(1)
        assert frame["owner_joules"].sum() == pytest.approx(joules)
        assert frame["owner_dynamic_joules"].sum() == pytest.approx(dynamic)
        assert frame["busy_ns"].sum() == BUSY_NS
        network = frame[frame.index == "network"]
        assert network["busy_ns"].sum() == NETWORK_NS
        each = 1e6 * dynamic * NETWORK_NS / BUSY_NS / (ROUNDS * PACKETS)
        assert answer["network_dynamic_uj_per_packet"] == pytest.approx(each)
        assert answer["metered_share"] == 1.0
        assert answer["window_joules"] == pytest.approx(joules)


def test_of_an_interval_counts_what_lies_in_the_window(tmp_path: Path) -> None:
    capture = netcost.open_capture(energy_bundle(tmp_path))
    # Half of the second with 10 W, all of that with 30 W, a quarter of that with 34 W.
    window = capture.timeline(start_s=1.5, end_s=3.25).ask.energy.energy_by_owner()
    assert window["window_joules"] == pytest.approx(5 + 30 + 34 / 4)
    assert window["metered_share"] == pytest.approx(1)


# perf says when its intervals were to within its start, turbostat not at all.
def test_an_apportionment_says_whose_times_it_goes_by(tmp_path: Path) -> None:
    for source, name, text, error_ns in (
        ("perf", "energy.jsonl", perf(20.0, 20.0), 2 * S),
        ("turbostat", "turbostat.txt", "PkgWatt\n10.0\n30.0\n", None),
    ):
        answer = opened(tmp_path / source, {"samples/energy": None, name: text}).energy_by_owner()
        assert answer["window_joules"] == pytest.approx(40)
        assert answer["metered_share"] == pytest.approx(0.5)
        assert answer["source"] == source
        if error_ns:
            assert answer["interval_error_ns"] == pytest.approx(error_ns)


# A package of which an interval is left out is not taken for one without power.
def test_packages_that_were_not_metered_alike(tmp_path: Path) -> None:
    zones = {"intel-rapl:0 package-0": (10.0,) * 4, "intel-rapl:1 package-1": (30.0,) * 4}
    lines = energy_samples(zones).splitlines(keepends=True)
    text = "".join(line for line in lines[:-1])
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
    refusal = opened(tmp_path / "b", late).energy_by_owner().refusal
    assert "no energy was" in str(refusal)
    half = {"samples/energy": energy_samples({"intel-rapl:0 package-0": (30.0, 34.0)}, start_s=3)}
    answer = opened(tmp_path / "c", half).energy_by_owner()
    assert answer["metered_share"] == pytest.approx(0.5)


def test_energy_over_sizes(tmp_path: Path) -> None:
    answer = energy_experiment(tmp_path).ask.energy.energy_by_size()
    package = answer.frame[answer.frame["domain"] == "package"].set_index("io_bytes")
    # 40, 30 and 20 W at 0.2, 0.4 and 0.8 GB/s, in packets of 1,000 bytes; idle 8 W.
    assert package["joules_per_gb"].tolist()[1:] == pytest.approx([200, 75, 25])
    assert package["dynamic_joules_per_gb"].tolist()[1:] == pytest.approx([160, 55, 15])
    assert package["uj_per_packet"].tolist()[1:] == pytest.approx([200, 75, 25])
    assert package["joules"].tolist() == pytest.approx([24, 120, 90, 60])
    assert set(package["metered_ns"]) == {3 * S}
    # Nothing was moved in the idle step.
    assert package["joules_per_gb"].isna().tolist() == [True, False, False, False]
    assert set(package["idle_steps"]) == {"0"}
    ends = answer["ends"].set_index("domain")
    assert (ends["least_step"]["package"], ends["most_step"]["package"]) == ("65536", "64")
    assert package["idle_watts"].tolist() == pytest.approx([8] * 4)


def test_sizes_without_an_idle_step_or_a_table(tmp_path: Path) -> None:
    busy = energy_experiment(tmp_path / "a", sizes=(64, 1024)).ask.energy.energy_by_size()
    assert busy.frame["idle_watts"].isna().all()
    experiment = energy_experiment(tmp_path / "b")
    table = experiment.path / "steps.tsv"
    bundles = [line.partition("\t")[0] for line in table.read_text().splitlines()]
    table.write_text("\n".join(bundles) + "\n")
    bare = netcost.open_experiment(experiment.path).ask.energy.energy_by_size()
    assert bare.frame["watts"].notna().all()
    assert bare.frame["joules_per_gb"].isna().all()
    assert bare["ends"].empty
    with pytest.raises(netcost.CaptureError, match="nothing to draw"):
        bare.plot()


# netcost-record writes no trace where it was asked for none.
def test_steps_without_a_trace(tmp_path: Path) -> None:
    whole = energy_experiment(tmp_path).ask.energy.energy_by_size().frame
    for path in tmp_path.glob("*/manifest.json"):
        path.write_text(path.read_text().replace('"perf.data"', "null"))
        (path.parent / "perf.data").unlink()
    ask = netcost.open_experiment(tmp_path).ask
    assert ask.energy.energy_by_size().frame.equals(whole)
    assert len(ask.counters.counters_by_step().frame) == 8


def test_a_strangers_table_is_no_rate(tmp_path: Path) -> None:
    experiment = energy_experiment(tmp_path, sizes=(64,))
    table = experiment.path / "steps.tsv"
    head, row = table.read_text().splitlines()
    for value in ("nan", "-1", "1e400", "many", "", "99999999999999999999"):
        table.write_text(f"{head}\n" + "\t".join([*row.split("\t")[:3], *[value] * 3]))
        frame = netcost.open_experiment(experiment.path).ask.energy.energy_by_size().frame
        assert frame["joules_per_gb"].isna().all()
        assert frame["watts"].notna().all()


# Of samples, none of which has a meter, with the reason.
def test_energy_that_was_not_measured() -> None:
    for name, why in {
        "io-sizes/tcp-64.netcost.tar.zst": "virtual machine (kvm)",
        "veth-stolen-time": "counters were recorded",
    }.items():
        ask = kept(name).ask
        refusal = str(ask.energy.power().refusal)
        assert why in refusal
        assert "--profile light,energy" in refusal
        assert refusal.count("\n") == 0
        assert ask.table.set_index("question")["missing"]["power"] == "files"
    assert "this host" in str(kept_experiment("io-sizes").ask.energy.energy_by_size().refusal)
    bare = netcost.open_capture(ROOT / "sample-data/veth-stolen-time/trace.perf.data")
    assert "netcost-record keeps" in str(bare.ask.energy.power().refusal)


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
    lines = ask.power().plot().get_lines()
    assert [line.get_label() for line in lines if not str(line.get_label()).startswith("_")] == [
        *("package", "cores", "dram")
    ]
    assert max(lines[0].get_ydata()) == pytest.approx(max(WATTS))
    bars = [bar.get_width() for bar in ask.energy_by_owner().plot().patches]
    assert sum(bars) == pytest.approx(44.0)
    answer = energy_experiment(tmp_path / "b").ask.energy.energy_by_size()
    for axes in (answer.plot(), answer.plot_packets()):
        drawn = axes.get_lines()[0]
        assert list(drawn.get_xdata()) == [64, 1024, 65536]
        assert list(drawn.get_ydata()) == pytest.approx([200, 75, 25])
