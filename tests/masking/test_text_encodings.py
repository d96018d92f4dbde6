# Names in texts that went through another system, or were pasted: none is left.

import html
import quopri
import re
from collections.abc import Callable

from netcost_analysis._native import Capture
from netcost_analysis.masking import mask
from support.host import Fresh
from support.native_tables import Answer, rows
from support.text_capture import tables
from support.text_kinds import EVENTS, lines
from support.text_steps import BEFORE, BEHIND, step

# Those of native/tests/formats/text/changes.rs.
ENCODINGS: dict[str, Callable[[str], bytes]] = {
    "utf-8 with mark": lambda text: ("\ufeff" + text).encode(),
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


# The first line is an event's, so that a mark stands before a name.
def test_every_encoding(fresh: Fresh) -> None:
    text = "\n".join(line for line in lines("perf") if not line.startswith("#"))
    for encoding in ENCODINGS.values():
        folder = fresh()
        (folder / "in").write_bytes(encoding(text))
        mask(folder / "in", folder / "out")
        masked = (folder / "out").read_bytes()
        assert [one for one in (b"a b", b"\0", b"\xef\xbb\xbf") if one in masked] == []
        assert sum(len(table) for table in tables(folder, masked).values()) == EVENTS


# A pasted line keeps its task's name to itself as any other's does.
def test_pasted_lines(fresh: Fresh) -> None:
    for blank in ("\t", "\u00a0"):
        folder = fresh()
        source, target = folder / "pasted.txt", folder / "out.txt"
        text = BEFORE + step(1, 400, "sched_waking: comm=alice pid=9 prio=120 target_cpu=000")
        source.write_text((text + BEHIND).replace("sh-8", "bob-8").replace(" ", blank))
        mask(source, target)
        masked = target.read_text()
        assert "alice" not in masked
        assert "bob" not in masked
        assert Answer(target).segments[0]["end_ns"] == Answer(source).segments[0]["end_ns"]
        assert len(rows(Capture(str(target)).events("sched:sched_waking"))) == 1
