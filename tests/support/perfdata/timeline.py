# A described timeline: CPUs, each with the task it starts with and what then happens to it, and how
# perf recorded that: which events, how the rings were flushed, what was lost. write() turns it into
# the bytes of a capture.

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from . import happenings as h
from . import tracepoints as t
from .attr import USUAL, Attr, SampleType
from .container import Encoder, write_directory, write_file, write_pipe
from .features import Header
from .formats import Format
from .machine import X86_64, Machine
from .records import Comm, FinishedRound, Lost, LostSamples, Record
from .sample import Sample, Where
from .simulate import Event, Preemption, SimulatedCpu

# Every mode of Recording.write but "directory", as what it passes on to write_file or write_pipe.
FILES: dict[str, dict[str, Any]] = {
    "file": {},
    "unfinished": {"unfinished": True},
    "version 1": {"version": 1, "names": True},
    "short header": {"version": 1, "names": True, "short": True},
}
PIPES: dict[str, dict[str, Any]] = {
    "pipe": {},
    "old pipe": {"old": True},
    "chrome pipe": {"old": True, "chrome": True},
}


@dataclass(frozen=True)
class Cpu:
    number: int
    happenings: tuple[h.Happening, ...]
    task: h.Task | None = None
    # Where the timeline begins in the middle of something: state that no recorded event announces.
    unseen: tuple[h.Happening, ...] = ()

    @property
    def first_task(self) -> h.Task:
        return h.idle(self.number) if self.task is None else self.task


def cpu(
    number: int,
    *happenings: h.Happening,
    task: h.Task | None = None,
    unseen: Sequence[h.Happening] = (),
) -> Cpu:
    return Cpu(number, happenings, task, tuple(unseen))


@dataclass(frozen=True)
class Recording:
    cpus: tuple[Cpu, ...]
    formats: tuple[Format, ...] = t.FORMATS
    clock: str | None = "monotonic"
    sample_type: SampleType = USUAL
    attr_size: int = 128
    period: int = 1
    frequency: bool = False
    header: Header = field(default_factory=Header)
    machine: Machine = X86_64
    # PERF_RECORD_COMM of tasks that ran before, as perf synthesises them at the start.
    known: tuple[h.Task, ...] = ()
    # Records that perf wrote after those, before any sample.
    beside: tuple[Record, ...] = ()
    # Bytes of each CPU's ring, of which perf wrote the newest at the end (--overwrite).
    overwritten: int | None = None
    # Whose common_preempt_count the events have.
    preemption: Preemption = "perf"
    # What every attr, and every sample, has beside what is said here.
    attr: Mapping[str, Any] = field(default_factory=dict)
    sample: Mapping[str, Any] = field(default_factory=dict)

    # Real recordings have one id per event and CPU.
    def attrs(self) -> list[Attr]:
        ids = max((one.number for one in self.cpus), default=0) + 1
        flags = {"disabled", "inherit", "sample_id_all", "exclude_guest"} | (
            {"freq"} if self.frequency else set()
        )
        if self.overwritten is not None:
            flags |= {"write_backward"}
        return [
            Attr(
                one.event,
                one.id,
                tuple(100 + place * ids + number for number in range(ids)),
                sample_type=self.sample_type,
                period=self.period,
                flags=frozenset(flags),
                clock=self.clock,
                size=self.attr_size,
                **self.attr,
            )
            for place, one in enumerate(self.formats)
        ]

    def events(self) -> list[Event]:
        return [
            event for one in self.cpus for event, _ in self._simulated(one) if event is not None
        ]

    def _simulated(self, one: Cpu) -> Iterator[tuple[Event | None, h.Happening]]:
        recorded = {format_.event: format_ for format_ in self.formats}
        simulated = SimulatedCpu(
            one.number, one.first_task, formats=recorded, preemption=self.preemption
        )
        for what in one.unseen:
            list(simulated.happen(what))
        for what in one.happenings:
            seen = [event for event in simulated.happen(what) if event.format.event in recorded]
            yield from ((event, what) for event in seen)
            if isinstance(what, h.Lost | h.Flush):
                yield None, what

    def ring(self, one: Cpu) -> list[Record | Sample]:
        """
        Records of one CPU in the order of its ring, flush marks as FinishedRound.

        A repeat at a flush is part of the following flush, as in real files.
        """
        places = {format_.event: place for place, format_ in enumerate(self.formats)}
        ring: list[Record | Sample] = []
        lost = 0
        flushed: list[Record | Sample] = []
        for event, what in self._simulated(one):
            if event is not None:
                ids = (-1, -1) if event.exited else (event.task.tgid, event.task.tid)
                where = Where(event.cpu, event.at, *ids, places[event.format.event])
                raw = event.format.pack(event.values, event.common, self.machine)
                ring.append(Sample(where, raw, **self.sample))
                flushed.append(ring[-1])
            elif isinstance(what, h.Lost):
                lost += what.count
                if what.placed:
                    ring.append(Lost(0, what.count, Where(one.number, what.at)))
                    flushed.append(ring[-1])
            elif isinstance(what, h.Flush):
                ring.append(FinishedRound())
                flushed = flushed[len(flushed) - what.repeat :] if what.repeat else []
                ring.extend(flushed)
                flushed = list(flushed)
        if lost:
            # perf reads each event's own count when it closes it: the same losses a second time,
            # without a place.
            ring.append(LostSamples(lost, Where(one.number, 0)))
        return ring

    def records(self) -> list[Record | Sample]:
        """All records as one reader writes them: each round holds each CPU's share in turn."""
        if self.overwritten is not None:
            rings = [self.newest_first(one, self.overwritten) for one in self.cpus]
            return [*(record for ring in rings for record in ring), FinishedRound(), *self._first()]
        rounds = [split(self.ring(one)) for one in self.cpus]
        result: list[Record | Sample] = self._first()
        for number in range(max(map(len, rounds), default=0)):
            for shares in rounds:
                result.extend(shares[number] if number < len(shares) else [])
            result.append(FinishedRound())
        return result

    def newest_first(self, one: Cpu, size: int) -> list[Record | Sample]:
        encoder = Encoder(self.attrs(), self.machine)
        kept: list[Record | Sample] = []
        for record in reversed(self.ring(one)):
            if not isinstance(record, FinishedRound):
                size -= len(encoder.encode(record))
                if size < 0:
                    break
                kept.append(record)
        return kept

    def _first(self) -> list[Record | Sample]:
        return [*(Comm(task.tgid, task.tid, task.comm) for task in self.known), *self.beside]

    def write(self, path: Path, mode: str = "file", compressed: int = 0) -> Path:
        """
        Write the capture.

        :param mode: one of FILES or PIPES, or "directory"
        :param compressed: 0, or the version of COMPRESSED records to use (files and pipes)
        """
        header = replace(self.header, clock=self.clock)
        if mode == "directory":
            rings = [
                [one for one in self.ring(cpu_) if not isinstance(one, FinishedRound)]
                for cpu_ in self.cpus
            ]
            shares = [self._first(), *rings]
            write_directory(path, self.attrs(), self.formats, shares, header, self.machine)
            return path
        told = (self.attrs(), self.formats, self.records(), header, self.machine)
        if mode in PIPES:
            data = write_pipe(*told, compressed=compressed, **PIPES[mode])
        else:
            data = write_file(*told, compressed=compressed, **FILES[mode])
        path.write_bytes(data)
        return path


def split(ring: Sequence[Record | Sample]) -> list[list[Record | Sample]]:
    rounds: list[list[Record | Sample]] = [[]]
    for record in ring:
        if isinstance(record, FinishedRound):
            rounds.append([])
        else:
            rounds[-1].append(record)
    return rounds


def recording(*cpus: Cpu, **settings: object) -> Recording:
    return Recording(cpus, **settings)  # type: ignore[arg-type]


# What a 32-bit machine can point at is left: its kernel lives in the upper half.
def narrow(one: h.Happening) -> h.Happening:
    if isinstance(one, h.NapiPoll):
        return replace(one, napi=one.napi & 0xFFFFFFFF | 0x80000000)
    if isinstance(one, h.Unrecorded | h.Spurious):
        return replace(one, what=narrow(one.what))
    return one


def narrowed(told: Recording) -> Recording:
    cpus = [
        replace(one, happenings=tuple(narrow(what) for what in one.happenings)) for one in told.cpus
    ]
    return replace(told, cpus=tuple(cpus))
