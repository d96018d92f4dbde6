# Executes a notebook on a capture and writes it as one self-contained HTML file or as Markdown.

import shlex
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._native import CaptureError
from ..errors import ArgumentError
from ..files import replacing
from ..units import duration
from .notebook import NotebookError, execute, read_book
from .pages import html_of, page, text_of

if TYPE_CHECKING:
    from ..timeline.timeline import Timeline

# In the source tree, links to the notebooks; a wheel has the files.
_NOTEBOOKS = Path(__file__).resolve().parent.parent / "notebooks"
DEFAULT = "stolen-time"
# Notebooks that are not about one capture, with the command that writes each and its subject.
OTHERS = {
    "data-path-comparison": ("netcost sweep DIR", "a sweep over packet rates"),
    "fleet": ("netcost fleet-report DIR", "the answers to many captures"),
    "local-traffic-regression": ("netcost compare BASE NEW", "two sides with repeats"),
}
# Notebooks that need no ledger and accept a recording of samples alone.
OF_SAMPLES = ("where-the-cycles-go",)
# Bytes of the timeline, which is only a part of the page.
_MOST_IN_REPORT = 1_500_000


def find_notebook(name: str | None = None) -> Path:
    """The notebook of that name: a path, or one of the project's by name or number.

    "devices", "04-devices" and "04" are the same. None is the project's first, whatever files are
    in the working directory. Raises NotebookError with the known names.
    """
    if name is not None and Path(name).is_file():
        return Path(name)
    name = DEFAULT if name is None else name
    ours = our_notebooks()
    for path in ours:
        number, _, short = path.stem.partition("-")
        if name.removesuffix(".ipynb") in (path.stem, short, number, number.lstrip("0")):
            return path
    known = ", ".join(short for path in ours if (short := short_name(path)) not in OTHERS)
    raise NotebookError(f"no notebook {name!r}: name a file, or one of {known}")


def our_notebooks() -> list[Path]:
    """The project's notebooks, in reading order."""
    return sorted(_NOTEBOOKS.glob("[0-9]*.ipynb"))


def short_name(notebook: Path) -> str:
    """The name of a notebook of the project, without its number."""
    return notebook.stem.partition("-")[2]


def is_ours(notebook: Path) -> bool:
    """Whether a notebook is one of the project's."""
    return any(notebook.samefile(ours) for ours in our_notebooks())


def write_report(
    notebook: Path,
    capture: str,
    output: str,
    with_code: bool = False,
    parameters: Mapping[str, int | str | None] | None = None,
    beside: Mapping[str, Any] | None = None,
    named: Sequence[str] | None = None,
    frame: Callable[[dict[str, Any]], str] | None = None,
    check: Callable[[], None] | None = None,
) -> None:
    """Execute a notebook on a capture and export it, all or nothing.

    notebook: an .ipynb with a cell tagged "parameters" that sets path. capture: a path for
    open_capture, relative to the working directory. output: an HTML file, or one ending in .md for
    Markdown without pictures. parameters: further ones to set, such as victim; None leaves one to
    the notebook. beside: further arguments of open_capture, by name. named: the command to name in
    the page if it was not netcost report. frame: makes the page's last section from the cells'
    names. check: called after an error, to raise a better message about the capture. Raises
    NotebookError if a cell raises or the notebook lacks a parameter, and CaptureError if a cell
    asks for what netcost refuses.
    """
    chosen = {name: value for name, value in (parameters or {}).items() if value is not None}
    ours = is_ours(notebook)
    short = short_name(notebook) if ours else str(notebook)
    words = ["netcost", "report", capture]
    words += ["--notebook", short] if short != DEFAULT else []
    for name, value in (chosen | dict(beside or {})).items():
        words += [f"--{name.replace('_', '-')}", str(value)]
    given = {"beside": dict(beside)} if beside else {}
    book, is_page = read_book(notebook), Path(output).suffix != ".md"
    book.set_parameters({"path": capture, **chosen, **given}, notebook.name)
    command = shlex.join(named or words)
    try:
        last = execute(book, ours, frame if is_page else None, has_pictures=is_page)
    except (CaptureError, NotebookError):
        if check:
            check()
        raise
    if is_page:
        text = page(html_of(book, with_code), book.title(notebook.stem), command, last)
    else:
        text = text_of(book, command, with_code)
    with replacing(output) as draft:
        draft.write_text(text, encoding="utf-8")


# Links rows with a time to the timeline in the frame. BigInt, because times in ns exceed the
# precision of JavaScript's numbers. The frame loads lazily and sends a message when it is ready.
LINKS = """<script>
(() => {
  const frame = document.currentScript.previousElementSibling;
  const whole = Number(frame.dataset.durationNs);
  let ready = false, wanted = null;
  const go = () => {
    if (ready && wanted) frame.contentWindow.postMessage({ netcostVisit: wanted }, "*");
  };
  window.addEventListener("message", ({ source, data }) => {
    if (source !== frame.contentWindow || !data?.netcostReady) return;
    ready = true;
    go();
  });
  const after = (ns) => Number(BigInt(ns) - BigInt(frame.dataset.beginNs));
  for (const row of document.querySelectorAll("tr[data-place]")) {
    const [begin, end, cpu] = row.dataset.place.split(" ");
    const visit = { begin_ns: after(begin), end_ns: after(end), cpu: cpu ? Number(cpu) : null };
    if (visit.begin_ns < 0 || visit.begin_ns >= whole) continue;
    const link = document.createElement("a");
    link.href = "#timeline";
    link.title = "Show it in the timeline";
    link.append(...row.firstElementChild.childNodes);
    row.firstElementChild.append(link);
    link.addEventListener("click", (event) => {
      event.preventDefault();
      wanted = visit;
      frame.loading = "eager";
      frame.scrollIntoView({ block: "nearest" });
      go();
    });
  }
})();
</script>
"""


def section(timeline: "Timeline") -> str:
    """The last section of a report: the timeline, or an excerpt of a large one, in a frame.

    The page in the frame runs its own script and cannot reach the page around it.
    """
    from ..view.page import view_page

    shown = timeline.excerpt
    part = ""
    if shown is not timeline:
        # Read everything that the page needs in one pass.
        shown.load("displaced", "slices")
        part = f" {duration(shown.duration_ns)} from the middle of it."
    try:
        document = escape(view_page(shown, _MOST_IN_REPORT, timeline.given_victim))
    except ArgumentError as error:
        return f"<section><h2>Timeline</h2><p>{escape(str(error))}</p></section>\n"
    begin_ns = int(shown.summary["start_ns"])
    return (
        f'<section id="timeline"><h2>Timeline</h2><p>Who had each CPU when.{part} Click it, then '
        "zoom with the wheel. Rows of the tables above that have a time lead to it.</p>"
        '<iframe title="Timeline" sandbox="allow-scripts" loading="lazy" '
        f'data-begin-ns="{begin_ns}" data-duration-ns="{shown.duration_ns}" '
        f'style="width: 100%; height: 640px; border: 1px solid #9aa3ab" srcdoc="{document}">'
        f"</iframe>{LINKS}</section>\n"
    )
