# Energy by domain: powercap's counters with their wrap, perf's joules, turbostat's watts.

import json
from pathlib import Path

import pytest

import netcost_analysis as netcost
from netcost_analysis.capture.bundle import Bundle
from netcost_analysis.snapshots.energy import energy, parse_turbostat
from support.device_bundles import bundle as written

S = 1_000_000_000
# Of a counter of 32 bits in units of 61 µJ: what max_energy_range_uj says of many processors.
RANGE_UJ = 262_143_328_850


def bundle(folder: Path, samples: str = "", **files: str) -> Bundle:
    # energy_jsonl, turbostat_txt: what perf and turbostat wrote from 5 s to 9 s.
    names = {name: name.replace("_", ".") for name in files}
    companions = [
        {"name": name.partition("_")[0], "output": file, "start_ns": 5 * S, "end_ns": 9 * S}
        for name, file in names.items()
    ]
    manifest = {"netcost_bundle": 1, "companions": companions}
    texts = {file: files[name] for name, file in names.items()}
    return written(folder, {"manifest.json": manifest, "samples/energy": samples, **texts})


# read_energy() of capture/lib/sample.sh: a line per zone with its name, counter and range.
def copies(*readings: tuple[int, dict[str, tuple[str, int]]], most: int = RANGE_UJ) -> str:
    return "".join(
        f"@ {number} {at} {at + 2_000_000}\n"
        + "".join(f"{zone} {name} {value} {most}\n" for zone, (name, value) in zones.items())
        for number, (at, zones) in enumerate(readings, 1)
    )


def one(value: int) -> dict[str, tuple[str, int]]:
    return {"intel-rapl:0": ("package-0", value)}


def test_joules_are_over_the_true_interval(tmp_path: Path) -> None:
    text = copies((S, one(1_000_000)), (2 * S, one(21_000_000)), (4 * S, one(41_000_000)))
    frame = energy(bundle(tmp_path, text)).frame
    # The last is half of what both readings took.
    columns = ["joules", "watts", "start_ns", "interval_ns", "interval_error_ns", "zone"]
    assert frame[columns].to_numpy().tolist() == [
        [20.0, 20.0, S + 1_000_000, S, 2_000_000, "package-0"],
        [20.0, 10.0, 2 * S + 1_000_000, 2 * S, 2_000_000, "package-0"],
    ]


def test_a_counter_comes_round(tmp_path: Path) -> None:
    text = copies((S, one(RANGE_UJ - 3_000_000)), (2 * S, one(4_000_000)))
    found = energy(bundle(tmp_path, text))
    assert found.frame["joules"].tolist() == [pytest.approx(7.0)]
    assert found.notes == ()


@pytest.mark.parametrize(
    "text",
    [
        # Back to 0, as after a reboot: no wrap makes 262 kJ in a second.
        copies((S, one(50_000_000)), (2 * S, one(0))),
        # A small range comes round at a power that a machine may have.
        copies((S, one(10)), (2 * S, one(20)), most=1_000_000),
        # Nobody looked for a minute: 65 kJ may have come round.
        copies((S, one(10)), (61 * S, one(20)), most=65_532_610_987),
        copies((S, one(10)), (S, one(20))),
    ],
)
def test_what_may_have_come_round_unseen_is_left_out(tmp_path: Path, text: str) -> None:
    found = energy(bundle(tmp_path, text))
    assert found.frame.empty
    [note] = found.notes
    assert note.startswith("1 interval of")


def test_zones_are_named_with_their_package(tmp_path: Path) -> None:
    # Two packages with cores and memory, and the platform: the zone, its name, what it becomes.
    zones = [
        ("intel-rapl:0", "package-0", "package-0", "package"),
        ("intel-rapl:0:0", "core", "package-0 core", "cores"),
        ("intel-rapl:0:1", "uncore", "package-0 uncore", "uncore"),
        ("intel-rapl:0:2", "dram", "package-0 dram", "dram"),
        ("intel-rapl:1", "package-1", "package-1", "package"),
        ("intel-rapl:1:0", "core", "package-1 core", "cores"),
        ("intel-rapl:2", "psys", "psys", "psys"),
    ]
    # One counter by another way.
    named = dict([*(zone[:2] for zone in zones), ("intel-rapl-mmio:0", "package-0")])
    first, last = ({zone: (name, at) for zone, name in named.items()} for at in (10, 1_000_010))
    frame = energy(bundle(tmp_path, copies((S, first), (2 * S, last)))).frame
    assert list(zip(frame["zone"], frame["domain"], strict=True)) == [zone[2:] for zone in zones]
    assert set(frame["joules"]) == {1.0}


@pytest.mark.parametrize(
    "line",
    [
        # A zone that only root may read, one that is gone, and a stranger's.
        "intel-rapl:0 package-0  262143328850",
        "intel-rapl:0 package-0 12",
        "intel-rapl:0 package-0 -1 262143328850",
        f"intel-rapl:0 package-0 {10**40} {10**40}",
        "intel-rapl:0 package-0 20 10",
        "intel-rapl:0 package-0 1e3 262143328850",
        "x" * 100_000,
        "\x1b[1m\x00",
    ],
)
def test_hostile_lines_are_no_reading(tmp_path: Path, line: str) -> None:
    text = copies((S, one(10)), (2 * S, one(1_000_010))) + f"@ 3 {3 * S} {3 * S}\n{line}\n"
    frame = energy(bundle(tmp_path, text)).frame
    assert list(frame["joules"]) == [1.0]


def perf_line(at: float, event: str, value: str, **more: object) -> str:
    said = {"interval": at, "counter-value": value, "unit": "Joules", "event": event}
    return json.dumps({**said, "event-runtime": 500, "pcnt-running": 100.0, **more}) + "\n"


def test_perfs_joules(tmp_path: Path) -> None:
    text = (
        perf_line(0.5, "power/energy-pkg/", "21.10")
        + perf_line(0.5, "power/energy-ram/", "<not counted>")
        + perf_line(0.5, "cycles", "9", unit="")
        + perf_line(1.5, "power/energy-pkg/", "20.00")
    )
    frame = energy(bundle(tmp_path / "b", energy_jsonl=text)).frame
    assert list(frame["joules"]) == [21.1, 20.0]
    assert list(frame["watts"]) == [42.2, 20.0]
    assert set(frame["source"]) == {"perf"}
    assert list(frame["start_ns"]) == [5 * S, 5 * S + S // 2]
    # perf was told to end 2.5 s after its last print at the latest.
    assert set(frame["interval_error_ns"]) == {5 * S // 2}
    # A perf that prints each package, and fields instead of JSON, says the same.
    fields = "".join(
        f"{at};S{socket};1;{joules / 2};Joules;power/energy-pkg/;500;100.00;;\n"
        for at, joules in ((0.5, 21.1), (1.5, 20.0))
        for socket in (0, 1)
    )
    again = energy(bundle(tmp_path / "c", energy_jsonl=fields)).frame
    assert again.equals(frame)


# turbostat(8): a heading, then a line for each interval; without --Summary lines for CPUs below it.
TURBOSTAT = """\
Busy%\tBzy_MHz\tIRQ\tPkgWatt\tCorWatt\tRAMWatt
12.50\t2400\t1800\t15.25\t9.50\t2.00
Busy%\tBzy_MHz\tIRQ\tPkgWatt\tCorWatt\tRAMWatt
50.00\t2900\t1900\t30.25\t21.50\t2.50
"""


def test_turbostats_watts(tmp_path: Path) -> None:
    frame = parse_turbostat(TURBOSTAT)
    package = frame[frame["domain"] == "package"]
    assert list(package["watts"]) == [15.25, 30.25]
    assert list(frame["interval"]) == [0, 0, 0, 1, 1, 1]
    every = "Core\tCPU\tBusy%\tPkgWatt\n-\t-\t12.5\t15.25\n0\t0\t10.0\t15.25\n0\t1\t15.0\n"
    assert parse_turbostat(every)["watts"].tolist() == [15.25]
    for none in ("", "Busy% Bzy_MHz\n1 2\n", "PkgWatt\nnan\n", "PkgWatt\n1e999\n\x1b\n"):
        assert parse_turbostat(none).empty
    placed = energy(bundle(tmp_path, turbostat_txt=TURBOSTAT)).frame
    assert set(placed["source"]) == {"turbostat"}
    # It says no times: watts, and no joules.
    assert placed["joules"].isna().all()
    assert placed["interval_error_ns"].isna().all()
    assert list(placed["start_ns"].unique()) == [5 * S, 6 * S]


# A start at the end of 64 bits, and intervals of days.
def test_times_of_a_strangers_manifest(tmp_path: Path) -> None:
    perf = perf_line(1.0, "power/energy-pkg/", "1.5") + perf_line(3e7, "power/energy-pkg/", "1.5")
    told = bundle(tmp_path, energy_jsonl=perf, turbostat_txt=TURBOSTAT)
    text = (tmp_path / "manifest.json").read_text()
    said = json.loads(text.replace(str(5 * S), str(2**63 - 1)).replace(str(9 * S), str(2**63 - 1)))
    said["record_command"] = "netcost-record --interval 999999"
    (tmp_path / "manifest.json").write_text(json.dumps(said))
    frame = energy(Bundle(told.path)).frame
    assert (frame["end_ns"] > frame["start_ns"]).all()
    assert (frame["start_ns"] >= 2**62).all()
    assert frame["watts"].between(0, 100).all()
    # Sources stay apart.
    assert frame["source"].value_counts().to_dict() == {"turbostat": 6, "perf": 2}


def test_nothing_recorded_is_an_empty_table(tmp_path: Path) -> None:
    found = energy(bundle(tmp_path))
    assert (len(found.frame), found.notes) == (0, ())
    assert found.frame.dtypes.astype(str)["joules"] == "float64"
    (tmp_path / "samples" / "energy").unlink()
    (tmp_path / "samples" / "energy").symlink_to("/etc/passwd")
    with pytest.raises(netcost.CaptureError, match="outside the bundle"):
        energy(Bundle(tmp_path))
