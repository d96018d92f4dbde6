# decode(write(x)) == x for the events of any tracepoint, whatever its recorded format says and
# whichever machine recorded it.

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from netcost_analysis._native import Capture
from support.host import Fresh, examples
from support.native_tables import rows
from support.perfdata import (
    MACHINES,
    Attr,
    Common,
    Field,
    FinishedRound,
    Format,
    Machine,
    Record,
    Sample,
    Where,
    write_file,
    write_pipe,
)
from support.perfdata.formats import COMMON, COMMON_3_4, COMMON_RT

INTEGERS = [
    ("char", 1, True),
    ("s8", 1, True),
    ("u8", 1, False),
    ("unsigned char", 1, False),
    ("short", 2, True),
    ("unsigned short", 2, False),
    ("__be16", 2, False),
    ("int", 4, True),
    ("pid_t", 4, True),
    ("unsigned int", 4, False),
    ("gfp_t", 4, False),
    ("enum skb_drop_reason", 4, False),
    ("long", 8, True),
    ("s64", 8, True),
    ("unsigned long", 8, False),
    ("u64", 8, False),
    ("size_t", 8, False),
    ("void *", 8, False),
    ("struct net_device *", 8, False),
    ("const void *", 8, False),
]
# A dynamic array's format says nothing of its elements' size but their type's name.
UNSIZED = ("char", "gfp_t", "enum skb_drop_reason")
TEXT = st.text(
    st.characters(min_codepoint=1, max_codepoint=0x2FFF, exclude_categories=["Cs"]), max_size=24
)


def integer(size: int, signed: bool) -> st.SearchStrategy[int]:
    half = 1 << (8 * size - 1)
    low, high = (-half, half - 1) if signed else (0, 2 * half - 1)
    return st.sampled_from([low, high, 0, 1]) | st.integers(low, high)


def values(one: Field) -> st.SearchStrategy[Any]:
    if one.is_text:
        if one.count is None:
            return TEXT
        # A char[N] may be full to the last byte, without a NUL.
        return TEXT.filter(lambda text: len(text.encode()) <= one.count)
    if one.type == "bool":
        return st.booleans()
    if one.type == "struct point":
        return st.binary(min_size=20, max_size=20)
    single = integer(one.size, one.signed)
    if one.count is not None:
        return st.lists(single, min_size=one.count, max_size=one.count)
    return st.lists(single, max_size=6) if one.loc else single


@st.composite
def fields(draw: st.DrawFn, name: str) -> Field:
    shape = draw(
        st.sampled_from(
            ["scalar", "scalar", "bool", "struct", "array", "text", "data", "rel", "texts"]
        )
    )
    type_, size, signed = draw(st.sampled_from(INTEGERS))
    match shape:
        case "bool":
            return Field("bool", name, 1)
        # Of a type that user space defined: some bytes, and those around it are read.
        case "struct":
            return Field("struct point", name, 20)
        case "text":
            return Field("char", name, 1, draw(st.booleans()), draw(st.integers(1, 24)))
        case "texts":
            return Field("char", name, 1, False, None, draw(st.sampled_from(["data", "rel"])))
        case "array" if type_ != "char" and "*" not in type_:
            return Field(type_, name, size, signed, draw(st.integers(1, 5)))
        case "data" | "rel" if type_ not in UNSIZED and "*" not in type_:
            return Field(type_, name, size, signed, None, shape)
    return Field(type_, name, size, signed)


@st.composite
def formats(draw: st.DrawFn, identity: int) -> Format:
    names = [f"field_{number}" for number in range(draw(st.integers(0, 7)))]
    common = draw(st.sampled_from([COMMON, COMMON_RT, COMMON_3_4]))
    members = tuple(draw(fields(name)) for name in names)
    # Probes and user_events have one field right behind the other.
    return Format(
        "made", f"event_{identity}", identity, members, '"x"', common, draw(st.booleans())
    )


@st.composite
def captures(
    draw: st.DrawFn,
) -> tuple[Machine, list[Format], list[tuple[Where, dict[str, Any]]]]:
    machine = draw(st.sampled_from(list(MACHINES.values())))
    made = [draw(formats(identity)) for identity in range(1, 1 + draw(st.integers(1, 3)))]
    told = []
    for number in range(draw(st.integers(0, 12))):
        place = draw(st.integers(0, len(made) - 1))
        row = {one.name: draw(values(one.on(machine))) for one in made[place].fields}
        tid = draw(st.integers(0, 2**31 - 1))
        told.append((Where(draw(st.integers(0, 3)), 1000 + number, tid, tid, place), row))
    return machine, made, told


def plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return list(value)
    return value.split("\0")[0] if isinstance(value, str) else value


@examples(50)
@given(captures(), st.booleans())
def test_decoding_what_was_written_gives_what_was_described(
    fresh: Fresh, described: Any, pipe: bool
) -> None:
    machine, made, told = described
    attrs = [Attr(one.event, one.id, (10 * one.id,)) for one in made]
    records: list[Record] = [
        Sample(where, made[where.event].pack(row, Common(pid=where.tid), machine))
        for where, row in told
    ]
    # perf never leaves the data of a finished recording empty.
    records.append(FinishedRound())
    path = fresh() / "perf.data"
    write = write_pipe if pipe else write_file
    path.write_bytes(write(attrs, made, records, machine=machine))
    capture = Capture(str(path))
    for place, one in enumerate(made):
        names = [field.name for field in one.fields if field.type != "struct point"]
        wanted = [
            (where.time, where.cpu, where.tid, *(plain(row[name]) for name in names))
            for where, row in told
            if where.event == place
        ]
        columns = ("time_ns", "common_cpu", "common_pid", *names)
        for limit in (None, 0, 1):
            table = rows(capture.events(one.event, limit))
            found = [tuple(plain(row[name]) for name in columns) for row in table]
            assert found == wanted[:limit]
