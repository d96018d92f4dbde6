"""Native's Arrow tables as lists, without an Arrow library.

Source: the Arrow C data and stream interfaces, arrow.apache.org/docs/format/CDataInterface.html.
"""

import ctypes as c
import struct
from array import array
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._native import ArrowTable


class _Schema(c.Structure):
    pass


class _Array(c.Structure):
    pass


class _Stream(c.Structure):
    pass


_Schema._fields_ = [
    ("format", c.c_char_p),
    ("name", c.c_char_p),
    ("metadata", c.c_char_p),
    ("flags", c.c_int64),
    ("n_children", c.c_int64),
    ("children", c.POINTER(c.POINTER(_Schema))),
    ("dictionary", c.POINTER(_Schema)),
    ("release", c.CFUNCTYPE(None, c.POINTER(_Schema))),
    ("private", c.c_void_p),
]
_Array._fields_ = [
    ("length", c.c_int64),
    ("null_count", c.c_int64),
    ("offset", c.c_int64),
    ("n_buffers", c.c_int64),
    ("n_children", c.c_int64),
    ("buffers", c.POINTER(c.c_void_p)),
    ("children", c.POINTER(c.POINTER(_Array))),
    ("dictionary", c.POINTER(_Array)),
    ("release", c.CFUNCTYPE(None, c.POINTER(_Array))),
    ("private", c.c_void_p),
]
_Stream._fields_ = [
    ("get_schema", c.CFUNCTYPE(c.c_int, c.POINTER(_Stream), c.POINTER(_Schema))),
    ("get_next", c.CFUNCTYPE(c.c_int, c.POINTER(_Stream), c.POINTER(_Array))),
    ("get_last_error", c.CFUNCTYPE(c.c_char_p, c.POINTER(_Stream))),
    ("release", c.CFUNCTYPE(None, c.POINTER(_Stream))),
    ("private", c.c_void_p),
]

_address = c.pythonapi.PyCapsule_GetPointer
_address.restype, _address.argtypes = c.c_void_p, (c.py_object, c.c_char_p)

# Arrow's format letters for numbers, and those of memoryview.
_NUMBERS = dict(zip("cCsSiIlLfg", "bBhHiIqQfd", strict=True))

_BITS = [[bool(byte >> place & 1) for place in range(8)] for byte in range(256)]


def columns(table: "ArrowTable", only: Container[str] | None = None) -> dict[str, list[Any]]:
    """A table's columns as lists of int, float, bool, str, bytes, lists of these, and None.

    only: the columns to convert, all unless given.
    """
    lists: dict[str, list[Any]] = {}
    for part in parts(table, only=only):
        for name, values in part.items():
            lists.setdefault(name, []).extend(values)
    return lists


def parts(
    table: "ArrowTable", most: int | None = None, only: Container[str] | None = None
) -> Iterator[dict[str, list[Any]]]:
    """The columns in parts of at most `most` rows; an empty first part carries their names."""
    for batch, chosen in _batches(table, only):
        if batch is None:
            yield {name: [] for name in chosen}
            continue
        step = max(most or batch.length, 1)
        for at in range(0, batch.length, step):
            start, number = batch.offset + at, min(step, batch.length - at)
            yield {
                name: _values(field, array, start, number)
                for name, (field, array) in chosen.items()
            }


def numbers(table: "ArrowTable", name: str) -> "array[Any]":
    """A column of numbers of at most 8 bytes each; the value at a null is meaningless."""
    values: array[Any] | None = None
    for batch, chosen in _batches(table, (name,)):
        field, held = chosen[name]
        values = array(_NUMBERS[field.format.decode()]) if values is None else values
        if batch is not None and batch.length:
            at = held.buffers[1] + (held.offset + batch.offset) * values.itemsize
            values.frombytes(c.string_at(at, batch.length * values.itemsize))
    assert values is not None
    return values


def row(table: "ArrowTable", place: int) -> dict[str, Any]:
    """A single row: column name to value."""
    for batch, chosen in _batches(table):
        if batch is None or place >= batch.length:
            place -= 0 if batch is None else batch.length
            continue
        return {
            name: _values(field, array, batch.offset + place, 1)[0]
            for name, (field, array) in chosen.items()
        }
    raise IndexError(place)


def _batches(
    table: "ArrowTable", only: Container[str] | None = None
) -> Iterator[tuple[Any, dict[str, tuple[Any, Any]]]]:
    # Each batch with the field and the array of the chosen columns by name; first None, without
    # arrays. The capsule releases whatever is not released here.
    capsule = table.__arrow_c_stream__()
    stream = _Stream.from_address(_address(capsule, b"arrow_array_stream"))
    with _taken(stream, stream.get_schema, _Schema()) as schema:
        fields = [child.contents for child in schema.children[: schema.n_children]]
        names = [field.name.decode() for field in fields]
        chosen = [place for place, name in enumerate(names) if only is None or name in only]
        yield None, {names[place]: (fields[place], None) for place in chosen}
        while True:
            with _taken(stream, stream.get_next, _Array()) as batch:
                if not batch.release:
                    return
                yield (
                    batch,
                    {names[i]: (fields[i], batch.children[i].contents) for i in chosen},
                )


def rows(table: "ArrowTable") -> list[dict[str, Any]]:
    """A table as a list of rows, each a dict of plain values by column."""
    lists = columns(table)
    return [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]


@contextmanager
def _taken(stream: Any, take: Callable[[Any, Any], int], target: Any) -> Iterator[Any]:
    if status := take(c.byref(stream), c.byref(target)):
        reason = stream.get_last_error(c.byref(stream)) or b"no reason is said"
        raise OSError(status, reason.decode())
    try:
        yield target
    finally:
        if target.release:
            target.release(c.byref(target))


def _values(field: Any, array: Any, start: int, number: int) -> list[Any]:
    start += array.offset
    if number == 0:
        return []
    values = _plain(field, array, start, number)
    words: list[Any] | None = None
    if field.dictionary:
        of = array.dictionary.contents
        words = _values(field.dictionary.contents, of, 0, of.length)
    if not array.null_count or not array.buffers[0]:
        return values if words is None else [words[place] for place in values]
    known = zip(values, _bits(array.buffers[0], start, number), strict=True)
    if words is None:
        return [value if there else None for value, there in known]
    return [words[place] if there else None for place, there in known]


def _plain(field: Any, array: Any, start: int, number: int) -> list[Any]:
    # Values before nulls are applied: the value at a null is meaningless.
    kind, buffers = field.format.decode(), array.buffers
    if kind in _NUMBERS:
        return _numbers(_NUMBERS[kind], buffers[1], start, number)
    if kind == "b":
        return _bits(buffers[1], start, number)
    ends = _numbers("q" if kind in ("U", "Z", "+L") else "i", buffers[1], start, number + 1)
    first, last = ends[0], ends[-1]
    inner: Any
    if kind in ("+l", "+L"):
        inner = _values(field.children[0].contents, array.children[0].contents, first, last - first)
    elif kind in ("u", "U", "z", "Z"):
        inner = c.string_at(buffers[2] + first, last - first) if last > first else b""
    else:
        raise TypeError(f"column {field.name.decode()} is of Arrow's type {kind}")
    parts = [inner[at - first : end - first] for at, end in pairwise(ends)]
    return [part.decode() for part in parts] if kind in ("u", "U") else parts


def _numbers(kind: str, address: int, start: int, number: int) -> list[Any]:
    size = struct.calcsize(kind)
    held = (c.c_char * (number * size)).from_address(address + start * size)
    return memoryview(held).cast("B").cast(kind).tolist()  # type: ignore[call-overload,no-any-return]


def _bits(address: int, start: int, number: int) -> list[bool]:
    # Arrow packs bits from the least significant bit of each byte.
    first = start // 8
    held = c.string_at(address + first, (start + number + 7) // 8 - first)
    bits = list(chain.from_iterable(map(_BITS.__getitem__, held)))
    return bits[start % 8 : start % 8 + number]
