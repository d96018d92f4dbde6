# Recordings of one condition, made here in turns: nothing is to differ between them.

from pathlib import Path

import pytest

import netcost_analysis as netcost
from support.live import record

# It records this host alone: what else runs would be of one side's runs only.
pytestmark = pytest.mark.measures


# 5 % of such pairs differ, as stated: three in a row in one of 8,000.
def test_runs_of_one_condition_do_not_differ(tmp_path: Path) -> None:
    verdicts = []
    for attempt in range(3):
        runs = [record(tmp_path / f"{attempt}-{at}.data", seconds=0.3) for at in range(12)]
        found = netcost.compare(runs[::2], runs[1::2]).ask.comparison.changes()
        primary = found.frame.iloc[0]
        assert primary["metric"] == "network_ns_per_packet"
        assert primary["observed_in"] == "repeats"
        assert primary["change_low"] < primary["change_high"]
        verdicts.append(primary["differs"])
        if verdicts[-1] == "no":
            return
    pytest.fail(f"runs of one condition differ: {verdicts}")
