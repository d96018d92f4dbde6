# netcost kit: this version of the scripts that record on a host.

import shutil
import tarfile
from pathlib import Path

import click

from .options import json_option, print_json

# In the repository a link to `capture`; a wheel has the files.
_KIT = Path(__file__).parents[1] / "kit"
_ARCHIVE = ".tar.gz"


@click.command("kit", short_help="Write the capture kit: the scripts that record on a host.")
@click.argument("target", metavar="DIR")
@json_option
def command(target: str, as_json: bool) -> None:
    """Write the capture kit of this version to DIR, a new folder, or to DIR.tar.gz, a new file.

    It records on a host without Python: a POSIX shell, root, and perf, trace-cmd or tracefs are
    enough. DIR/netcost-record --help says how.
    """
    from .._native import __version__
    from ..export.folder import whole
    from ..files import replacing

    name = Path(target).name.removesuffix(_ARCHIVE)
    if name in ("", "..") or Path(target).name == _ARCHIVE:
        raise click.UsageError(f"{target!r} cannot be the name of a new folder")
    if Path(target).exists() or Path(target).is_symlink():
        raise click.UsageError(f"{target} exists: name a new folder or file")
    files = sorted(path.relative_to(_KIT) for path in _KIT.rglob("[!.]*") if path.is_file())
    if target.endswith(_ARCHIVE):
        with replacing(target) as draft, tarfile.open(draft, "w:gz") as archive:
            for file in files:
                archive.add(_KIT / file, f"{name}/{file}", filter=_plain)
    else:
        with whole(target, overwrite=False) as draft:
            for file in files:
                (draft / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(_KIT / file, draft / file)
                (draft / file).chmod(_mode(file))
    if as_json:
        print_json({"output": target, "version": __version__, "files": len(files)})
        return
    print(f"capture kit of netcost {__version__} in {target}")
    if target.endswith(_ARCHIVE):
        print(f"on the host: tar -xf {Path(target).name}")
    print(f"on the host: {name}/netcost-record -o mine --check")


def _plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    # Whoever unpacks it owns it.
    entry.mode = _mode(Path(*Path(entry.name).parts[1:]))
    entry.uid, entry.gid, entry.uname, entry.gname = 0, 0, "", ""
    return entry


def _mode(file: Path) -> int:
    # Not every installer keeps the executable bit.
    with (_KIT / file).open("rb") as content:
        return 0o755 if content.read(2) == b"#!" else 0o644
