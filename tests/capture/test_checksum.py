# Checksums that are computed ahead are those of the file.

import hashlib
from pathlib import Path

import netcost_analysis as netcost
from netcost_analysis.capture import checksum
from support.host import SAMPLES

TRACE = SAMPLES / "nic-stolen-time" / "trace.perf.data"


def test_begun_or_not_it_is_the_file_s(tmp_path: Path) -> None:
    expected = hashlib.sha256(TRACE.read_bytes()).hexdigest()
    plain, begun = netcost.open_capture(TRACE), netcost.open_capture(TRACE)
    checksum.begin(begun)
    assert checksum.checksum(begun) == checksum.checksum(plain) == expected
    copy = tmp_path / "copy.perf.data"
    copy.write_bytes(TRACE.read_bytes())
    gone = netcost.open_capture(copy)
    copy.unlink()
    checksum.begin(gone)
    assert checksum.checksum(gone) is None
