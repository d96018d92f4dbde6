"""Opening a recording, with the files that the user gives beside it."""

from copy import copy
from pathlib import Path

from ..capture.capture import Capture
from ..capture.sidecars import Sidecars


def open_capture(
    path: str | Path,
    buffer: str | None = None,
    *,
    victim_output: str | Path | None = None,
    victim_cpu: int | None = None,
    baseline_output: str | Path | None = None,
    kernel_config: str | Path | None = None,
    before: str | Path | None = None,
    after: str | Path | None = None,
    tsc_hz: float | None = None,
    kallsyms: str | Path | None = None,
    symbols: str | Path | None = None,
) -> Capture:
    """Open a recording; reads only its headers and the files given beside it.

    The other parameters supply what a bare recording lacks, so that it can answer the questions
    that a bundle can, as far as they suffice: docs/bundle.md. They take precedence over a bundle's
    own files.

    Parameters
    ----------
    path : str or Path
        A perf.data or trace.dat file, the text of `perf script`, `trace-cmd report` or ftrace, the
        directory `perf record --threads` writes, a copy of tracefs, a bundle directory with a
        manifest.json, a bundle that netcost-pack packed into a file (.tar.zst, .tar.gz), or "-" for
        standard input.
    buffer : str, optional
        The ftrace instance in a trace.dat; the top-level one unless given.
    victim_output : str or Path, optional
        The output of `openssl speed` during the recording, optionally followed by that of a shell's
        `time`.
    victim_cpu : int, optional
        The CPU that the victim was pinned to; unless given, the CPU in the trace if only one.
    baseline_output : str or Path, optional
        The victim's output without the load.
    kernel_config : str or Path, optional
        The kernel's configuration: /boot/config-RELEASE, /proc/config.gz.
    before, after : str or Path, optional
        Folders with copies of /proc files, named as in a bundle, from before the victim started and
        after it ended.
    tsc_hz : float, optional
        The clock's cycles per second, if it counts cycles (x86-tsc) and the recording does not say.
    kallsyms : str or Path, optional
        A copy of /proc/kallsyms from the recorded boot, to name the kernel's functions; it takes
        precedence over the recording's.
    symbols : str or Path, optional
        A folder with the recorded programs or their debug files: by build id
        (.build-id/ab/cdef.debug), by full path, or by name. It is searched before this machine's
        own files, and only for questions about functions of programs.

    Returns
    -------
    Capture
        The recording, and the files beside it.

    Raises
    ------
    CaptureError
        With one line about what is wrong and what to do.
    ArgumentError
        For an impossible number, or a baseline without a victim.
    OSError
        For a missing or unreadable file.
    """
    sidecars = Sidecars(
        victim_output,
        victim_cpu,
        baseline_output,
        kernel_config,
        before,
        after,
        tsc_hz,
        kallsyms,
        symbols,
    )
    capture = Capture(path, buffer, sidecars.checked())
    if sidecars.bundle_files != Sidecars():
        from .overrides import OverriddenBundle

        capture.bundle = OverriddenBundle(copy(capture), sidecars)
    return capture
