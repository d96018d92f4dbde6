# What a service says of itself.

from pathlib import Path

from netcost_analysis.snapshots.service import service_work
from support.device_bundles import bundle


def test_what_was_read_twice_at_one_time_did_not_grow(tmp_path: Path) -> None:
    for later, rate in ((5, None), (1_000_000_005, 3)):
        stamps = {"before/stamp": "work 5 5\n", "after/stamp": f"work {later} {later}\n"}
        grown = service_work(
            bundle(tmp_path / f"{later}", {**stamps, "before/work": "1\n", "after/work": "4\n"})
        )
        assert (grown and grown.per_s) == rate
