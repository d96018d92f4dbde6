# Recordings of one condition, made here in turns: nothing is to differ between them.

from pathlib import Path

import pytest

import netcost_analysis as netcost
from support.live import record


# 5 % of such sets differ where the runs of each could be exchanged, more where the host drifts.
@pytest.mark.slow
@pytest.mark.measures
def test_runs_of_one_condition_do_not_differ(tmp_path: Path) -> None:
    runs = [record(tmp_path / f"{at}.data", seconds=0.3) for at in range(12)]
    found = netcost.compare(runs[::2], runs[1::2]).ask.comparison.changes()
    primary = found.frame.iloc[0]
    assert primary["metric"] == "network_ns_per_packet"
    assert primary["observed_in"] == "repeats"
    assert primary["change_low"] < primary["change_high"]
    assert primary["differs"] == "no"
