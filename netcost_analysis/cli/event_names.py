# Names in place of samples' addresses.

from collections.abc import Mapping
from typing import Any, NamedTuple


class Names(NamedTuple):
    """What functions are called.

    kernel: by address. programs: by the number of a sample's stack and address, for the same
    address is another function in another process.
    """

    kernel: Mapping[int, str]
    programs: Mapping[tuple[int, int], str] = {}

    def put_in(self, samples: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The samples with names, as a text has them."""
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
