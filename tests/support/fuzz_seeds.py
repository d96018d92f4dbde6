# Writes what the fuzz targets in native/fuzz start from: python -m support.fuzz_seeds FOLDER makes
# FOLDER/seeds/TARGET/* and FOLDER/heads/*.

import sys
from dataclasses import replace
from pathlib import Path

from support import story
from support.host import write_files
from support.perfdata import MACHINES, X86_64, Machine, SampleType
from support.perfdata.attr import READ_GROUP, READ_ID
from support.small_captures import (
    ALL_KINDS,
    Described,
    networking,
    sampled,
    small_captures,
)
from support.tracedat import Dress, encoded
from support.tracedat.small import EVERYTHING, USUAL

# Which target a capture of a kind is for.
TARGETS = {"text": "text", "trace-cmd": "trace_dat"}

# One per entry of HEADS in native/fuzz/targets/records.rs, in its order.
STREAMS: tuple[Described, ...] = (
    networking(),
    sampled(ALL_KINDS),
    networking(MACHINES["s390x"]),
    sampled(SampleType.READ | SampleType.TIME, MACHINES["i386"], READ_GROUP | READ_ID),
)


RINGS = (
    (USUAL, X86_64),
    (replace(EVERYTHING, instances={}), X86_64),
    (USUAL, MACHINES["s390x"]),
    (USUAL, MACHINES["i386"]),
)


# For each kind: where the file keeps the size of its one ring, the file up to the ring, and that.
def small_pages() -> list[tuple[int, bytes, bytes]]:
    return [parts(dress, machine) for dress, machine in RINGS]


def parts(dress: Dress, machine: Machine) -> tuple[int, bytes, bytes]:
    contents = dress.contents(story.networking(machine))
    pages = contents.top.rings[0]
    alone = replace(contents, buffers=(replace(contents.top, rings={0: pages}),))
    whole = encoded(alone, 6)
    place = whole.index(b"flyrecord\0") + 10 + 8
    return place, whole[: whole.index(pages)], pages


def target(kind: str) -> str:
    return next((TARGETS[start] for start in TARGETS if kind.startswith(start)), "perf_data")


def seeds() -> dict[str, bytes]:
    found = {
        f"{target(name)}/{name}-{number}": data
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
    for number, (_, _, pages) in enumerate(small_pages()):
        found[f"pages/{number}"] = bytes([number]) + pages
    return found


def write(folder: Path) -> None:
    write_files(folder / "seeds", seeds())
    made = {str(number): one.head() for number, one in enumerate(STREAMS)}
    for number, (place, head, _) in enumerate(small_pages()):
        made[f"pages-{number}"] = place.to_bytes(8, "little") + head
    heads = folder / "heads"
    heads.mkdir(parents=True, exist_ok=True)
    for name, data in made.items():
        # The heads are compiled in: what has not changed is not built again.
        path = heads / name
        if not path.exists() or path.read_bytes() != data:
            path.write_bytes(data)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
