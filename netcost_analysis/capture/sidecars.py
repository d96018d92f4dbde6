"""Files beside a recording, named by the user or left there by perf: read whole, and checked."""

from pathlib import Path
from typing import NamedTuple

from .._native import CaptureError, first_bytes
from ..errors import ArgumentError, require_text
from ..parsers.kallsyms import has_addresses, has_symbols
from .folder import Folder, read_text

# These bounds reject a frequency given in MHz or GHz.
_SLOWEST_HZ, _FASTEST_HZ = 1e6, 1e11
# Four times the longest kernel configuration, and ten times the symbols of a large kernel.
_CONFIG_BYTES, _KALLSYMS_BYTES = 1 << 20, 256 << 20


class Sidecars(NamedTuple):
    """What the user gave beside a recording: the parameters of open_capture."""

    victim_output: str | Path | None = None
    victim_cpu: int | None = None
    baseline_output: str | Path | None = None
    kernel_config: str | Path | None = None
    before: str | Path | None = None
    after: str | Path | None = None
    tsc_hz: float | None = None
    kallsyms: str | Path | None = None
    symbols: str | Path | None = None

    def checked(self) -> "Sidecars":
        """Itself; raises ArgumentError for an impossible number, CaptureError for a bad path."""
        if self.victim_cpu is not None and self.victim_cpu < 0:
            raise ArgumentError(f"victim_cpu={self.victim_cpu}: CPU numbers start at 0")
        for name, given in self._asdict().items():
            require_text(str(given), f"path of {name}")
        _ = self.cycles_per_s
        return self

    @property
    def for_samples(self) -> "Sidecars":
        """The ones for samples, which may be in a recording beside the bundle's trace."""
        return Sidecars(kallsyms=self.kallsyms, symbols=self.symbols)

    @property
    def bundle_files(self) -> "Sidecars":
        """The ones that a bundle stores."""
        return self._replace(tsc_hz=None, kallsyms=None, symbols=None)

    @property
    def cycles_per_s(self) -> int | None:
        """tsc_hz as a whole number; raises ArgumentError for one that no clock has."""
        if self.tsc_hz is None:
            return None
        if not _SLOWEST_HZ <= self.tsc_hz <= _FASTEST_HZ:
            raise ArgumentError(
                f"tsc_hz={self.tsc_hz:g}: the clock's cycles per second, from {_SLOWEST_HZ:g} to "
                f"{_FASTEST_HZ:g}; 2.4 GHz is 2.4e9"
            )
        return round(self.tsc_hz)


def speed_output(path: Path) -> str:
    """The output of `openssl speed`, with at least one result.

    Raises CaptureError if it is not, OSError if it cannot be read.
    """
    from ..parsers.openssl import parse_openssl_speed

    text = read_text(path)
    if not parse_openssl_speed(text):
        raise CaptureError(
            f'{path} is not output of openssl speed: no line is like "Doing sha256 for 3s on 1024 '
            "size blocks: 4523369 sha256's in 2.99s\", which it writes to standard error"
        )
    return text


def _check_regular(path: Path) -> None:
    # stat() raises the OSError that says why a file cannot be read.
    if path.stat() and not path.is_file():
        raise CaptureError(f"{path} is not a regular file")


def config_text(path: Path) -> str:
    """A kernel configuration, plain or as /proc/config.gz; raises as speed_output."""
    from ..parsers.settings import parse_kernel_config

    _check_regular(path)
    try:
        text = first_bytes(str(path), _CONFIG_BYTES).decode(errors="replace")
    except CaptureError as error:
        raise CaptureError(f"{path}: {error}") from None
    if not parse_kernel_config(text):
        raise CaptureError(f"{path} is not a kernel configuration: no line begins with CONFIG_")
    return text


def kallsyms_text(path: Path) -> str:
    """A copy of /proc/kallsyms; raises as speed_output."""
    _check_regular(path)
    text = read_kallsyms(path)
    if not has_symbols(text):
        raise CaptureError(
            f'{path} is not a copy of /proc/kallsyms: no line is like "ffffffff81000000 T _stext"'
        )
    if not has_addresses(text):
        raise CaptureError(
            f"{path} has no addresses: the kernel shows them to root only, so copy /proc/kallsyms "
            "as root, within the boot that was recorded"
        )
    return text


def read_kallsyms(path: Path) -> str:
    """The text of a copy of /proc/kallsyms."""
    with path.open(encoding="utf-8", errors="replace") as file:
        return file.read(_KALLSYMS_BYTES)


def kallsyms_beside(recording: str) -> Path | None:
    """The copy in a folder that `perf record --kcore` wrote, None if there is none."""
    path = Path(recording, "kcore_dir", "kallsyms")
    # A link could lead anywhere.
    is_linked = path.parent.is_symlink() or path.is_symlink()
    return path if path.is_file() and not is_linked else None


def snapshots(path: Path) -> Folder:
    """A folder of copies of /proc files; raises as speed_output."""
    from ..parsers.host import Snapshot

    if path.stat() and not path.is_dir():
        raise CaptureError(f"{path} is not a folder with copies of /proc files")
    folder = Folder(path)
    if not any(folder.text(name) for name in Snapshot.FILES):
        raise CaptureError(
            f"{path} holds no copy of a /proc file under the name that a bundle uses: "
            f"{', '.join(Snapshot.FILES)}"
        )
    return folder
