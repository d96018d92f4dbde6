# Writes what the fuzz targets in native/fuzz start from: python tests/fuzz_seeds.py FOLDER makes
# FOLDER/seeds/TARGET/* and FOLDER/heads/*.

import sys
from pathlib import Path

from perfdata import MACHINES, SampleType
from perfdata.attr import READ_GROUP, READ_ID
from small_captures import (
    ALL_KINDS,
    Described,
    networking,
    sampled,
    small_captures,
)

# One per entry of HEADS in native/fuzz/targets/records.rs, in its order.
STREAMS: tuple[Described, ...] = (
    networking(),
    sampled(ALL_KINDS),
    networking(MACHINES["s390x"]),
    sampled(SampleType.READ | SampleType.TIME, MACHINES["i386"], READ_GROUP | READ_ID),
)


def seeds() -> dict[str, bytes]:
    found = {
        f"perf_data/{name}-{number}": data
        for name, small in small_captures().items()
        for number, data in enumerate(small.files.values())
    }
    for number, one in enumerate(STREAMS):
        found[f"records/{number}"] = bytes([number]) + one.encoded()
        for format_ in one.formats:
            payloads = [raw[:255] for raw in one.payloads(format_)]
            found[f"format/{format_.name}-{number}"] = (
                bytes([one.machine.word])
                + format_.text(one.machine).encode()
                + b"\0"
                + b"".join(bytes([len(raw)]) + raw for raw in payloads)
            )
    return found


def write(folder: Path) -> None:
    for name, data in seeds().items():
        path = folder / "seeds" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    heads = folder / "heads"
    heads.mkdir(parents=True, exist_ok=True)
    for number, one in enumerate(STREAMS):
        # The heads are compiled in: what has not changed is not built again.
        path = heads / str(number)
        if not path.exists() or path.read_bytes() != one.head():
            path.write_bytes(one.head())


if __name__ == "__main__":
    write(Path(sys.argv[1]))
