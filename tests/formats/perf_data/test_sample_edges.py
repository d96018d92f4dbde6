# A limit of rows. Samples where a record alone does not tell what it is:
# native/tests/formats/perf_data/samples.rs.

from pathlib import Path

from netcost_analysis._native import Capture
from support.native_tables import rows
from support.perfdata import Attr, FinishedRound, Sample, SampleType, Where, write_file
from support.perfdata.attr import TYPE_HARDWARE

BASIC = SampleType.IDENTIFIER | SampleType.IP | SampleType.TID | SampleType.TIME
CYCLES = Attr("cycles", 0, (10,), type=TYPE_HARDWARE, sample_type=BASIC)


def test_a_limit_cuts_the_table(tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    told = [*(Sample(Where(0, time, 500, 501)) for time in range(1, 6)), FinishedRound()]
    path.write_bytes(write_file([CYCLES], [], told))
    for limit in (0, 1, 4, 5, 6):
        times = [row["time_ns"] for row in rows(Capture(str(path)).samples("cycles", limit))]
        assert times == list(range(1, 1 + min(limit, 5)))
