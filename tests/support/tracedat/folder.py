# A described timeline as a folder of copies from tracefs: what netcost-record leaves where it finds
# neither perf nor trace-cmd, and what a customer may copy by hand.

from pathlib import Path

from support.perfdata.timeline import Recording
from support.perfdata.tracing import HEADER_EVENT, header_page

from .told import USUAL, Dress


def write_tracefs(told: Recording, folder: Path, dress: Dress = USUAL) -> Path:
    contents = dress.contents(told)
    top, machine = contents.top, contents.machine
    files = {
        "header_page": header_page(machine, top.page_size),
        "header_event": HEADER_EVENT,
        "trace_clock": contents.clock_file,
        "saved_cmdlines": "".join(f"{pid} {comm}\n" for pid, comm in contents.cmdlines.items()),
        "printk_formats": contents.printk,
        "uname": "Linux described 6.18.0 x86_64\n",
    }
    for one in (*contents.formats, *contents.own_formats):
        files[f"events/{one.system}/{one.name}/format"] = one.text(machine)
    for cpu, pages in top.rings.items():
        files[f"per_cpu/cpu{cpu}/stats"] = "entries: 0\noverrun: 0\ndropped events: 0\n"
        raw = folder / f"per_cpu/cpu{cpu}/raw"
        raw.parent.mkdir(parents=True, exist_ok=True)
        raw.write_bytes(pages)
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder
