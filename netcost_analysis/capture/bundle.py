"""The bundle that `netcost-record` writes: a trace, and what was recorded about its host."""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import astuple

from .._native import CaptureError
from ..accessors import OfBundle
from .accounting import FALLBACK_CLOCKSOURCES, Accounting, accounting, measures_interrupts
from .bundle_files import BundleFiles, is_bundle, no_bundle
from .manifest import Calibration, Load, Victim
from .packed import is_experiment_folder, is_packed

if TYPE_CHECKING:
    from ..parsers.openssl import SpeedRun

# TASK_COMM_LEN without its NUL.
_COMM_LENGTH = 15


def bundle_at(path: str) -> "Bundle | None":
    # The bundle at a path, packed or not; None for a bare recording and for standard input.
    if path != "-" and is_experiment_folder(Path(path)):
        raise no_bundle(path)
    if path == "-" or not (is_bundle(Path(path)) or is_packed(Path(path))):
        return None
    return Bundle(path)


class Bundle(BundleFiles, OfBundle):
    """A bundle directory: manifest, trace, the victim's and the load's output, /proc snapshots.

    Parameters
    ----------
    path : str or Path
        A directory with a ``manifest.json``, or one that netcost-pack packed into a file. A packed
        one stays unpacked for as long as the Bundle is in use.

    Attributes
    ----------
    manifest_json : dict
        All of manifest.json.

    Raises
    ------
    CaptureError
        If the manifest is invalid or names a file outside the bundle, or the packed file is not
        whole.
    OSError
        If it cannot be read.
    """

    @property
    def victim(self) -> Victim | None:
        """The manifest's record of the victim, None if there was none."""
        return self.manifest.victim

    @property
    def victim_cpu(self) -> int | None:
        """The CPU that the victim was pinned to, None if the manifest does not say."""
        return self.victim.cpu if self.victim else None

    @property
    def victim_comm(self) -> str | None:
        """The victim's comm, derived from its command; None without a command.

        For an attached service, the name in the manifest: for a cgroup the last part of its path.
        """
        victim = self.victim or Victim()
        if victim.attached is not None:
            return victim.attached.comm
        words = (victim.command or "").split()
        return Path(words[0]).name[:_COMM_LENGTH] if words else None

    def _output(self, part: Load | None) -> str | None:
        return self.text(part.output) if part and part.output else None

    @property
    def victim_output(self) -> str | None:
        """The victim's output, None without a victim."""
        return self._output(self.victim)

    @property
    def load_output(self) -> str | None:
        """The load's output, None without a load."""
        return self._output(self.manifest.load)

    @cached_property
    def speed_runs(self) -> "list[SpeedRun]":
        """The victim's `openssl speed` results, one per block size; empty for other victims."""
        from ..parsers.openssl import parse_openssl_speed

        return parse_openssl_speed(self.victim_output or "")

    @cached_property
    def baseline(self) -> "Bundle | None":
        """The victim's run without the load, None if there was none."""
        return self.run(self.manifest.baseline)

    @cached_property
    def afterwards(self) -> "Bundle | None":
        """The same service after the recording, None if it was not watched then."""
        return self.run(self.manifest.afterwards)

    def run(self, folder: str | None) -> "Bundle | None":
        """Another run of the victim, stored as a bundle inside this one.

        Parameters
        ----------
        folder : str or None
            Its folder within the bundle.

        Returns
        -------
        Bundle or None
            None if it is not there.

        Raises
        ------
        CaptureError
            For a folder outside the bundle.
        """
        path = self.inside(folder) if folder else None
        return Bundle(path) if path and is_bundle(path) else None

    @cached_property
    def kernel_config(self) -> dict[str, str]:
        """The recorded kernel configuration, CONFIG_HZ -> "250"; empty if none was recorded."""
        from ..parsers.settings import parse_kernel_config

        return parse_kernel_config(self.text("kernel_config") or "")

    @cached_property
    def accounting(self) -> Accounting | None:
        """How the host's kernel accounted for CPU time; None if that is not known."""
        from ..parsers.host import IRQ

        command_line = self.text("before/settings/cmdline") or ""
        sides = self.before, self.after
        ticks = [sum(row[IRQ] for row in side.ticks.values() if row[IRQ:]) for side in sides]
        counts = [sum(map(sum, side.by_cpu("interrupts").lines.values())) for side in sides]
        measures = measures_interrupts(ticks[1] - ticks[0], counts[1] - counts[0])
        clocksource = self.manifest.host.clocksource
        return accounting(self.kernel_config, command_line, clocksource, measures)

    @cached_property
    def may_be_paused(self) -> bool:
        """Whether this is a guest that the hypervisor may have paused without the guest noticing.

        True for a guest without steal time on any CPU whose kernel was not built to ask for it.
        """
        from ..parsers.host import STEAL

        host = self.manifest.host.virtualization or "none"
        flags = self.text("before/settings/cpuinfo") or ""
        if host == "none" and " hypervisor" not in flags:
            return False
        asks = self.kernel_config.get("CONFIG_PARAVIRT_TIME_ACCOUNTING") == "y"
        stolen = sum(row[STEAL] for row in self.after.ticks.values() if len(row) > STEAL)
        return not asks and not stolen

    @property
    def clock_doubt(self) -> str | None:
        """Why ftrace's and perf's clocks may differ between this host's CPUs; None without doubt.

        Those clocks read the TSC. x86 falls back to another clocksource when its check finds the
        TSC unstable.
        """
        source = self.manifest.host.clocksource
        if source not in FALLBACK_CLOCKSOURCES:
            return None
        return f"the host's clocksource is {source}, which x86 uses if its TSC is unstable"

    @property
    def tickless(self) -> list[int]:
        """The CPUs of nohz_full=, which need not tick while a task runs."""
        from ..parsers.settings import tickless_cpus

        return tickless_cpus(self.text("before/settings/topology") or "")

    def __repr__(self) -> str:
        return f"Bundle {self.shown}: {self.summary}"

    @property
    def notes(self) -> list[str]:
        """What the recorder knows about the trace that the trace itself does not say."""
        lost = self.manifest.lost_events
        return [*self.mended, *([f"the recorder counted {lost:,} lost events"] if lost else [])]

    @property
    def given(self) -> list[str]:
        """What the user supplied beside the recording, in sentences; empty for a plain bundle."""
        return []

    @cached_property
    def mended(self) -> list[str]:
        """What had to be repaired in its manifest, and in those of its other runs, to open it."""
        notes = [f"manifest.json: {self._mended}"] if self._mended else []
        runs = astuple(self.manifest.calibration or Calibration())
        for name in dict.fromkeys(filter(None, (self.manifest.baseline, *runs))):
            try:
                path = self.inside(name)
                # "./" is this bundle.
                run = None if path.resolve() == self.path.resolve() else Bundle(path)
            except (CaptureError, OSError, ValueError):
                # Opening that run reports the error.
                continue
            if run is not None and run._mended:
                notes.append(f"{name.rstrip('/')}/manifest.json: {run._mended}")
        return notes

    @property
    def summary(self) -> str:
        """Its contents in a line."""
        victim = self.victim or Victim()
        parts = [
            f"kernel {self.manifest.host.kernel or 'unknown'}",
            f"victim: {victim.command or 'none'}",
            "with a baseline" if self.manifest.baseline else "no baseline",
        ]
        return ", ".join(parts)
