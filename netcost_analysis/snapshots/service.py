"""The work that a bundle's victim did, and the tasks and run time of an attached service."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from .._native import CaptureError
from ..capture.manifest import Victim
from .counters import Reading, readings

if TYPE_CHECKING:
    from ..capture.bundle import Bundle
    from ..parsers.program_work import ProgramWork

_NUMBER = re.compile("[0-9]{1,9}")
_THREAD = re.compile(r"task/([0-9]{1,9})/(stat|schedstat)")
_RUN_NS = re.compile("[0-9]{1,19}")
_WORK = re.compile(r"[0-9]{1,18}(\.[0-9]{1,9})?")
_USAGE = re.compile(r"(?:cpu\.stat usage_usec|cpuacct\.usage) ([0-9]{1,19})$", re.MULTILINE)


class ServiceTasks(NamedTuple):
    """Threads in one reading of ``victim``, by tid: their names, and run times by schedstat."""

    comms: dict[int, str]
    run_ns: dict[int, int]


def parse_service_tasks(text: str) -> ServiceTasks:
    """Parse netcost-record --attach's lines "PID task/TID/FILE TEXT", FILE stat or schedstat."""
    comms: dict[int, str] = {}
    run_ns: dict[int, int] = {}
    for line in text.splitlines():
        pid, _, rest = line.partition(" ")
        file, _, value = rest.partition(" ")
        thread = _THREAD.fullmatch(file)
        if not thread or not _NUMBER.fullmatch(pid):
            continue
        if thread[2] == "stat":
            comms[int(thread[1])] = value.partition(" (")[2].rpartition(") ")[0]
        elif value and _RUN_NS.fullmatch(value.split()[0]):
            run_ns[int(thread[1])] = int(value.split()[0])
    return ServiceTasks(comms, run_ns)


class Growth(NamedTuple):
    """The growth of a counter between two readings.

    seconds: from the middle of the first reading to that of the last. error_s: by how much that may
    be off, half the duration of both readings.
    """

    grown: float
    seconds: float
    error_s: float

    @property
    def per_s(self) -> float:
        """The rate."""
        return self.grown / self.seconds


def _growth(first: Reading, last: Reading, grown: float) -> Growth | None:
    seconds = (last.begin_ns + last.end_ns - first.begin_ns - first.end_ns) / 2e9
    if seconds <= 0 or grown < 0:
        return None
    error_s = (last.end_ns - last.begin_ns + first.end_ns - first.begin_ns) / 2e9
    return Growth(grown, seconds, error_s)


def service_work(bundle: "Bundle") -> Growth | None:
    """The work that a victim did while it was watched, by --work; None if not known.

    A number that fell, because the service restarted, gives None.
    """
    return _counted(
        bundle, "work", lambda text: float(text) if _WORK.fullmatch(text.strip()) else None
    )


def service_ran(bundle: "Bundle") -> Growth | None:
    """Seconds that a service's threads ran, by their schedstat; None if not known.

    A thread that began meanwhile counts in full. One that ended lacks what it ran after its last
    sample.
    """
    first, last = (_one(bundle, "victim", side) for side in ("before", "after"))
    if first is None:
        return None
    # Samples continue after the last reading. A service that ended has no last reading.
    inside = [
        (reading, run_ns)
        for reading in readings(bundle, "victim")
        if reading >= first
        and (last is None or reading <= last)
        and (run_ns := parse_service_tasks(reading.text).run_ns)
    ]
    if len(inside) < 2:
        return None
    grown, before = 0, dict(inside[0][1])
    for _, run_ns in inside[1:]:
        for tid, ns in run_ns.items():
            # If the tid was reused, the new thread has run less.
            was = before.get(tid, 0)
            grown += ns - was if ns >= was else ns
        before.update(run_ns)
    return _growth(inside[0][0], inside[-1][0], grown / 1e9)


def service_cgroup_ran(bundle: "Bundle") -> Growth | None:
    """Seconds of CPU time charged to a service's cgroup; None if it has none of its own."""
    return _counted(bundle, "victim_cgroup", _used_s)


def _used_s(text: str) -> float | None:
    usage = _USAGE.search(text)
    if usage is None:
        return None
    return int(usage[1]) / (1e6 if usage[0].startswith("cpu.stat") else 1e9)


def _counted(bundle: "Bundle", name: str, number: Callable[[str], float | None]) -> Growth | None:
    first, last = (_one(bundle, name, side) for side in ("before", "after"))
    if first is None or last is None:
        return None
    before, after = number(first.text), number(last.text)
    if before is None or after is None:
        return None
    return _growth(first, last, after - before)


def _one(bundle: "Bundle", name: str, side: str) -> Reading | None:
    snapshot = bundle.before if side == "before" else bundle.after
    when, text = snapshot.reads.get(name), bundle.text(f"{side}/{name}")
    return Reading(*when, text) if when and text else None


def work_rates(bundle: "Bundle") -> dict[tuple[str, int], float]:
    """Units of work per second: openssl's results by algorithm and size.

    Else the single rate ("work", 0) of the number that --work printed.
    """
    if bundle.speed_runs or bundle.victim is None or bundle.victim.asked_work is None:
        return {run.work: run.per_s for run in bundle.speed_runs}
    done = service_work(bundle)
    return {("work", 0): done.per_s} if done else {}


def program_work(bundle: "Bundle") -> "list[ProgramWork]":
    """The results of the victim's program, from its output, else from that of ``--work``.

    Empty if parse_work knows neither program. Raises CaptureError if it does, but there is no
    result.
    """
    from ..parsers.program_work import parse_work

    victim = bundle.victim or Victim()
    texts = [(bundle.victim_output, victim.command)]
    if victim.asked_work is not None:
        texts.append((bundle.text("after/work"), victim.asked_work))
    failed = None
    for text, command in texts:
        try:
            if text is not None and (done := parse_work(text, command or "")):
                return done
        except CaptureError as error:
            # A program that writes its results to a file prints none.
            failed = failed or error
    if failed is not None:
        raise failed
    return []
