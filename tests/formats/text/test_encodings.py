# A text that went through another system: UTF-16, which PowerShell's > writes, lines that end with
# CR alone, a mail's quoted-printable, a page's entities, a terminal's colours. All are read, with a
# note, and what cannot be is refused by its name.

import html
import quopri
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from netcost_analysis._native import CaptureError
from netcost_analysis.masking import mask
from support.host import Fresh
from support.native_tables import rows
from support.text_capture import capture, flat, tables
from support.text_mutants import EVENTS, LINES, lines

ENCODINGS: dict[str, Callable[[str], bytes]] = {
    "utf-16 of PowerShell": lambda text: text.replace("\n", "\r\n").encode("utf-16"),
    "utf-16-le without mark": lambda text: text.encode("utf-16-le"),
    "utf-16-be": lambda text: ("\ufeff" + text).encode("utf-16-be"),
    "utf-16-be without mark": lambda text: text.encode("utf-16-be"),
    "utf-16 with CR": lambda text: text.replace("\n", "\r").encode("utf-16"),
    "CR": lambda text: text.replace("\n", "\r").encode(),
    "quoted-printable": lambda text: quopri.encodestring(text.encode()),
    "entities": lambda text: html.escape(text, quote=False).encode(),
    "colours": lambda text: re.sub(r"(\[\d+\])", "\x1b[1;31m\\1\x1b[0m", text).encode(),
}
# What a note calls each.
WORDS = ("UTF-16", "CR alone", "quoted-printable", "entities", "colours")
every_encoding = pytest.mark.parametrize("encoding", sorted(ENCODINGS))


@every_encoding
def test_every_kind_of_text(tmp_path: Path, encoding: str) -> None:
    for kind in sorted(LINES):
        text = "\n".join(lines(kind))
        encoded = ENCODINGS[encoding](text)
        assert flat(tables(tmp_path, encoded)) == flat(tables(tmp_path, text))
        one = capture(tmp_path, encoded)
        assert one.scan()["records"]["event"] == EVENTS
        notes = " ".join(one.header()["notes"])
        of = {"UTF-16": "utf" in encoding, "CR alone": "CR" in encoding}
        changed = encoded != text.encode()
        words = {word: of.get(word, word == encoding) and changed for word in WORDS}
        assert {word: word in notes for word in words} == words


# What Windows' programs begin a text in UTF-8 with is no part of the first task's name.
def test_a_mark_before_a_text_in_utf_8(fresh: Fresh) -> None:
    for newline in ("\n", "\r\n", "\r"):
        for kind in sorted(LINES):
            folder = fresh()
            text = "\n".join(line for line in lines(kind) if not line.startswith(("#", "cpus=")))
            marked = ("\ufeff" + text).replace("\n", newline).encode()
            assert flat(tables(folder, marked)) == flat(tables(folder, text))
            first = rows(capture(folder, marked).events("irq:irq_handler_entry"))[0]
            assert (first["common_comm"], first["common_pid"]) == ("sh", 7)
            (folder / "in").write_bytes(marked)
            mask(folder / "in", folder / "out")
            assert "\ufeff" not in (folder / "out").read_text()


# More than is read at once, letters of every width on every border, and a byte too many at the end.
def test_a_long_text_of_all_letters(tmp_path: Path) -> None:
    # Without an = nothing tells that a text is quoted-printable.
    for encoding in sorted(set(ENCODINGS) - {"quoted-printable"}):
        line = "{:>16}-7 [000] d..1. 1.{:06}: print: {}\n"
        text = "".join(line.format("ä€😀"[: at % 4], at, "x" * (at % 7)) for at in range(8_000))
        plain = capture(tmp_path, text, "plain.txt")
        encoded = ENCODINGS[encoding](text) + (b"x" if "utf-16-le" in encoding else b"")
        shown = capture(tmp_path, encoded)
        assert shown.scan()["events"] == plain.scan()["events"] == {"ftrace:print": 8_000}
        assert flat(tables(tmp_path, encoded)) == flat(tables(tmp_path, text))


def test_a_masked_text_has_no_names_in_any_encoding(fresh: Fresh) -> None:
    for encoding in sorted(ENCODINGS):
        folder = fresh()
        text = "\n".join(lines("perf"))
        (folder / "in").write_bytes(ENCODINGS[encoding](text))
        mask(folder / "in", folder / "out")
        masked = (folder / "out").read_bytes()
        assert b"a b" not in masked
        assert b"\0" not in masked
        assert sum(len(table) for table in tables(folder, masked).values()) == EVENTS


def test_utf_32_is_refused_by_its_name(tmp_path: Path) -> None:
    for encoding in ("utf-32", "utf-32-be"):
        mark = "" if encoding == "utf-32" else "\ufeff"
        with pytest.raises(CaptureError, match=r"^not .* UTF-32;"):
            capture(tmp_path, (mark + "\n".join(lines("perf"))).encode(encoding))


def test_other_bytes_in_such_an_encoding_are_refused(tmp_path: Path) -> None:
    for data in (b"\xff\xfe" * 40, b"\xff\xfea\0" * 20, b"\xfe\xff\0a\0\r" * 9):
        with pytest.raises(CaptureError, match=r"^not a capture"):
            capture(tmp_path, data)
