# A described timeline as trace-cmd would have recorded it. The events are those of the perf.data
# writer; what differs is what each recorder adds: ftrace has a ring for each CPU, saved command
# lines in place of records of names, and losses that a sub-buffer tells of.

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from support.host import write_files
from support.perfdata import happenings as h
from support.perfdata.features import HEADER_EVENT, header_page
from support.perfdata.formats import Common, Format, Value
from support.perfdata.machine import Machine
from support.perfdata.timeline import Cpu, Recording

from . import options as o
from .contents import Buffer, Contents
from .encoded import ZSTD, Packing, encoded
from .ring import PLAIN, Discarded, Entry, Item, Missed, Style, Taken, ring

# perf's name of a clock (what a told recording has) to ftrace's.
CLOCKS = {
    "monotonic": "mono",
    "monotonic_raw": "mono_raw",
    "boottime": "boot",
    "realtime": "global",
    None: "perf",
}


NO_FLAGS = Common()


# An event that no happening describes: ftrace's own, for one.
@dataclass(frozen=True)
class Beside:
    cpu: int
    at: int
    format: Format
    values: Mapping[str, Value]
    common: Common = NO_FLAGS


@dataclass(frozen=True)
class Dress:
    version: int = 7
    packing: Packing = ZSTD
    style: Style = PLAIN
    # Of the file; a sub-buffer may be larger.
    page_size: int = 4096
    # ftrace's name; by default what the timeline's clock is called there.
    clock: str | None = None
    # Rank of a CPU in the order of the file.
    rank: Callable[[int], int] = lambda cpu: cpu
    # A record that was given back, before every so many records.
    discard_each: int | None = None
    # Whether the kernel says how many events a sub-buffer has missed.
    count_losses: bool = True
    options: tuple[o.Option, ...] = ()
    own_formats: tuple[Format, ...] = ()
    beside: tuple[Beside, ...] = ()
    # Other timelines in instances of their own, by name.
    instances: Mapping[str, Recording] = field(default_factory=dict, repr=False)
    user_word: int | None = None
    old_clock: bool = False
    kallsyms: str = ""
    printk: str = ""

    def items(self, told: Recording, one: Cpu, beside: tuple[Beside, ...]) -> list[Item]:
        waiting = sorted((extra for extra in beside if extra.cpu == one.number), key=lambda e: e.at)
        items: list[Item] = []
        for event, what in told._simulated(one):
            while event is not None and waiting and waiting[0].at < event.at:
                items.append(self.entry(waiting.pop(0), told.machine))
            if event is not None:
                seen = Beside(one.number, event.at, event.format, event.values, event.common)
                items.append(self.entry(seen, told.machine))
            elif isinstance(what, h.Lost) and what.placed:
                items.append(Missed(what.count if self.count_losses else None))
            elif isinstance(what, h.Flush):
                items.append(Taken())
        items += [self.entry(extra, told.machine) for extra in waiting]
        return self.with_discarded(items)

    def entry(self, one: Beside, machine: Machine) -> Entry:
        payload = one.format.payload(one.values, one.common, machine)
        return Entry(one.at, payload)

    # Right behind a record, so that it falls between that and the next.
    def with_discarded(self, items: list[Item]) -> list[Item]:
        if self.discard_each is None:
            return items
        result: list[Item] = []
        entries = 0
        for number, item in enumerate(items):
            result.append(item)
            following = items[number + 1] if number + 1 < len(items) else None
            if isinstance(item, Entry) and isinstance(following, Entry):
                entries += 1
                if entries % self.discard_each == 0 and following.at > item.at:
                    result.append(Discarded(item.at + 1, 4 + 4 * (entries % 30)))
        return result

    def buffer(self, name: str, told: Recording) -> Buffer:
        beside = self.beside if not name else ()
        cpus = sorted(told.cpus, key=lambda one: self.rank(one.number))
        rings = {
            one.number: ring(self.items(told, one, beside), told.machine, self.style)
            for one in cpus
        }
        return Buffer(name, self.clock or CLOCKS[told.clock], rings, self.style.page_size)

    def contents(self, told: Recording) -> Contents:
        stated = [(o.UNAME, o.uname()), (o.VERSION, o.version()), (o.TRACEID, o.trace_id(0x17084))]
        stated += [(o.CPUSTAT, o.cpu_stat(one.number, 0)) for one in told.cpus]
        if self.version >= 7:
            stated += [(o.CPUCOUNT, o.cpu_count(max(one.number for one in told.cpus) + 1))]
        given = {one.id for one in self.options}
        usual = [option for identity, option in stated if identity not in given]
        return Contents(
            (
                self.buffer("", told),
                *(
                    self.buffer(name, replace(other, machine=told.machine))
                    for name, other in self.instances.items()
                ),
            ),
            told.formats,
            self.own_formats,
            told.machine,
            self.page_size,
            (*usual, *self.options),
            {task.tid: task.comm for task in told.known},
            self.kallsyms,
            self.printk,
            self.user_word,
        )


USUAL = Dress()


def write_trace_dat(told: Recording, path: Path, dress: Dress = USUAL) -> Path:
    """
    Write the timeline as trace.dat.

    :param dress: everything that does not change what happened
    """
    contents = dress.contents(told)
    path.write_bytes(encoded(contents, dress.version, dress.packing, old_clock=dress.old_clock))
    return path


# A folder of copies from tracefs: what netcost-record leaves where it finds neither perf nor
# trace-cmd, and what a customer may copy by hand.
def write_tracefs(told: Recording, folder: Path, dress: Dress = USUAL) -> Path:
    contents = dress.contents(told)
    top, machine = contents.top, contents.machine
    files: dict[str, str | bytes] = {
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
        files[f"per_cpu/cpu{cpu}/raw"] = pages
    return write_files(folder, files)
