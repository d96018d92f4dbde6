# A capture that changes while it is masked: what was written would be of no one file.

import os
from pathlib import Path

import pytest

from netcost_analysis._native import CaptureError, mask_recording
from support.small_captures import small_captures

PLAIN = {
    name: one.files["data"]
    for name, one in small_captures().items()
    if list(one.files) == ["data"] and one.pack is None
}


# Writes the source anew when it is asked for the first name, and answers.
class Changing:
    def __init__(self, path: Path) -> None:
        self.path, self.asked = path, 0

    def replace(self, _kind: str, original: bytes) -> bytes:
        self.asked += 1
        if self.asked == 1:
            os.utime(self.path, ns=(1, 1))
        return b"x" * len(original)

    def progress(self, _fraction: float) -> None:
        pass


def test_a_capture_that_is_written_anew_while_it_is_masked(tmp_path: Path) -> None:
    for name, data in PLAIN.items():
        source = tmp_path / name
        source.write_bytes(data)
        changing = Changing(source)
        with pytest.raises(CaptureError, match="written anew"):
            mask_recording(str(source), str(tmp_path / f"{name}-out"), changing)
        assert changing.asked
