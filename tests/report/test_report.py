# netcost report: one self-contained page of a notebook, its parameters and its errors.

import os
import re
import signal
import subprocess
import sys
import time
from html import escape
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from netcost_analysis import CaptureError
from netcost_analysis.report.notebook import NotebookError
from netcost_analysis.report.report import (
    LINKS,
    OTHERS,
    find_notebook,
    our_notebooks,
    short_name,
    write_report,
)
from support.doctored import doctored
from support.host import ROOT
from support.perfdata import Recording, cpu, recording
from support.perfdata import happenings as h
from support.run_cli import Netcost
from support.told import robbed, written
from support.tracedat import Dress, write_trace_dat

PICTURE = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()"


# What a browser would fetch, and the pictures' texts. Frames alone have scripts, written there.
class Resources(HTMLParser):
    def __init__(self, is_framed: bool = False) -> None:
        super().__init__()
        self.is_framed = is_framed
        self.fetched: list[str] = []
        self.alt: list[str] = []

    def feed(self, data: str) -> None:
        # Of a report's own scripts there is one, which is known.
        super().feed(data.replace(LINKS, "", 1))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "img":
            self.alt.append(given.get("alt") or "")
        if tag == "iframe" and given.get("srcdoc") and given.get("sandbox") == "allow-scripts":
            inside = Resources(is_framed=True)
            inside.feed(str(given["srcdoc"]))
            self.fetched += inside.fetched
        elif tag in ("iframe", "object", "embed") or (tag == "script" and not self.is_framed):
            self.fetched.append(tag)
        names = ["src", "srcset", "data", "poster", *(["href"] if tag == "link" else [])]
        self.fetched += [str(given[name]) for name in names if given.get(name)]


def test_the_page_needs_nothing_else(netcost: Netcost, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    done = netcost("report", str(doctored(tmp_path / "b")), "-o", str(path), "--json")
    assert done.err == ""
    assert done.json["bytes"] == path.stat().st_size
    page = path.read_text()
    resources = Resources()
    resources.feed(page)
    assert len(resources.fetched) >= 7
    assert all(one.startswith("data:image/png;base64,") for one in resources.fetched)
    assert all(resources.alt)
    # Code stays out.
    assert not re.search(r"url\(|@import|import netcost_analysis|Traceback", page)


def test_a_victim_that_is_not_there(netcost: Netcost, tmp_path: Path) -> None:
    path, page = written(tmp_path, robbed()), tmp_path / "page.html"
    done = netcost("report", str(path), "-o", str(page), "--victim", "opensl")
    assert (done.code, len(done.err.splitlines())) == (1, 1)
    assert "'opensl'" in done.err
    assert not page.exists()


def notebook(folder: Path, *sources: str, parameters: str = "path = 'default'") -> Path:
    cells = [
        new_markdown_cell("# Stolen <someone>"),
        new_code_cell(parameters, metadata={"tags": ["parameters"]}),
        *(new_code_cell(source) for source in sources),
    ]
    path = folder / "book.ipynb"
    nbformat.write(new_notebook(cells=cells), path)
    return path


def test_one_page_with_the_pictures_inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watched = "import os\nprint('progress', os.environ['NETCOST_PROGRESS'])"
    book = notebook(tmp_path, PICTURE, "print(path)", watched)
    before = book.read_bytes()
    page = tmp_path / "report.html"
    monkeypatch.chdir(tmp_path)
    write_report(book, "a & b.data", str(page))
    text = page.read_text()
    assert "<pre>a &amp; b.data\n" in text
    assert "progress 0" in text
    assert "NETCOST_PROGRESS" not in os.environ
    assert "<title>Stolen &lt;someone&gt;</title>" in text
    assert 'src="data:image/png;base64,' in text
    assert not re.search(r"""(?:src|href)\s*=\s*["']?https?:""", text)
    assert "plt.plot" not in text
    assert book.read_bytes() == before
    assert sorted(one.name for one in tmp_path.iterdir()) == ["book.ipynb", "report.html"]


def test_markdown_has_words_and_tables_and_no_pictures(tmp_path: Path) -> None:
    shown = (
        "from IPython.display import display\n"
        "display({'text/html': '<b>H</b>', 'text/markdown': '**M**', 'text/plain': 'P'}, raw=True)"
    )
    book = notebook(tmp_path, PICTURE, shown, "print('```\\n<capture>', path)", "{'html': 'no'}")
    text = tmp_path / "report.md"
    write_report(book, "a`b", str(text))
    *parts, rule, end = text.read_text().split("\n\n")
    # A fence is longer than any that was printed.
    printed = ["````", "```", "<capture> a`b"]
    parts_of = [part.split("\n") for part in parts]
    assert parts_of[:2] == [["# Stolen <someone>"], ["**M**"]]
    assert parts_of[2:] == [printed, ["````"], ["```", "{'html': 'no'}", "```"]]
    assert rule == "---"
    assert end.endswith(f"'a`b' --notebook {book} ``\n")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["book.ipynb", "report.md"]


def test_pictures_of_a_notebooks_words_go_into_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = {"a.png": {"image/png": "QQ=="}}
    words = "# Two pictures\n\n![one](attachment:a.png) ![two](b.jpg) <b>bold</b>"
    cells = [new_markdown_cell(words, attachments=kept), new_code_cell("path = 0")]
    cells[1].metadata["tags"] = ["parameters"]
    nbformat.write(new_notebook(cells=cells), tmp_path / "book.ipynb")
    (tmp_path / "b.jpg").write_bytes(b"B")
    monkeypatch.chdir(tmp_path)
    write_report(tmp_path / "book.ipynb", "x", "report.html")
    page = Path("report.html").read_text()
    sources = re.findall(r'src="([^"]+)"', page)
    assert sources == ["data:image/png;base64,QQ==", "data:image/jpeg;base64,Qg=="]
    assert '<h1 id="Two-pictures">' in page
    assert "<b>bold</b>" in page


def test_code_is_kept_when_asked_for(tmp_path: Path) -> None:
    page, text = tmp_path / "report.html", tmp_path / "report.md"
    for path in (page, text):
        write_report(notebook(tmp_path, "answer = 6 * 7"), "x", str(path), with_code=True)
    assert "answer" in page.read_text()
    assert "```python\nanswer" in text.read_text()


def test_a_cell_that_fails_leaves_the_old_report(tmp_path: Path) -> None:
    book = notebook(tmp_path, "raise ValueError('nothing')")
    for name in ("report.html", "report.md"):
        (tmp_path / name).write_text("old")
        with pytest.raises(NotebookError, match=r": ValueError: nothing$"):
            write_report(book, "x", str(tmp_path / name))
        assert (tmp_path / name).read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 3


def test_what_is_wrong_with_the_capture_is_told_in_its_own_words(tmp_path: Path) -> None:
    def check() -> None:
        raise CaptureError("samples alone")

    book = notebook(tmp_path, "raise ValueError('no such thing')")
    with pytest.raises(CaptureError, match=r"^samples alone$"):
        write_report(book, "x", str(tmp_path / "report.html"), check=check)
    # A notebook that works needs nobody's advice.
    write_report(notebook(tmp_path, "1"), "x", str(tmp_path / "report.html"), check=check)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["book.ipynb", "report.html"]


# What a cell had unpacked goes too, and nothing calls it a bug.
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_report_that_is_ended(number: signal.Signals, tmp_path: Path) -> None:
    one = recording(cpu(0, h.SoftirqEntry(1_000, 3), h.SoftirqExit(1_500, 3)))
    path, mine = str(write_trace_dat(one, tmp_path / "trace.dat", Dress())), tmp_path / "mine"
    mine.mkdir()
    begun, page = tmp_path / "begun", tmp_path / "r.html"
    packed = str(ROOT / "sample-data/io-sizes/tcp-1024.netcost.tar.zst")
    left = f"import netcost_analysis\nkept = netcost_analysis.open_capture({packed!r}).info"
    waits = f"import pathlib, time\npathlib.Path({str(begun)!r}).touch()\ntime.sleep(60)"
    book = str(notebook(tmp_path, left, waits))
    words = ("netcost_analysis", "report", path, "-o", str(page), "--notebook", book)
    run = subprocess.Popen(
        [sys.executable, "-m", *words],
        env={**os.environ, "TMPDIR": str(mine)},
        stderr=subprocess.PIPE,
        text=True,
        # In the background of a shell it would be ignored, as it should be.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )
    while not begun.exists():
        assert run.poll() is None
        time.sleep(0.05)
    run.send_signal(number)
    _, err = run.communicate()
    assert run.returncode == (130 if number == signal.SIGINT else 143)
    assert "a bug" not in err
    assert list(mine.iterdir()) == []
    assert not page.exists()


# A notebook that knows no buffer must not silently read another one.
def test_a_report_is_on_the_buffer_asked_for(netcost: Netcost, tmp_path: Path) -> None:
    def one(at: int) -> Recording:
        return recording(cpu(0, h.SoftirqEntry(at, 3), h.SoftirqExit(at + 500, 3)))

    dress, page = Dress(instances={"other": one(5_000)}), tmp_path / "report.html"
    path = str(write_trace_dat(one(1_000), tmp_path / "trace.dat", dress))
    told = "import netcost_analysis\nprint(netcost_analysis.open_capture(path, buffer).start_ns)"
    knows = notebook(tmp_path, told, parameters="path = None\nbuffer = None")
    words = ("report", path, "-o", str(page), "--notebook", str(knows))
    assert netcost(*words, "--buffer", "other").code == 0
    assert "<pre>5000\n</pre>" in page.read_text()
    assert netcost(*words).code == 0
    assert "<pre>1000\n</pre>" in page.read_text()
    assert netcost(*words, "-o", str(page.with_suffix(".md"))).code == 0
    assert "```\n1000\n\n```" in page.with_suffix(".md").read_text()
    notebook(tmp_path, told)
    run = netcost(*words, "--buffer", "other")
    assert (run.code, run.err.count("\n")) == (1, 1)
    assert {"book.ipynb", "buffer"} <= set(run.err.split())


# A file of the default's name is read where it is named, and not else.
def test_a_notebook_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("stolen-time", "01-stolen-time", "01", "1", "01-stolen-time.ipynb"):
        assert find_notebook(name).name == "01-stolen-time.ipynb"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stolen-time").write_text("none")
    assert find_notebook().name == "01-stolen-time.ipynb"
    assert find_notebook("stolen-time") == Path("stolen-time")


def test_the_page_names_the_command_that_was_given(netcost: Netcost, tmp_path: Path) -> None:
    one = recording(cpu(0, h.SoftirqEntry(1_000, 3), h.SoftirqExit(1_500, 3)))
    path, page = str(write_trace_dat(one, tmp_path / "a trace.dat", Dress())), tmp_path / "r.html"
    book = notebook(tmp_path, "print(len(victim))", parameters="path = None\nvictim = 'default'")
    mine = book.rename(tmp_path / "my-stolen-time.ipynb")
    words = ("report", path, "-o", str(page), "--notebook", str(mine))
    assert netcost(*words).code == 0
    assert "<pre>7\n</pre>" in page.read_text()
    assert netcost(*words, "--victim", "").code == 0
    text = page.read_text()
    assert "<pre>0\n</pre>" in text
    command = f"netcost report '{path}' --notebook {mine} --victim ''"
    assert escape(command, quote=False) in text


@pytest.mark.parametrize("name", OTHERS)
def test_a_notebook_of_another_command_names_it(
    netcost: Netcost, tmp_path: Path, name: str
) -> None:
    page = tmp_path / "r.html"
    for path in ("nothing", str(ROOT / "sample-data" / "nic-guest")):
        run = netcost("report", path, "-o", str(page), "--notebook", name)
        assert run.code == 2
        assert run.err.endswith(f": {OTHERS[name][0]} -o {page}\n")
    assert not page.exists()


def test_report_makes_the_notebooks_about_one_capture() -> None:
    about = {
        short_name(path): "netcost.open_capture(path" in path.read_text()
        for path in our_notebooks()
    }
    assert {name for name, is_of_one in about.items() if not is_of_one} == set(OTHERS)
