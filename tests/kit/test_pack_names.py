# netcost-pack with names that a shell would take apart: the archive is right, or one line says why
# there is none, and nothing that was there before is touched.

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from netcost_analysis import Bundle
from support.host import missing, require_tool, write_files
from support.kit.awk import decimal_comma
from support.kit.pack import (
    PACK,
    make_bundle,
    make_experiment,
    members,
    refused,
    snapshot,
)
from support.kit.record import busybox_alone, ended

NAMES = [
    *(" acme prod", "*", "a?[b]", "-x", "--", "'q\"", "a;b&$(touch owned)", "k={x,y}", "~", "#a"),
    *("@list", "ä ö", "\udcff", "a\\nb"),
]
# A backslash, and a dash at the front of the folder in the archive, are refused.
REFUSED = {("bundle", "-x"), ("bundle", "--"), ("bundle", "a\\nb")}
REFUSED |= {("file", "a\\nb"), ("folder", "a\\nb")}
IN_BUSYBOX = ("acme prod", "*", "a?[b]", "-x", "ä ö")
ESCAPED = "surrogateescape"
Case = tuple[str, str, tuple[str, ...], bool]


# One packing has the name in as many places as it can. TMPDIR and the bundle cannot both have it:
# they take turns, and so do packing as it is and masked.
def cases() -> Iterator[Case]:
    for shell, names in (("sh", NAMES), ("busybox", IN_BUSYBOX)):
        for at, name in enumerate(names):
            alone = [one for one in ("bundle", "file", "folder") if (one, name) in REFUSED]
            inside = [one for one in ("file", "folder") if one not in alone]
            for slot, mask in zip(("TMPDIR", "bundle"), (at % 2 == 0, at % 2 == 1), strict=True):
                # What each shell makes of a word it makes of any.
                if slot not in alone and (shell == "sh" or slot == "TMPDIR"):
                    yield shell, name, (slot, "-o", "map", *inside), mask
            yield from ((shell, name, (slot,), mask) for slot in alone for mask in (False, True))


@pytest.fixture(scope="module")
def busybox(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return busybox_alone(tmp_path_factory.mktemp("busybox"))


def populate(folder: Path) -> None:
    """What the pieces of such names are called, and what belongs to somebody else."""
    for name in ("acme", "prod", "x", "a", "b", "k", "v", "list", "ab"):
        write_files(folder, {f"{name}/mine/it": name})
        (folder / name / "mine").chmod(0o711)
    write_files(
        folder, {"-rf": "mine", "out.tar.gz.partial": "mine", "out.tar.gz.partial.map": "mine"}
    )
    write_files(folder, {"out.tar.gz.lock/mine": "mine"})
    (folder / "way").symlink_to("acme")


@pytest.mark.parametrize(("shell", "name", "slots", "mask"), list(cases()), ids=ascii)
def test_any_name_will_do_and_nothing_else_is_touched(
    shell: str,
    name: str,
    slots: tuple[str, ...],
    mask: bool,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    populate(here)
    bundle = make_bundle(here)
    temporary, output, words = here / "tmp", "out.tar.gz", ["quiet"]
    table = "out.map"
    for slot in slots:
        match slot:
            case "TMPDIR":
                temporary = here / name
            case "-o":
                output = f"{name}.tar.gz"
            case "bundle":
                bundle, words = bundle.rename(here / name), ["--", name]
            case "file":
                write_files(bundle, {f"files/{name}": "counted 1\n"})
            case "folder":
                write_files(bundle, {f"{name}/{name}/stat": "cpu 1\n"})
            case "map":
                table = f"{name}.map"
    temporary.mkdir(exist_ok=True)
    env = {**os.environ, "TMPDIR": name if "TMPDIR" in slots else str(temporary)}
    shells: list[object] = []
    if shell == "busybox":
        env["PATH"] = str(request.getfixturevalue("busybox"))
        shells = [Path(env["PATH"], "sh")]
    before = snapshot(here)
    masked = ["--mask", "--trace", "keep", "--map", table] if mask else []
    done = ended([*shells, PACK, "-o", output, *masked, *words], env=env, cwd=here, errors=ESCAPED)
    code, said = done.returncode, done.stderr
    if any((slot, name) in REFUSED for slot in slots) and not (
        mask and slots == ("bundle",) and "\\" not in name
    ):
        assert code == 1
        assert said.count("\n") == 1
        assert "name" in said
        assert snapshot(here) == before
        return
    assert (code, said) == (0, "")
    held = members(here / output, owners=shell == "busybox")
    assert Bundle(here / output).manifest_json["netcost_bundle"] == 1
    files = [path for path in bundle.rglob("*") if path.is_file()]
    assert len(held) == len(files)
    if not mask:
        assert held == {str(path.relative_to(bundle)): path.read_bytes() for path in files}
    (here / output).unlink()
    if mask:
        (here / table).unlink()
        (here / f"{output}.masked.txt").unlink()
    assert snapshot(here) == before


@pytest.mark.parametrize("slot", ["TMPDIR", "-o", "bundle", "--map", "cwd"])
def test_a_line_break_is_refused_in_a_line(slot: str, tmp_path: Path) -> None:
    here = tmp_path / ("a\nb" if slot == "cwd" else "here")
    here.mkdir()
    populate(here)
    make_bundle(here)
    (here / "tmp").mkdir()
    for name in ("a\nb", "b\n"):
        # There, and what would be taken for a bundle.
        shutil.copytree(here / "quiet", here / name)
        words = {
            "-o": ["-o", f"{name}.tar.gz", "quiet"],
            "bundle": [name],
            "--map": ["--mask", "--trace", "omit", "--map", name, "quiet"],
        }.get(slot, ["quiet"])
        env = {**os.environ, "TMPDIR": name if slot == "TMPDIR" else str(here / "tmp")}
        refused(tmp_path, *words, says="line break", env=env, cwd=here)


# Renamed over it, as root, the map would take the place of /dev/null.
@pytest.mark.parametrize("kind", ["device", "pipe", "folder", "link", "dangling"])
def test_a_map_is_a_file(kind: str, tmp_path: Path, temporary: dict[str, str]) -> None:
    make_bundle(tmp_path)
    table = tmp_path / "map"
    match kind:
        case "device":
            if os.geteuid() != 0:
                missing("needs root to make a device")
            os.mknod(table, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        case "pipe":
            os.mkfifo(table)
        case "folder":
            table.mkdir()
        case "link":
            (tmp_path / "kept").write_text("host\ta\tb\n")
            table.symlink_to("kept")
        case "dangling":
            table.symlink_to("nowhere")
    words = ["quiet", "--mask", "--trace", "omit", "--map", "map"]
    refused(tmp_path, *words, says="--map", env=temporary, cwd=tmp_path)


@pytest.mark.parametrize("inside", ["output", "TMPDIR"])
def test_what_it_writes_lies_outside(
    inside: str, tmp_path: Path, temporary: dict[str, str]
) -> None:
    bundle = make_bundle(tmp_path)
    (bundle / "sub").mkdir()
    words = ["-o", "quiet/sub/x.tar.gz"] if inside == "output" else []
    env = {**temporary, "TMPDIR": str(bundle / "sub")} if inside == "TMPDIR" else temporary
    refused(tmp_path, "quiet///", *words, says="is inside", env=env, cwd=tmp_path)


def test_a_folder_elsewhere_is_not_packed_for_it(tmp_path: Path, temporary: dict[str, str]) -> None:
    make_bundle(tmp_path)
    (tmp_path / "elsewhere" / "quiet").mkdir(parents=True)
    env = {**temporary, "CDPATH": str(tmp_path / "elsewhere")}
    done = ended([PACK, "quiet", "-o", "x.tar.gz"], env=env, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "victim.txt" in members(tmp_path / "x.tar.gz")


def test_a_decimal_comma_changes_nothing(tmp_path: Path, temporary: dict[str, str]) -> None:
    comma = {**temporary, **decimal_comma(tmp_path / "locales")}
    make_experiment(tmp_path / "e")
    held = []
    for at, env in enumerate(({**temporary, "LC_ALL": "C"}, comma)):
        words = ["e", "--mask", "--trace", "keep", "-o", f"{at}.tar.gz", "--map", "map"]
        done = ended([PACK, *words], env=env, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        held.append(members(tmp_path / f"{at}.tar.gz", "experiment.json"))
    assert held[0] == held[1]


def test_leading_dashes_say_what_to_do(tmp_path: Path, temporary: dict[str, str]) -> None:
    require_tool("gzip")
    make_bundle(tmp_path).rename(tmp_path / "-x")
    for words, says in (
        (["./-x"], "--name NAME"),
        (["-o", "-x", "--", "-x"], "ends in .tar.zst or .tar.gz"),
    ):
        refused(tmp_path, *words, says=says, env=temporary, cwd=tmp_path)
    done = ended([PACK, "./-x", "--name", "x", "--gzip"], env=temporary, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "victim.txt" in members(tmp_path / "x.netcost.tar.gz")
