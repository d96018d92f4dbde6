# What drawn counters come to for each CPU and step, and what a machine without counters says.

from pathlib import Path
from typing import Any

import pytest

import netcost_analysis as netcost
from netcost_analysis.snapshots.perf_stat import counted_in
from support.energy_bundles import COUNTERS, counted, energy_bundle, energy_experiment, softnet
from support.kept import kept, kept_experiment


def asked(folder: Path, files: dict[str, str | None] | None = None) -> Any:
    return netcost.open_capture(energy_bundle(folder, files)).ask.counters.cpu_counters()


# What perf prints of the same machine: fields, modifiers, a hybrid processor's names.
@pytest.mark.parametrize("change", ["fields", "{}:u", "cpu_core/{}/"])
def test_other_prints_of_the_same(tmp_path: Path, change: str) -> None:
    text = counted(COUNTERS)
    if change == "fields":
        text = "".join(
            f"{second}.0;CPU{cpu};{own[event]};;{event};1000;100.00;;\n"
            for second in range(1, 5)
            for event in COUNTERS[0]
            for cpu, own in COUNTERS.items()
        )
    for event in COUNTERS[0]:
        text = text.replace(f'"event": "{event}"', f'"event": "{change.format(event)}"')
    other = asked(tmp_path / "a", {"counters.jsonl": text}).frame
    assert other.equals(asked(tmp_path / "b").frame)


# Of a CPU one of both PMUs counts; of all CPUs together both do.
def test_cores_of_two_kinds_and_cpus_that_perf_added_up(tmp_path: Path) -> None:
    core = {"cpu_core/cycles/": 2e9, "cpu_core/instructions/": 4e9}
    names = ("cpu_atom/cycles/", "cpu_atom/instructions/")
    one = {0: {**core, **dict.fromkeys(names, "<not counted>")}}
    frame = asked(tmp_path / "a", {"counters.jsonl": counted(one)}).frame
    assert frame["ipc"].tolist() == [2.0]
    both = counted({0: {**core, **dict.fromkeys(names, 2e9)}}).replace('"cpu": "0", ', "")
    frame = asked(tmp_path / "b", {"counters.jsonl": both}).frame
    assert frame["cpu"].isna().all()
    assert frame[["cycles_per_s", "ipc"]].values.tolist() == [[4e9, 1.5]]


def test_shared_counters_are_said(tmp_path: Path) -> None:
    answer = asked(tmp_path, {"counters.jsonl": counted(COUNTERS, running=62.5)})
    assert set(answer.frame["running_share"]) == {answer["least_running_share"]} == {0.625}
    assert "62.5 %" in answer.words


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


def test_nothing_is_drawn_of_machines_without_counters() -> None:
    for answer in (
        kept("io-sizes/tcp-64.netcost.tar.zst").ask.counters.cpu_counters(),
        kept_experiment("io-sizes").ask.counters.counters_by_step(),
    ):
        with pytest.raises(netcost.CaptureError, match="nothing to draw"):
            answer.plot()


# What the kernel itself counted meanwhile, in the intervals between its two readings.
@pytest.mark.parametrize("step", ["tcp-64", "tcp-65536"])
def test_switches_are_those_of_the_kernel(step: str) -> None:
    bundle = kept(f"io-sizes/{step}.netcost.tar.zst").bundle
    assert bundle is not None
    sides = [one.context_switches for one in (bundle.before, bundle.after)]
    first, last = (one.reads["stat"][0] for one in (bundle.before, bundle.after))
    rate = (sides[1] - sides[0]) / ((last - first) / 1e9)  # type: ignore[operator]
    begin = next(one.start_ns for one in bundle.manifest.companions if one.name == "counters")
    assert begin is not None
    rows = counted_in(bundle, "counters").frame.query("event == 'context-switches'")
    inside = (begin + 1e9 * rows["start_s"] >= first) & (begin + 1e9 * rows["end_s"] <= last)
    rows = rows[inside]
    seconds = rows["end_s"].max() - rows["start_s"].min()
    assert rows["value"].sum() / seconds == pytest.approx(rate, rel=0.05)


def test_pictures_over_steps_show_what_the_table_says(tmp_path: Path) -> None:
    answer = energy_experiment(tmp_path).ask.counters.counters_by_step()
    curves = answer.plot().get_lines()
    assert [line.get_label() for line in curves] == ["CPU 0", "CPU 1"]
    rows = answer.frame[answer.frame["cpu"] == 0]
    assert rows["ipc"].tolist() == pytest.approx([2.0, 1.0, 2 / 3, 0.5])
    assert list(curves[0].get_ydata()) == pytest.approx(rows["ipc"].tolist())
    assert len(answer.plot_packets().get_lines()) == 2
