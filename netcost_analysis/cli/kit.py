# netcost kit: the scripts that record on a host, of this version.

import shutil
import tarfile
from pathlib import Path

import click

from .options import json_option, print_json

# A link to `capture` in the repository; a wheel has the files.
_KIT = Path(__file__).parents[1] / "kit"
_ARCHIVE = ".tar.gz"
_SCRIPT = b"#!"


@click.command("kit", short_help="Write the capture kit: the scripts that record on a host.")
@click.argument("target", metavar="DIR")
@json_option
def command(target: str, as_json: bool) -> None:
    """Write the capture kit of this version to DIR, a new folder, or to DIR.tar.gz, a new file.

    It records on a host without Python: a POSIX shell, root, and perf, trace-cmd or tracefs are
    enough. DIR/netcost-record --help says how.
    """
    from .._native import __version__

    name = Path(target).name.removesuffix(_ARCHIVE)
    if name in ("", "..") or Path(target).name == _ARCHIVE:
        raise click.UsageError(f"{target!r} is no name of a new folder")
    if Path(target).exists() or Path(target).is_symlink():
        raise click.UsageError(f"{target} exists: name a new folder or file")
    files = sorted(path.relative_to(_KIT) for path in _KIT.rglob("[!.]*") if path.is_file())
    if target.endswith(_ARCHIVE):
        _pack(Path(target), name, files)
    else:
        _copy(target, files)
    if as_json:
        print_json({"output": target, "version": __version__, "files": len(files)})
        return
    print(f"capture kit of netcost {__version__} in {target}")
    if target.endswith(_ARCHIVE):
        print(f"on the host: tar -xf {Path(target).name}")
    print(f"on the host: {name}/netcost-record -o mine --check")


def _copy(target: str, files: list[Path]) -> None:
    from ..export.folder import whole

    with whole(target, overwrite=False) as draft:
        for file in files:
            (draft / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(_KIT / file, draft / file)
            (draft / file).chmod(_mode(file))


def _pack(target: Path, name: str, files: list[Path]) -> None:
    from ..files import replacing

    with replacing(target) as draft, tarfile.open(draft, "w:gz") as archive:
        for file in files:
            entry = archive.gettarinfo(_KIT / file, f"{name}/{file}")
            # Whoever unpacks it owns it.
            entry.mode, entry.uid, entry.gid, entry.uname, entry.gname = _mode(file), 0, 0, "", ""
            with (_KIT / file).open("rb") as content:
                archive.addfile(entry, content)


def _mode(file: Path) -> int:
    # Not every installer keeps what may be executed.
    with (_KIT / file).open("rb") as content:
        return 0o755 if content.read(2) == _SCRIPT else 0o644
