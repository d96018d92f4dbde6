"""A recording with what is given beside it, read as the bundle that they make."""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ..capture.bundle import Bundle
from ..capture.folder import Folder
from ..capture.given import Beside, config_text, snapshots, speed_output
from ..capture.manifest import Manifest, Victim
from ..errors import ArgumentError
from ..parsers.shell_time import parse_shell_time
from ..units import plural, ranges
from .seen import Seen, seen_of

if TYPE_CHECKING:
    from ..capture.capture import Capture

_OUTPUT, _CONFIG, _BASELINE = "victim.txt", "kernel_config", "baseline/"
# What a bundle keeps of its own victim, beside that one's output.
_STAT = "victim_stat"
_OF_VICTIM = (_STAT, "samples/victim")
# What alone writes such an output.
_COMM, _COMMAND = "openssl", "openssl speed"


class BesideBundle(Bundle):
    """A bundle made of what is given, and of the recording's own for the rest.

    Files are read at once. What the trace shows of the victim takes a pass over it: when it is
    asked for.

    Parameters
    ----------
    recording : Capture
        With its own bundle, or none.
    beside : Beside
        What is given.

    Raises
    ------
    CaptureError
        For a file that is not what it is said to be.
    ArgumentError
        For what has no meaning alone.
    OSError
        For a file that cannot be read.
    """

    def __init__(self, recording: "Capture", beside: Beside) -> None:
        own = recording.bundle
        Folder.__init__(self, own.path if own else Path(recording.path))
        self.manifest_json = own.manifest_json if own else {}
        self._recording, self._beside, self._own = recording, beside, own
        self._texts: dict[str, str | None] = {}
        self._folders: dict[str, Folder] = {}
        self._idle: _Baseline | None = None
        # The bundle's victim, where what is given is of that one as well.
        self._known = own.victim if own else None
        if beside.baseline_output is not None:
            if beside.victim_output is None and self._known is None:
                raise ArgumentError("baseline_output is compared with victim_output: give both")
            self._idle = _Baseline(self.path, speed_output(Path(beside.baseline_output)))
        if beside.victim_output is not None:
            if own and own.victim_comm != _COMM and not own.speed_runs:
                self._known = None
                self._texts |= dict.fromkeys(_OF_VICTIM)
            output = self._texts[_OUTPUT] = speed_output(Path(beside.victim_output))
            if parse_shell_time(output) is not None:
                # Which goes before what the bundle counted.
                self._texts[_STAT] = None
        if beside.kernel_config is not None:
            self._texts[_CONFIG] = config_text(Path(beside.kernel_config))
        for name, folder in (("before", beside.before), ("after", beside.after)):
            if folder is not None:
                self._folders[name] = snapshots(Path(folder))

    @cached_property
    def manifest(self) -> Manifest:
        """What is known of the recording, as a manifest has it."""
        known = self._own.manifest if self._own else Manifest()
        if self._known is None:
            known = replace(known, baseline=None, calibration=None)
        if self._idle is not None:
            known = replace(known, baseline=_BASELINE)
        if self._folders:
            # That verdict is of other counters.
            known = replace(known, completeness=None)
        return replace(known, victim=self._victim)

    @property
    def _victim(self) -> Victim | None:
        victim, output = self._known, self._texts.get(_OUTPUT)
        if output is not None:
            victim = _timed(replace(victim or _as_seen(self._seen), output=_OUTPUT), output)
        if self._beside.victim_cpu is not None:
            victim = replace(victim or Victim(), cpu=self._beside.victim_cpu)
        return victim

    @cached_property
    def _seen(self) -> Seen:
        return seen_of(self._recording, _COMM)

    @cached_property
    def given(self) -> list[str]:
        """What was given, in whose place, and what the trace shows of the victim."""
        own, beside = self._own, self._beside
        replaced = {
            "victim_output": own and own.victim_output,
            "victim_cpu": own and own.victim_cpu is not None,
            "baseline_output": own and own.baseline,
            "kernel_config": own and own.kernel_config,
            **{side: own and own.text(f"{side}/stat") for side in self._folders},
        }
        given = [
            f"{name} {what}" + (" (in place of the bundle's own)" if replaced[name] else "")
            for name, what in beside.of_bundle._asdict().items()
            if what is not None
        ]
        notes = [f"given beside the recording: {', '.join(given)}"]
        if beside.victim_output is not None and self._known is None:
            notes.append(self._of_victim)
        sides = [run.speed_runs for run in (self, self.baseline) if run is not None]
        works = [{run.work for run in runs} for runs in sides]
        if all(works) and not set.intersection(*works):
            notes.append(
                "the victim and its baseline did not work at the same, by algorithm, size of a "
                "block and processes: their work is not compared"
            )
        return notes

    @property
    def _of_victim(self) -> str:
        seen, victim = self._seen, self.victim or Victim()
        if not seen.pids:
            return f"the trace shows no task {_COMM}: when and where it ran is unknown"
        tasks = f"pid {seen.pid}" if seen.pid is not None else plural(len(seen.pids), "task")
        facts = {
            "which of them was timed": victim.pid,
            "its CPU": victim.cpu,
            "when it started": victim.start_ns,
            "when it ended": victim.end_ns,
            "its user and system time": victim.user_s,
        }
        unknown = [what for what, value in facts.items() if value is None]
        return f"the trace shows {_COMM} as {tasks} on CPU {ranges(list(seen.cpus))}" + (
            f"; unknown: {', '.join(unknown)}" if unknown else ""
        )

    @property
    def trace(self) -> Path:
        """The recording that this lies beside."""
        return self._own.trace if self._own else self.path

    @cached_property
    def mended(self) -> list[str]:
        """What was mended of the recording's own manifest."""
        return self._own.mended if self._own else []

    def text(self, name: str) -> str | None:
        """The text of a file, given or the recording's own; as Bundle.text."""
        if name in self._texts:
            return self._texts[name]
        side, _, rest = name.partition("/")
        if side in self._folders:
            return self._folders[side].text(rest)
        return self._own.text(name) if self._own else None

    @cached_property
    def baseline(self) -> Bundle | None:
        """The same victim without the load, None where nothing is known of it."""
        return self._idle or self.run(self.manifest.baseline)

    def run(self, folder: str | None) -> Bundle | None:
        """Another run of the victim, as Bundle.run, in the recording's own bundle."""
        return self._own.run(folder) if self._own else None


class _Baseline(Bundle):
    # Of which its output alone is known.

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


def _as_seen(seen: Seen) -> Victim:
    wall_s = None
    if seen.start_ns is not None and seen.end_ns is not None:
        wall_s = (seen.end_ns - seen.start_ns) / 1e9
    return Victim(
        command=_COMMAND,
        cpu=seen.cpu,
        pid=seen.pid,
        start_ns=seen.start_ns,
        end_ns=seen.end_ns,
        wall_s=wall_s,
    )


def _timed(victim: Victim, output: str) -> Victim:
    # With what a shell's `time` left in the output.
    found = parse_shell_time(output)
    if found is None or not found.real_s:
        return victim
    return replace(victim, wall_s=found.real_s, user_s=found.user_s, system_s=found.system_s)
