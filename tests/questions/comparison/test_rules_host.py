# Hosts that are not alike, or not left alone: each rule fires on what it is about, and no other one
# does beside it.

from pathlib import Path
from typing import Any

import pytest

from netcost_analysis import Run
from support.perfdata import cpu
from support.perfdata import happenings as h
from support.run_sets import codes, compared, only, plain, polling, recorded

_SCALING = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_"
# One run a side says nothing of others, whatever they are of.
ALWAYS = {"repeats"}


def test_alike_hosts_are_not_suspected(tmp_path: Path) -> None:
    assert codes(compared(plain(), plain("b"))) == ALWAYS


@pytest.mark.parametrize(
    ("other", "code", "severity", "says"),
    [
        ({"host": {"cpu_model": "Xeon"}}, "processor", "refused", "EPYC Xeon"),
        ({"mhz": 2_800}, "clock_speed", "refused", "7.7 2,600 2,800"),
        ({"mhz": 2_650}, "clock_speed", "warning", "1.9"),
        ({"host": {"clocksource": "hpet"}}, "settings", "warning", "hpet tsc"),
        (
            {"host": {"sysctls": {"net.core.netdev_budget": 64}}},
            *("settings", "warning", "net.core.netdev_budget 300 64"),
        ),
        ({"ticks": (100, 97, 3)}, "hypervisor", "warning", "1.5"),
    ],
)
def test_an_unlike_host_is_found(
    tmp_path: Path, other: dict[str, Any], code: str, severity: str, says: str
) -> None:
    base = recorded(tmp_path / "a", host={"sysctls": {"net.core.netdev_budget": 300}})
    host = {"sysctls": {"net.core.netdev_budget": 300}, **other.pop("host", {})}
    comparison = compared(base, recorded(tmp_path / "b", host=host, **other))
    assert codes(comparison) == {code} | ALWAYS
    found = only(comparison, code)
    assert found.severity == severity
    assert not [one for one in says.split() if one not in found.why], found.why


@pytest.mark.parametrize(
    "other",
    [
        *({"mhz": 2_620}, {"ticks": (100, 99, 1)}),
        # What another label than the setting's says is no matter of the host's.
        {"host": {"sysctls": {"net.core.skb_defer_max": 0}}, "labels": {"skb_defer_max": "0"}},
    ],
)
def test_what_is_near_enough_is_not_found(tmp_path: Path, other: dict[str, Any]) -> None:
    base = recorded(
        tmp_path / "a",
        host={"sysctls": {"net.core.skb_defer_max": 64}} if "host" in other else {},
        labels={"skb_defer_max": "64"} if "host" in other else {},
    )
    assert codes(compared(base, recorded(tmp_path / "b", **other))) == ALWAYS


def test_another_number_of_cpus_is_refused(tmp_path: Path) -> None:
    wide = {name: f"{text}{text.replace('cpu0', 'cpu1')}" for name, text in _stat().items()}
    both = recorded(
        tmp_path / "b",
        polling(),
        cpu(1, h.SoftirqEntry(20_000, 1), h.SoftirqExit(30_000, 1)),
        files=wide,
    )
    comparison = compared(plain(), both)
    assert codes(comparison) == {"cpu_number"} | ALWAYS
    assert only(comparison, "cpu_number").figures["values"] == {"base": [1], "new": [2]}


def _stat() -> dict[str, str]:
    line = "cpu0 100 0 0 {} 0 0 0 100 0 0\n"
    return {"before/stat": line.format(100), "after/stat": line.format(200)}


def test_a_scaled_clock_is_compared_by_its_limit(tmp_path: Path) -> None:
    def run(name: str, limit: int, mhz: float, governor: str = "performance") -> Run:
        text = f"{_SCALING}driver acpi\n{_SCALING}governor {governor}\n{_SCALING}max_freq {limit}\n"
        return recorded(tmp_path / name, cpufreq=text, mhz=mhz)

    # As fast as it was at a moment, before it had work.
    assert codes(compared(run("a", 3_000_000, 800), run("b", 3_000_000, 3_000))) == ALWAYS
    slower = compared(run("c", 3_000_000, 3_000), run("d", 2_000_000, 3_000))
    assert only(slower, "clock_speed").severity == "refused"
    governed = compared(run("e", 3_000_000, 3_000), run("f", 3_000_000, 3_000, "powersave"))
    assert codes(governed) == {"governor"} | ALWAYS


def test_a_scaled_clock_without_a_limit_is_no_proof(tmp_path: Path) -> None:
    text = f"{_SCALING}driver acpi\n"
    runs = [
        recorded(tmp_path / name, cpufreq=text, mhz=mhz) for name, mhz in (("a", 800), ("b", 3_000))
    ]
    found = only(compared(*runs), "clock_speed")
    assert (found.severity, found.figures["is_moment"]) == ("warning", True)


def test_what_is_not_known_is_said(tmp_path: Path) -> None:
    bare = recorded(
        tmp_path / "b",
        command=None,
        host={"cpu_model": None},
        files={"before/settings/cpuinfo": "", "after/stat": ""},
    )
    found = only(compared(plain(), bare), "unknown")
    assert (found.severity, found.side, len(found.figures["names"])) == ("note", "new", 4)


def test_a_neighbour_is_found_by_its_name(tmp_path: Path) -> None:
    sha = h.Task(700, "sha256sum")
    # It has the CPU for a twelfth of the time; the load's own program has all the rest.
    own = h.Task(600, "udp-load")
    busy = cpu(0, h.Switch(10_000, own), h.Switch(910_000, sha), h.Switch(1_000_000, own), task=own)
    quiet = cpu(
        0, h.Switch(10_000, own), h.Switch(990_000, sha), h.Switch(1_000_000, own), task=own
    )
    base = recorded(tmp_path / "a", quiet)
    comparison = compared(
        base, recorded(tmp_path / "b", busy), per="second", primary="busy_ns_per_second"
    )
    found = only(comparison, "neighbour")
    assert (found.severity, found.side, found.of_run) == ("warning", "new", "b")
    assert found.figures["tasks"] == [("sha256sum", pytest.approx(0.0909, abs=1e-3))]
    # Nobody knows whose work it is where nobody recorded what the load was.
    unnamed = recorded(tmp_path / "c", busy, command=None)
    said = only(compared(base, unnamed, per="second", primary="busy_ns_per_second"), "neighbour")
    assert (said.severity, said.figures["is_load_known"]) == ("note", False)
