# What an experiment says of itself: experiment.json, and the table of its steps. The rules of
# capture/lib/mask-paths.awk.

import json
import re
from typing import Any

from .._native import CaptureError
from .arguments import masked_command
from .names import Names
from .paths import Paths
from .texts import MASKED
from .words import Words

_PROGRAMS = {
    *("netcost-record", "repeat", "datapath-sweep", "guest", "hidden-cost", "io-sizes"),
    *("local-regression", "nic-guest", "quiet-interface", "stolen-time"),
}
_KEPT = {"kernel", "started", "ended", "arch", "tool", "profile"}
_COLUMN = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
# What the kit found missing in a recording.
_VERDICT = re.compile(r"[A-Za-z0-9_ .:;,%+()-]*")
_CELL = re.compile(
    r"|-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?(x[0-9]+)?|yes|no|on|off|max|none|all|one|two|bridge"
    r"|route|ovs|openvswitch|xdp|nic|virtio|wire|threaded|softirq|pinned|free|loopback|veth|udp|tcp"
    r"|base|load|idle|nan|[0-9]+-[0-9]+-[0-9]+T[0-9:]+Z"
)


class Experiments:
    def __init__(self, names: Names, words: Words, paths: Paths) -> None:
        self._names, self._words, self._paths = names, words, paths

    def experiment(self, text: str) -> str:
        try:
            experiment = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise CaptureError(f"experiment.json is no JSON: {error}") from None
        return json.dumps(self._value("", experiment), indent=2) + "\n"

    def _value(self, key: str, value: Any) -> Any:
        if isinstance(value, dict):
            return {
                self._words.masked(name): self._value(name.lower(), one)
                for name, one in value.items()
            }
        if isinstance(value, list):
            return [self._value(key, one) for one in value]
        return self._text(key, value) if isinstance(value, str) and value else value

    def _text(self, key: str, value: str) -> str:
        if key == "command":
            program = (value.split() or [""])[0].rpartition("/")[2]
            return (program if program in _PROGRAMS else MASKED) + " ..."
        if key in ("victim", "load", "base"):
            return masked_command(self._names, value)
        if key == "experiment" and value in _PROGRAMS:
            return value
        if key == "table":
            return self._paths.masked(value)
        return self._words.masked(value) if key in _KEPT else MASKED

    def steps(self, text: str) -> str:
        out: list[str] = []
        columns: list[str] = []
        for line in text.split("\n"):
            cells = line.split("\t")
            if not columns:
                columns = cells
                cells = [
                    self._words.masked(one) if _COLUMN.fullmatch(one) else MASKED for one in cells
                ]
            elif line:
                names = [*columns, *[""] * len(cells)]
                cells = [self._cell(*pair) for pair in zip(names, cells, strict=False)]
            out.append("\t".join(cells))
        return "\n".join(out)

    def _cell(self, column: str, cell: str) -> str:
        if column in ("bundle", "folder"):
            return self._paths.masked(cell)
        if column == "kernel" or (column == "completeness" and _VERDICT.fullmatch(cell)):
            return self._words.masked(cell)
        return cell if _CELL.fullmatch(cell) else MASKED
