# /proc/kallsyms beside a recording.

from pathlib import Path

# The largest kernels have some 20 MB of symbols.
_TEXT_LIMIT_BYTES = 256 << 20


def kallsyms_beside(recording: str) -> Path | None:
    # What `perf record --kcore` puts into the folder that it makes; a link in it could lead
    # anywhere.
    path = Path(recording, "kcore_dir", "kallsyms")
    linked = path.parent.is_symlink() or path.is_symlink()
    return path if path.is_file() and not linked else None


def read_kallsyms(path: Path) -> str:
    with path.open(encoding="utf-8", errors="replace") as file:
        return file.read(_TEXT_LIMIT_BYTES)
