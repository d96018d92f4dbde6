# What the kernel says of its settings.

import pytest

from netcost_analysis.parsers.settings import tickless_cpus


@pytest.mark.parametrize(
    ("listed", "cpus"),
    [
        ("2-4,7", [2, 3, 4, 7]),
        ("5", [5]),
        ("(null)", []),
        # No kernel's: as long as its first range, however often that is repeated.
        (",".join(["0-9"] * 1000), list(range(10))),
    ],
)
def test_cpus_that_need_not_tick(listed: str, cpus: list[int]) -> None:
    text = f"/sys/devices/system/cpu/isolated 1\n/sys/devices/system/cpu/nohz_full {listed}\n"
    assert tickless_cpus(text) == cpus
