"""Opening a recording, with what is given beside it."""

from copy import copy
from pathlib import Path

from ..capture.capture import Capture
from ..capture.sidecars import Sidecars
from .overrides import OverriddenBundle


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
    """Open a recording; only its headers are read, and what is given beside it.

    What a bare recording lacks can be given, and all that a bundle can be asked can then be asked
    of it, as far as that goes: docs/bundle.md. What is given beside a bundle goes before its own.

    Parameters
    ----------
    path : str or Path
        A perf.data or trace.dat file, the text of `perf script`, `trace-cmd report` or ftrace, the
        directory `perf record --threads` writes, a copy of tracefs, a bundle directory with a
        manifest.json, such a bundle in one file (.tar.zst, .tar.gz) as netcost-pack makes it, or
        "-" for standard input.
    buffer : str, optional
        Which ftrace instance of a trace.dat; the top one unless given.
    victim_output : str or Path, optional
        What `openssl speed` wrote while it was recorded, and behind it, where that is there, what a
        shell's `time` did.
    victim_cpu : int, optional
        The CPU that it was pinned to; the only one that the trace shows it on unless given.
    baseline_output : str or Path, optional
        What it wrote without the load.
    kernel_config : str or Path, optional
        The kernel's configuration: /boot/config-RELEASE, /proc/config.gz.
    before, after : str or Path, optional
        Folders of copies of files of /proc, named as in a bundle, of before the victim started and
        after it ended.
    tsc_hz : float, optional
        How many cycles of its clock make a second, where that counts cycles (x86-tsc) and the
        recording does not say.
    kallsyms : str or Path, optional
        A copy of /proc/kallsyms since the boot that was recorded, which names the kernel's
        functions; it goes before one in the recording.
    symbols : str or Path, optional
        A folder with the programs that were recorded or what debuggers know of them: by build id
        (.build-id/ab/cdef.debug), by their whole path, or by their name. It is looked at before
        this machine's own files, and only where functions of programs are asked for.

    Returns
    -------
    Capture
        The recording, and what lies beside it.

    Raises
    ------
    CaptureError
        In one line, what is wrong and what to do.
    ArgumentError
        For a number that none can be, or a baseline without a victim.
    OSError
        For a file that is missing or unreadable.
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
    if sidecars.has_bundle_files:
        capture.bundle = OverriddenBundle(copy(capture), sidecars)
    return capture
