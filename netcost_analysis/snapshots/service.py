"""What netcost-record read of a service that ran already: its tasks, their run time, its work."""

import re
from typing import TYPE_CHECKING, NamedTuple

from .counters import readings

if TYPE_CHECKING:
    from ..capture.bundle import Bundle
    from .counters import Reading

_NUMBER = re.compile("[0-9]{1,9}")
_THREAD = re.compile(r"task/([0-9]{1,9})/(stat|schedstat)")
_RUN_NS = re.compile("[0-9]{1,19}")
_WORK = re.compile(r"[0-9]{1,18}(\.[0-9]{1,9})?")
_USAGE = re.compile(r"(?:cpu\.stat usage_usec|cpuacct\.usage) ([0-9]{1,19})$", re.MULTILINE)


class ServiceTasks(NamedTuple):
    """The tasks of one reading of ``victim``.

    Attributes
    ----------
    comms : dict of int to str
        By tid the names of its threads.
    run_ns : dict of int to int
        By tid what its schedstat says that it ran.
    """

    comms: dict[int, str]
    run_ns: dict[int, int]


def parse_service_tasks(text: str) -> ServiceTasks:
    """Lines "PID task/TID/FILE TEXT" of netcost-record --attach, FILE one of stat, schedstat.

    Parameters
    ----------
    text : str
        One reading; other lines are passed over.

    Returns
    -------
    ServiceTasks
        Its threads.
    """
    comms: dict[int, str] = {}
    run_ns: dict[int, int] = {}
    for line in text.splitlines():
        pid, _, rest = line.partition(" ")
        file, _, said = rest.partition(" ")
        thread = _THREAD.fullmatch(file)
        if not thread or not _NUMBER.fullmatch(pid):
            continue
        if thread[2] == "stat":
            comms[int(thread[1])] = said.partition(" (")[2].rpartition(") ")[0]
        elif said and _RUN_NS.fullmatch(said.split()[0]):
            run_ns[int(thread[1])] = int(said.split()[0])
    return ServiceTasks(comms, run_ns)


class Growth(NamedTuple):
    """By how much a counter grew between two readings.

    Attributes
    ----------
    grown : float
        In its own unit.
    seconds : float
        From the middle of the first reading to that of the last.
    error_s : float
        By how much that may be off: half of what the two readings took.
    """

    grown: float
    seconds: float
    error_s: float

    @property
    def per_s(self) -> float:
        """Its rate."""
        return self.grown / self.seconds


def _growth(first: "Reading", last: "Reading", grown: float) -> Growth | None:
    seconds = (last.begin_ns + last.end_ns - first.begin_ns - first.end_ns) / 2e9
    if seconds <= 0 or grown < 0:
        return None
    error_s = (last.end_ns - last.begin_ns + first.end_ns - first.begin_ns) / 2e9
    return Growth(grown, seconds, error_s)


def service_work(bundle: "Bundle") -> Growth | None:
    """What a service got done while it was watched, by --work; None where that is not known.

    A number that fell, of a service that began anew, is none.
    """
    ends = [_one(bundle, "work", side) for side in ("before", "after")]
    done = [float(one.text) for one in ends if one and _WORK.fullmatch(one.text.strip())]
    if ends[0] is None or ends[1] is None or len(done) < 2:
        return None
    return _growth(ends[0], ends[1], done[1] - done[0])


def service_ran(bundle: "Bundle") -> Growth | None:
    """Seconds that its threads ran, by their schedstat; None where that is not known.

    Of a thread that began meanwhile all that it ran is counted, of one that ended what it ran after
    the last sample is not.
    """
    first, last = (_one(bundle, "victim", side) for side in ("before", "after"))
    if first is None:
        return None
    # Samples go on for longer; of a service that ended they are all there is.
    inside = [
        (one, parse_service_tasks(one.text).run_ns)
        for one in readings(bundle, "victim")
        if one >= first and (last is None or one <= last)
    ]
    inside = [(one, run_ns) for one, run_ns in inside if run_ns]
    if len(inside) < 2:
        return None
    grown, before = 0, dict(inside[0][1])
    for _, run_ns in inside[1:]:
        for tid, ns in run_ns.items():
            # A number that is another's by now has run less.
            was = before.get(tid, 0)
            grown += ns - was if ns >= was else ns
        before.update(run_ns)
    return _growth(inside[0][0], inside[-1][0], grown / 1e9)


def service_cgroup_ran(bundle: "Bundle") -> Growth | None:
    """Seconds of CPU time that its cgroup was charged with; None where it has none of its own."""
    ends = [_one(bundle, "victim_cgroup", side) for side in ("before", "after")]
    if ends[0] is None or ends[1] is None:
        return None
    used = [_used_s(one.text) for one in ends if one]
    if used[0] is None or used[1] is None:
        return None
    return _growth(ends[0], ends[1], used[1] - used[0])


def _used_s(text: str) -> float | None:
    said = _USAGE.search(text)
    if said is None:
        return None
    return int(said[1]) / (1e6 if said[0].startswith("cpu.stat") else 1e9)


def _one(bundle: "Bundle", name: str, side: str) -> "Reading | None":
    # That of before/ or after/.
    from .counters import Reading

    snapshot = bundle.before if side == "before" else bundle.after
    when, text = snapshot.reads.get(name), bundle.text(f"{side}/{name}")
    return Reading(*when, text) if when and text else None


def work_rates(bundle: "Bundle") -> dict[tuple[str, int], float]:
    """Units of work a second by what was done: of openssl's results by algorithm and size.

    Of a service that was attached to one, ("work", 0), of the number that --work printed.
    """
    if bundle.victim is None or bundle.victim.attached is None:
        return {run.work: run.per_s for run in bundle.speed_runs}
    done = service_work(bundle)
    return {("work", 0): done.per_s} if done else {}
