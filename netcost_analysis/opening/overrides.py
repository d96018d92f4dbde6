"""A recording and the files given beside it, read as a bundle."""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from .._native import CaptureError
from ..capture.bundle import Bundle
from ..capture.folder import Folder
from ..capture.manifest import Manifest, Victim
from ..capture.sidecars import Sidecars, config_text, snapshots, speed_output
from ..errors import ArgumentError
from ..parsers.openssl import parse_shell_time
from ..units import plural, ranges

if TYPE_CHECKING:
    from ..capture.capture import Capture

_OUTPUT, _CONFIG, _BASELINE = "victim.txt", "kernel_config", "baseline/"
# What a bundle stores about its own victim besides the output.
_STAT = "victim_stat"
_OF_VICTIM = (_STAT, "samples/victim")
# The only program whose output is accepted.
_COMM, _COMMAND = "openssl", "openssl speed"
_EXEC, _EXIT = "sched:sched_process_exec", "sched:sched_process_exit"


class OverriddenBundle(Bundle):
    """A bundle of the files given; the recording's own bundle supplies the rest.

    Files are read at once. What the trace shows about the victim takes a pass, on first use.

    Parameters
    ----------
    recording : Capture
        A recording with or without its own bundle.
    sidecars : Sidecars
        The files given.

    Raises
    ------
    CaptureError
        For a file of another kind than its parameter says.
    ArgumentError
        For a baseline without a victim.
    OSError
        For a file that cannot be read.
    """

    def __init__(self, recording: "Capture", sidecars: Sidecars) -> None:
        own = recording.bundle
        Folder.__init__(self, own.path if own else Path(recording.path))
        self.manifest_json = own.manifest_json if own else {}
        self._recording, self._sidecars, self._own = recording, sidecars, own
        self._texts: dict[str, str | None] = {}
        self._folders: dict[str, Folder] = {}
        self._baseline: _Baseline | None = None
        # The bundle's victim, unless the output given is another one's.
        self._known = own.victim if own else None
        if sidecars.baseline_output is not None:
            if sidecars.victim_output is None and self._known is None:
                raise ArgumentError(
                    "baseline_output needs victim_output to compare with: give both"
                )
            self._baseline = _Baseline(self.path, speed_output(Path(sidecars.baseline_output)))
        if sidecars.victim_output is not None:
            if own and own.victim_comm != _COMM and not own.speed_runs:
                self._known = None
                self._texts |= dict.fromkeys(_OF_VICTIM)
            output = self._texts[_OUTPUT] = speed_output(Path(sidecars.victim_output))
            if parse_shell_time(output) is not None:
                # It takes precedence over the bundle's count.
                self._texts[_STAT] = None
        if sidecars.kernel_config is not None:
            self._texts[_CONFIG] = config_text(Path(sidecars.kernel_config))
        for name, folder in (("before", sidecars.before), ("after", sidecars.after)):
            if folder is not None:
                self._folders[name] = snapshots(Path(folder))

    @property
    def written_manifest(self) -> Manifest:
        """The recording's own manifest; the overridden one may take a pass."""
        return self._own.written_manifest if self._own else Manifest()

    @cached_property
    def manifest(self) -> Manifest:
        """The manifest with the changes that follow from the files given."""
        known = self._own.manifest if self._own else Manifest()
        if self._known is None:
            known = replace(known, baseline=None, calibration=None)
        if self._baseline is not None:
            known = replace(known, baseline=_BASELINE)
        if self._folders:
            # The recorded verdict is about other counters.
            known = replace(known, completeness=None)
        return replace(known, victim=self._victim)

    @property
    def _victim(self) -> Victim | None:
        victim, output = self._known, self._texts.get(_OUTPUT)
        if output is not None:
            victim = _timed(replace(victim or _victim_of(self._shown), output=_OUTPUT), output)
        if self._sidecars.victim_cpu is not None:
            victim = replace(victim or Victim(), cpu=self._sidecars.victim_cpu)
        return victim

    @cached_property
    def _shown(self) -> "_InTrace":
        return _in_trace(self._recording, _COMM)

    @cached_property
    def given(self) -> list[str]:
        """What was given, what it replaces, and what the trace shows about the victim."""
        own, sidecars = self._own, self._sidecars
        replaced = {
            "victim_output": own and own.victim_output,
            "victim_cpu": own and own.victim_cpu is not None,
            "baseline_output": own and own.baseline,
            "kernel_config": own and own.kernel_config,
            **{side: own and own.text(f"{side}/stat") for side in self._folders},
        }
        given = [
            f"{name} {what}" + (" (in place of the bundle's own)" if replaced[name] else "")
            for name, what in sidecars.bundle_files._asdict().items()
            if what is not None
        ]
        notes = [f"given beside the recording: {', '.join(given)}"]
        if sidecars.victim_output is not None and self._known is None:
            notes.append(self._of_victim)
        sides = [run.speed_runs for run in (self, self.baseline) if run is not None]
        works = [{run.work for run in runs} for runs in sides]
        if all(works) and not set.intersection(*works):
            notes.append(
                "the victim and its baseline differ in algorithm, block size or processes: their "
                "work is not compared"
            )
        return notes

    @property
    def _of_victim(self) -> str:
        shown, victim = self._shown, self.victim or Victim()
        if not shown.pids:
            return f"the trace shows no task {_COMM}: it is unknown when and where it ran"
        tasks = f"pid {shown.pid}" if shown.pid is not None else plural(len(shown.pids), "task")
        facts = {
            "which of them was timed": victim.pid,
            "its CPU": victim.cpu,
            "when it started": victim.start_ns,
            "when it ended": victim.end_ns,
            "its user and system time": victim.user_s,
        }
        unknown = [what for what, value in facts.items() if value is None]
        return f"the trace shows {_COMM} as {tasks} on CPU {ranges(list(shown.cpus))}" + (
            f"; unknown: {', '.join(unknown)}" if unknown else ""
        )

    @property
    def trace(self) -> Path:
        """The recording that the files were given for."""
        return self._own.trace if self._own else self.path

    @cached_property
    def mended(self) -> list[str]:
        """What was repaired in the recording's own manifest."""
        return self._own.mended if self._own else []

    def text(self, name: str) -> str | None:
        """Like Bundle.text; a file that was given takes precedence."""
        if name in self._texts:
            return self._texts[name]
        side, _, rest = name.partition("/")
        if side in self._folders:
            return self._folders[side].text(rest)
        return self._own.text(name) if self._own else None

    @cached_property
    def baseline(self) -> Bundle | None:
        """The victim's run without the load, None if nothing is known about it."""
        return self._baseline or self.run(self.manifest.baseline)

    def run(self, folder: str | None) -> Bundle | None:
        """Like Bundle.run, in the recording's own bundle."""
        return self._own.run(folder) if self._own else None


class _Baseline(Bundle):
    # A run with nothing but its output.

    def __init__(self, path: Path, output: str) -> None:
        Folder.__init__(self, path)
        self._output_text = output
        self.manifest_json = {}

    @cached_property
    def manifest(self) -> Manifest:
        victim = _timed(Victim(command=_COMMAND, output=_OUTPUT), self._output_text)
        return Manifest(victim=victim)

    def text(self, name: str) -> str | None:
        return self._output_text if name == _OUTPUT else None


def _victim_of(shown: "_InTrace") -> Victim:
    wall_s = None
    if shown.start_ns is not None and shown.end_ns is not None:
        wall_s = (shown.end_ns - shown.start_ns) / 1e9
    return Victim(
        command=_COMMAND,
        cpu=shown.cpu,
        pid=shown.pid,
        start_ns=shown.start_ns,
        end_ns=shown.end_ns,
        wall_s=wall_s,
    )


def _timed(victim: Victim, output: str) -> Victim:
    # Adds the times that a shell's `time` printed in the output.
    times = parse_shell_time(output)
    if times is None or not times.real_s:
        return victim
    return replace(victim, wall_s=times.real_s, user_s=times.user_s, system_s=times.system_s)


class _InTrace(NamedTuple):
    """What the events show about the tasks of a name.

    pids, cpus: the tasks and the CPUs they ran on, sorted. start_ns, end_ns: the exec and the exit
    of the only task, None if not recorded.
    """

    pids: tuple[int, ...] = ()
    cpus: tuple[int, ...] = ()
    start_ns: int | None = None
    end_ns: int | None = None

    @property
    def pid(self) -> int | None:
        """The only task; None for none or several."""
        return self.pids[0] if len(self.pids) == 1 else None

    @property
    def cpu(self) -> int | None:
        """The only CPU that they ran on; None for none or several."""
        return self.cpus[0] if len(self.cpus) == 1 else None


def _in_trace(capture: "Capture", comm: str) -> _InTrace:
    """What a capture shows about the tasks of a name; empty if it gives no ledger."""
    try:
        rows = capture.timeline().owned_by()
    except CaptureError:
        return _InTrace()
    ran = {(row.tid, row.cpu) for row in rows if row.comm == comm and row.context == "task"}
    pids = tuple(sorted({tid for tid, _ in ran if tid}))
    victim = _InTrace(pids, tuple(sorted({cpu for tid, cpu in ran if tid})))
    if victim.pid is None:
        return victim
    start_ns, end_ns = (_last(capture, event, victim.pid) for event in (_EXEC, _EXIT))
    if start_ns is not None and end_ns is not None and end_ns <= start_ns:
        # The exit is of an earlier task with that pid.
        return victim
    return victim._replace(start_ns=start_ns, end_ns=end_ns)


def _last(capture: "Capture", event: str, pid: int) -> int | None:
    # The time of the last event: wrappers like taskset exec other programs, the victim last.
    if not capture.info["events"].get(event):
        return None
    frame = capture.events(event)
    if not {"time_ns", "pid"} <= set(frame.columns):
        return None
    times = frame["time_ns"][frame["pid"] == pid].dropna()
    return int(times.max()) if len(times) else None
