# netcost mask on texts of perf script, trace-cmd report and ftrace.

import html
import quopri
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from netcost_analysis._native import Capture
from netcost_analysis.masking import mask
from netcost_analysis.masking.names import Names
from netcost_analysis.masking.texts import Texts
from support.host import Fresh
from support.masking import numbers
from support.native_tables import Answer, rows
from support.outputs import OUTPUTS, SECRET_OUTPUTS, SECRETS, figures
from support.texts import BEFORE, BEHIND, EVENTS, HEADERS, capture, lines, step

TEXT_SECRETS = [
    *(b"a b", b"sh-", b"=sh ", b" sh ", b"/bin/true", b"=true pid", b": vm", b"other-task"),
]


def test_a_text_of_every_tool(fresh: Fresh) -> None:
    for kind in sorted(HEADERS):
        folder = fresh()
        source, target = folder / "in", folder / "out"
        source.write_text("\n".join([*lines(kind), "a line of other-task 10.1.2.3", ""]))
        masked = mask(source, target)
        text = target.read_bytes()
        assert [secret for secret in TEXT_SECRETS if secret in text] == []
        assert text.count(b"\n") == source.read_bytes().count(b"\n")
        one, other = numbers(source), numbers(target)
        assert one == other
        assert one["tables"]["sched:sched_switch"]
        assert masked.replaced["task"] >= 2


# What stands above the lines tells how to read them: it stays, and what somebody wrote does not.
def test_the_headers_of_texts(tmp_path: Path) -> None:
    for kind, header in HEADERS.items():
        source, target = tmp_path / kind, tmp_path / f"{kind}-out"
        source.write_text("\n".join([*lines(kind), "# alice recorded this", ""]))
        mask(source, target)
        text = target.read_text()
        assert "alice" not in text
        kept = [
            line for line in header.splitlines() if "hostname" not in line and "cmd" not in line
        ]
        assert [line for line in kept if line not in text] == []
        one, other = Capture(str(source)).header(), Capture(str(target)).header()
        assert (one["nr_cpus"], one["os_release"]) == (other["nr_cpus"], other["os_release"])


# Where it was called is the kernel's word, and tells that the line is an event.
@pytest.mark.parametrize(
    "place", ["ip_rcv+0x1c/0x80:", "ip_rcv+0x1c/0x80 [mod]:", "0xffffffff81a2b3c4:"]
)
def test_a_message_of_trace_printk(place: str, tmp_path: Path) -> None:
    source, target = tmp_path / "in", tmp_path / "out"
    source.write_text(f"sh-7 [000] d..1. 1.000001: {place} secret 5\n")
    mask(source, target)
    assert target.read_text().endswith(f"1.000001: {place} - 5\n")
    assert numbers(source) == numbers(target)


# Words that nobody knows, of an event that nobody knows.
def test_the_text_of_an_unknown_event(fresh: Fresh) -> None:
    for line, wanted in (
        ("probe:x: user=alice host=10.1.2.3 n=7 ptr=0xffff", "user=- host=10.X n=7 ptr=0xffff"),
        ("net:netif_rx: dev=eth0 skbaddr=0xff len=60", "dev=eth0 skbaddr=0xff len=60"),
        ("sock:x: family=AF_INET saddr=10.1.2.3", "family=AF_INET saddr=10.X"),
        ("my:note: alice logged in (7)", "- - - (7)"),
    ):
        folder = fresh()
        source, target = folder / "in", folder / "out"
        source.write_text(f"      openssl   500 [000]  100.000001: {line}\n")
        mask(source, target)
        masked = target.read_text()
        assert "alice" not in masked
        assert "10.1.2.3" not in masked
        text = masked.split(": ", 2)[2].strip()
        known = [word for word in wanted.split() if "10.X" not in word]
        assert [word for word in text.split() if word in known] == known


# Lines that patterns could take ages for: masked in the time that their size explains.
@pytest.mark.parametrize("event", ["my:event", "sched:sched_wakeup", "sched:sched_switch"])
def test_long_lines(tmp_path: Path, event: str) -> None:
    texts = (
        *("a" * 60_000, "a=[" * 20_000, "f" * 60_000 + "x", "k=" + "1" * 60_000 + "x"),
        *("1 (" * 20_000, "comm=a " * 9_000, "comm=" * 12_000, "::" * 30_000),
        *("1.2.3." * 10_000, "a_" * 30_000),
    )
    for number, text in enumerate(texts):
        source = tmp_path / f"in{number}"
        source.write_text(f"      openssl   500 [000]  100.000001: {event}: {text}\n" * 2)
        mask(source, tmp_path / f"out{number}")


# Who quoted a text, and where it was logged, is no part of the recording.
def test_what_a_chat_or_log_put_before_lines_is_left_out(fresh: Fresh) -> None:
    for before in ("12:{at:02} <alice> ", "Nov 22 00:49:{at:02} hq-7 app[7]: ", "> "):
        folder = fresh()
        source, target = folder / "in", folder / "out"
        whole = [line.lstrip() for line in lines("perf")]
        source.write_text(
            "".join(f"{before.format(at=at % 60)}{line}\n" for at, line in enumerate(whole))
        )
        masked = mask(source, target)
        text = target.read_bytes()
        secrets = [*TEXT_SECRETS, b"alice", b"hq-7"]
        assert [secret for secret in secrets if secret in text] == []
        assert text.count(b">") == text.count(b"==>")
        assert numbers(source) == numbers(target)
        assert masked.replaced["task"] == 3


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
        events = capture(folder, masked).all_events()
        assert sum(len(rows(table)) for table in events.values()) == EVENTS


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


# What benchmarks print: a masked output has the same figures, and no name.


FAILED = [path.stem for path in OUTPUTS if path.stem.endswith("-none")]


def masked(text: str, path: str = "victim.txt") -> str:
    texts = Texts(Names())
    texts.find_hosts(path, text)
    return texts.rule(path)(text)


@pytest.mark.parametrize("path", OUTPUTS, ids=[path.stem for path in OUTPUTS])
def test_every_program_keeps_its_figures(path: Path) -> None:
    text = path.read_bytes().decode().replace("127.0.0.1", "203.0.113.77")
    for name in ("victim.txt", "load.txt", "after/work", "files/output"):
        shown = masked(text, name)
        assert "203.0.113.77" not in shown
        assert figures(shown) == figures(text)
    assert figures(text) or path.stem in FAILED


@pytest.mark.parametrize("output", SECRET_OUTPUTS)
def test_what_its_user_typed_goes(output: str) -> None:
    shown = masked(SECRET_OUTPUTS[output])
    assert [secret for secret in SECRETS if secret in shown] == []
    kept = [one for one in figures(SECRET_OUTPUTS[output]) if "hunter2" not in one.test]
    assert figures(shown) == kept != []


def test_a_work_number_stays() -> None:
    assert masked("4711\n", "before/work") == "4711\n"
    assert masked("@ 1 5 6\n4711\n", "samples/work") == "@ 1 5 6\n4711\n"
