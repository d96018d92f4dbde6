# What drawn counters come to for each CPU and step, and what a machine without counters says.

from pathlib import Path
from typing import Any

import pytest

import netcost_analysis as netcost
from netcost_analysis.snapshots.perf_stat import counted_in
from support.energy_bundles import COUNTERS, counted, energy_bundle, energy_experiment, softnet
from support.kept import kept, kept_experiment


def asked(folder: Path, files: dict[str, str | None] | None = None, **said: Any) -> Any:
    return netcost.open_capture(energy_bundle(folder, files, **said)).ask.counters.cpu_counters()


def test_ratios_of_each_cpu(tmp_path: Path) -> None:
    answer = asked(tmp_path)
    first, second = answer.frame.to_dict("records")
    assert (first["cpu"], first["ipc"], second["ipc"]) == (0, 2.0, 1.0)
    assert first["cache_misses_per_1000"] == pytest.approx(1.0)
    assert first["llc_misses_per_1000"] == pytest.approx(0.5)
    assert second["branch_misses_per_1000"] == pytest.approx(4.0)
    assert second["dtlb_misses_per_1000"] == pytest.approx(0.5)
    assert (first["frontend_stalls_per_1000"], first["backend_stalls_per_1000"]) == (50, 150)
    # CPU 1 has no counter for it.
    assert second["frontend_stalls_per_1000"] != second["frontend_stalls_per_1000"]
    # 1,000 and 100,000 packets a second.
    assert first["cycles_per_packet"] == pytest.approx(2e6)
    assert second["cycles_per_packet"] == pytest.approx(1e4)
    assert second["instructions_per_packet"] == pytest.approx(1e4)
    assert second["cache_misses_per_packet"] == pytest.approx(20)
    assert first["context_switches_per_s"] == 500
    assert [answer[name]["cpu"] for name in ("highest_ipc", "lowest_ipc", "busiest")] == [0, 1, 1]
    assert answer["unsupported_events"] == ()


# What perf prints of the same machine: fields, modifiers, a hybrid processor's names.
@pytest.mark.parametrize("change", ["fields", ":u", "cpu_core/{}/"])
def test_other_prints_of_the_same(tmp_path: Path, change: str) -> None:
    text = counted(COUNTERS)
    if change == "fields":
        text = "".join(
            f"{second}.0;CPU{cpu};{own[event]};;{event};1000;100.00;;\n"
            for second in range(1, 5)
            for event in COUNTERS[0]
            for cpu, own in COUNTERS.items()
        )
    else:
        for event in COUNTERS[0]:
            name = change.format(event) if "{" in change else event + change
            text = text.replace(f'"event": "{event}"', f'"event": "{name}"')
    told = asked(tmp_path / "a", {"counters.jsonl": text}).frame
    assert told.equals(asked(tmp_path / "b").frame)


def test_cores_of_two_kinds_and_cpus_that_perf_added_up(tmp_path: Path) -> None:
    # Of a CPU one of both PMUs counts; of all together both do.
    both = {
        0: {"cpu_core/cycles/": 2e9, "cpu_atom/cycles/": "<not counted>",
            "cpu_core/instructions/": 4e9, "cpu_atom/instructions/": "<not counted>"},
    }  # fmt: skip
    frame = asked(tmp_path / "a", {"counters.jsonl": counted(both)}).frame
    assert frame["ipc"].tolist() == [2.0]
    both[0] |= {"cpu_atom/cycles/": 2e9, "cpu_atom/instructions/": 2e9}
    text = counted(both).replace('"cpu": "0", ', "")
    answer = asked(tmp_path / "b", {"counters.jsonl": text})
    assert answer.frame["cpu"].isna().all()
    assert answer.frame["cycles_per_s"].tolist() == [4e9]
    assert answer.frame["ipc"].tolist() == [1.5]


def test_shared_counters_are_said(tmp_path: Path) -> None:
    text = counted(COUNTERS, running=62.5)
    answer = asked(tmp_path, {"counters.jsonl": text})
    assert set(answer.frame["running_share"]) == {0.625}
    assert answer["least_running_share"] == 0.625
    assert "scaled" in answer.words
    assert "scaled" not in asked(tmp_path / "b").words


def test_no_figure_for_each_of_few_packets(tmp_path: Path) -> None:
    for at, packets in enumerate((None, softnet((0, 0), (50, 99)), softnet((9, 9), (1, 1)), "")):
        answer = asked(tmp_path / str(at), {"samples/softnet_stat": packets})
        assert answer.frame["cycles_per_packet"].isna().all()
        assert answer.frame["ipc"].notna().all()
        assert answer["busiest"] is None


def test_a_killed_recorder_and_strangers_text(tmp_path: Path) -> None:
    text = counted(COUNTERS)
    cut = asked(tmp_path / "a", {"counters.jsonl": text[:-30]})
    assert cut.frame["ipc"].tolist() == [2.0, 1.0]
    assert "last interval" in cut.notes[0]
    hostile = counted({0: {"<b>x_`|\x1b[1m": 1.0, "cycles": "1e300"}})
    answer = asked(tmp_path / "b", {"counters.jsonl": text + hostile.replace("1.0", "9.0", 1)})
    assert answer.frame["ipc"].tolist() == [2.0, 1.0]
    assert "<b>" not in answer._repr_html_()
    nothing = counted({0: {"cycles": "<not counted>"}})
    for number, other in enumerate(("", "{}", "nothing of perf's\n", nothing)):
        refusal = str(asked(tmp_path / f"c{number}", {"counters.jsonl": other}).refusal)
        assert "netcost-record --p" in refusal


# A virtual machine's: switches, migrations and faults, and no cycle.
def test_a_machine_without_counters_says_so() -> None:
    answer = kept("io-sizes/tcp-64.netcost.tar.zst").ask.counters.cpu_counters()
    assert answer.frame["ipc"].isna().all()
    assert (answer.frame["context_switches_per_s"] > 100).all()
    assert answer["virtualization"] == "kvm"
    assert answer["unsupported_events"][:2] == ("cycles", "instructions")
    assert len(answer["unsupported_events"]) == 10
    with pytest.raises(netcost.CaptureError, match="nothing to draw"):
        answer.plot()
    refusal = kept("veth-stolen-time").ask("cpu_counters").refusal
    assert "netcost-record --profile light,counters" in str(refusal)


# What the kernel itself counted meanwhile, in the intervals between its two readings.
@pytest.mark.parametrize("step", ["tcp-64", "tcp-65536"])
def test_switches_are_those_of_the_kernel(step: str) -> None:
    told = kept(f"io-sizes/{step}.netcost.tar.zst").bundle
    assert told is not None
    sides = [one.context_switches for one in (told.before, told.after)]
    first, last = (one.reads["stat"][0] for one in (told.before, told.after))
    rate = (sides[1] - sides[0]) / ((last - first) / 1e9)  # type: ignore[operator]
    begin = next(one.start_ns for one in told.manifest.companions if one.name == "counters")
    assert begin is not None
    rows = counted_in(told, "counters").frame
    rows = rows[rows["event"] == "context-switches"]
    inside = (begin + 1e9 * rows["start_s"] >= first) & (begin + 1e9 * rows["end_s"] <= last)
    rows = rows[inside]
    seconds = rows["end_s"].max() - rows["start_s"].min()
    assert rows["value"].sum() / seconds == pytest.approx(rate, rel=0.05)


def test_counters_over_steps(tmp_path: Path) -> None:
    answer = energy_experiment(tmp_path).ask.counters.counters_by_step()
    own = answer.frame[answer.frame["cpu"] == 0]
    assert own["ipc"].tolist() == [2.0, 1.0, pytest.approx(2 / 3), 0.5]
    assert own["io_bytes"].tolist() == [0, 64, 1024, 65536]
    ends = answer["ipc_ends"].set_index("cpu").loc[0]
    assert (ends["highest_step"], ends["lowest_step"]) == ("0", "65536")
    assert (ends["highest_step_ipc"], ends["lowest_step_ipc"]) == (2, 0.5)
    curves = answer.plot().get_lines()
    assert [line.get_label() for line in curves] == ["CPU 0", "CPU 1"]
    assert list(curves[0].get_ydata()) == pytest.approx(own["ipc"].tolist())
    assert len(answer.plot_packets().get_lines()) == 2


def test_steps_of_a_machine_without_counters() -> None:
    ask = kept_experiment("io-sizes").ask
    answer = ask.counters.counters_by_step()
    assert len(answer.frame) == 16
    assert answer.frame["ipc"].isna().all()
    assert (len(answer["ipc_ends"]), answer["measured_steps"]) == (0, 8)
    with pytest.raises(netcost.CaptureError, match="nothing to draw"):
        answer.plot()
    refusal = str(kept_experiment("nic-guest").ask.counters.counters_by_step().refusal)
    assert "not measured" in refusal
