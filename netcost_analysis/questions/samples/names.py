# What the functions in an event's samples are called, without pandas.

from collections.abc import Mapping
from typing import NamedTuple

from ..._native import folded
from ...arrow import columns
from ...capture.capture import Capture
from ...capture.event_rows import Row
from ...progress import progress
from .sampled import search
from .stacks import with_file


class Names(NamedTuple):
    """What functions are called.

    kernel: by address. programs: by the number of a sample's stack and address, for the same
    address is another function in another process.
    """

    kernel: Mapping[int, str]
    programs: Mapping[tuple[int, int], str] = {}

    def put_in(self, samples: list[Row]) -> list[Row]:
        """The samples with names, as perf script prints them."""
        for row in samples:
            stack = row.get("stack", -1)
            chain, inside = row.get("callchain") or [], row.get("kernel_frames") or 0
            row["symbols"] = [
                self.kernel.get(address) if place < inside else self.programs.get((stack, address))
                for place, address in enumerate(chain)
            ]
            if "ip" in row:
                address, mode = row["ip"], row.get("cpu_mode", "kernel")
                known = self.programs.get((stack, address)) if mode == "user" else None
                known = self.kernel.get(address) if mode == "kernel" else known
                row["ip"] = known or address
        return samples


def names_of(capture: Capture, event: str, user: bool) -> tuple[Names, list[int]]:
    """The names of an event's samples, and the number of each sample's stack."""
    with progress(f"reading the samples of {event}") as advance:
        where = search(capture) if user else None
        found = capture.native.stacks(
            event, capture.kallsyms_beside(), not user, user, where, advance
        )
    frames = columns(found["frames"])
    [stacks], samples = columns(found["stacks"]).values(), columns(found["samples"])["stack"]
    known = zip(frames["address"], frames["in_kernel"], frames["symbol"], strict=True)
    kernel = {address: symbol for address, inside, symbol in known if inside and symbol is not None}
    if not user:
        return Names(kernel), samples
    named = ("" if symbol is None else folded(symbol) for symbol in frames["symbol"])
    labels = list(map(with_file, named, frames["dso"]))
    of_programs: dict[tuple[int, int], str] = {}
    for number, places in enumerate(stacks):
        inlined: list[str] = []
        for place in places:
            if frames["inlined"][place]:
                inlined.append(labels[place])
            elif labels[place] and not frames["in_kernel"][place]:
                # Of one address those that are inlined first.
                address = frames["address"][place]
                of_programs[number, address] = " < ".join([*inlined, labels[place]])
                inlined = []
    return Names(kernel, of_programs), samples
