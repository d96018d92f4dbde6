# How much memory can be had, out of /proc/meminfo.

from pathlib import Path

import pytest

from netcost_analysis.parsers.meminfo import parse_available_memory


def test_what_is_available_is_told_in_bytes() -> None:
    text = "MemTotal:       4030412 kB\nMemFree:         1 kB\nMemAvailable:   22334455 kB\n"
    assert parse_available_memory(text) == 22_334_455 * 1024


# Before 3.14 the kernel did not say.
@pytest.mark.parametrize("text", ["", "MemTotal: 1 kB\nMemFree: 1 kB\n", "XMemAvailable: 1 kB\n"])
def test_a_kernel_that_does_not_say(text: str) -> None:
    assert parse_available_memory(text) is None


def test_that_of_this_host() -> None:
    found = parse_available_memory(Path("/proc/meminfo").read_text())
    assert found is not None
    assert found > 1 << 20
