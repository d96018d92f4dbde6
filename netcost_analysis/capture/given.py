"""What is given beside a recording, and its files, each read whole and checked for what it is."""

from pathlib import Path
from typing import NamedTuple

from .._native import CaptureError, Unpacker
from ..errors import ArgumentError, require_text
from ..parsers.kallsyms import has_addresses, has_symbols
from .folder import Folder, read_text

# A number in MHz or GHz is none of these.
_SLOWEST_HZ, _FASTEST_HZ = 1e6, 1e11
# Four times what the longest configurations have.
_CONFIG_BYTES = 1 << 20


class Beside(NamedTuple):
    """What is known beside a recording: the parameters of open_capture."""

    victim_output: str | Path | None = None
    victim_cpu: int | None = None
    baseline_output: str | Path | None = None
    kernel_config: str | Path | None = None
    before: str | Path | None = None
    after: str | Path | None = None
    tsc_hz: float | None = None
    kallsyms: str | Path | None = None
    symbols: str | Path | None = None

    def checked(self) -> "Beside":
        """The same; ArgumentError for a number that none can be, CaptureError for a path."""
        if self.victim_cpu is not None and self.victim_cpu < 0:
            raise ArgumentError(f"victim_cpu={self.victim_cpu}: CPUs count from 0")
        for name, given in self._asdict().items():
            require_text(str(given), f"path of {name}")
        _ = self.cycles_per_s
        return self

    @property
    def is_of_bundle(self) -> bool:
        """Whether anything of it is what a bundle keeps."""
        return any(one is not None for one in self.of_bundle)

    @property
    def of_samples(self) -> "Beside":
        """What of it is about samples, which may be in a recording beside the bundle's trace."""
        return Beside(kallsyms=self.kallsyms, symbols=self.symbols)

    @property
    def of_bundle(self) -> "Beside":
        """What of it a bundle keeps."""
        return self._replace(tsc_hz=None, kallsyms=None, symbols=None)

    @property
    def cycles_per_s(self) -> int | None:
        """tsc_hz as a whole number; ArgumentError for one that no clock has."""
        if self.tsc_hz is None:
            return None
        if not _SLOWEST_HZ <= self.tsc_hz <= _FASTEST_HZ:
            raise ArgumentError(
                f"tsc_hz={self.tsc_hz:g}: the clock's cycles a second, from {_SLOWEST_HZ:g} to "
                f"{_FASTEST_HZ:g}; 2.4 GHz are 2.4e9"
            )
        return round(self.tsc_hz)


def speed_output(path: Path) -> str:
    """The output of `openssl speed`, with one result at least.

    Raises CaptureError for another file, OSError for one that cannot be read.
    """
    from ..parsers.openssl import parse_openssl_speed

    text = read_text(path)
    if not parse_openssl_speed(text):
        raise CaptureError(
            f'{path} is no output of openssl speed: no line is as "Doing sha256 for 3s on 1024 '
            "size blocks: 4523369 sha256's in 2.99s\", which it writes to standard error"
        )
    return text


def config_text(path: Path) -> str:
    """A kernel's configuration, /proc/config.gz as well; raises as speed_output."""
    from ..parsers.settings import parse_kernel_config

    if path.stat() and not path.is_file():
        raise CaptureError(f"{path} is no regular file")
    try:
        text = Unpacker(str(path)).read(_CONFIG_BYTES).decode(errors="replace")
    except CaptureError as error:
        raise CaptureError(f"{path}: {error}") from None
    if not parse_kernel_config(text):
        raise CaptureError(f"{path} is no kernel configuration: no line begins with CONFIG_")
    return text


def kallsyms_text(path: Path) -> str:
    """A copy of /proc/kallsyms; raises as speed_output."""
    from .kallsyms import read_kallsyms

    if path.stat() and not path.is_file():
        raise CaptureError(f"{path} is no regular file")
    text = read_kallsyms(path)
    if not has_symbols(text):
        raise CaptureError(
            f'{path} is no copy of /proc/kallsyms: no line is as "ffffffff81000000 T _stext"'
        )
    if not has_addresses(text):
        raise CaptureError(
            f"{path} has no addresses: the kernel shows them to root alone, so copy /proc/kallsyms "
            "as root, since the boot that was recorded"
        )
    return text


def snapshots(path: Path) -> Folder:
    """A folder of copies of files of /proc; raises as speed_output."""
    from ..parsers.host import Snapshot

    if path.stat() and not path.is_dir():
        raise CaptureError(f"{path} is no folder of copies of files of /proc")
    folder = Folder(path)
    if not any(folder.text(name) for name in Snapshot.FILES):
        raise CaptureError(
            f"{path} holds no copy of a file of /proc by the name that a bundle gives it: "
            f"{', '.join(Snapshot.FILES)}"
        )
    return folder
