# What the fuzz targets in native/fuzz have found, each told by the writer.

import struct
from dataclasses import replace
from pathlib import Path

from support.bounded import attrs, sample
from support.native_tables import Answer
from support.perfdata import tracepoints as t
from support.perfdata import write_pipe
from support.perfdata.formats import Value

# Where NAPI_POLL says where its device's name is.
DEVICE_NAME = 16
POLL: dict[str, Value] = {"napi": 1, "dev_name": "eth0", "work": 1, "budget": 64}


# No instance, and a name outside the record: nothing that would tell this poll from no poll.
def test_a_poll_of_nothing(tmp_path: Path) -> None:
    formats = (t.NAPI_POLL,)
    poll = sample(formats, t.NAPI_POLL, POLL | {"napi": 0, "dev_name": ""}, 0x10)
    raw = bytearray(poll.raw)
    struct.pack_into("<I", raw, DEVICE_NAME, 0xFFFFFFFF)
    path = tmp_path / "perf.data"
    path.write_bytes(write_pipe(attrs(formats), formats, [replace(poll, raw=bytes(raw))]))
    [row] = Answer(path).polls
    assert (row["device"], row["work"]) == (None, 1)
