# How fast processors run, out of a stranger's files.

import pytest

from netcost_analysis.parsers.clock_speed import Scaling, cpu_mhz, scaling

_AT = "/sys/devices/system/cpu/cpu"


def test_the_speed_of_each_cpu_is_read() -> None:
    text = (
        "processor\t: 0\ncpu MHz\t\t: 2596.120\ncache size\t: 1\nprocessor\t: 1\ncpu MHz\t\t: 800\n"
    )
    assert cpu_mhz(text) == [2596.12, 800.0]


@pytest.mark.parametrize("text", ["", "cpu MHz\t: fast\n", "cpu MHz\t: -1\n", "x cpu MHz\t: 1\n"])
def test_what_is_no_speed_is_passed_over(text: str) -> None:
    assert cpu_mhz(text) == []


def test_what_cpufreq_was_told_is_read() -> None:
    text = "".join(
        f"{_AT}{cpu}/cpufreq/scaling_{name} {value}\n"
        for cpu, limit in ((0, 3_000_000), (1, 2_000_000))
        for name, value in (("driver", "acpi"), ("governor", "powersave"), ("max_freq", limit))
    )
    assert scaling(text) == Scaling(True, ("powersave",), 3_000.0)


def test_without_cpufreq_there_is_no_limit() -> None:
    assert scaling(f"{_AT}idle/current_driver haltpoll\n") == Scaling(False, (), None)
    assert scaling(f"{_AT}0/cpufreq/scaling_max_freq {'9' * 40}\n").limit_mhz is None
