# Bundles in one file: opened by their content, checked, refused in one line; nothing stays where a
# full disk or a signal ends it.

import errno
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from random import Random

import pytest

from netcost_analysis import Bundle, CaptureError, open_capture
from support import packed_bundles as p
from support.host import write_files
from support.packed_bundles import REFUSED, Made
from support.run_cli import Netcost


def written(folder: Path, made: Made, how: str = "zstd", name: str = "b.netcost.tar.zst") -> Path:
    path = folder / name
    path.write_bytes(p.packed(p.tar(made), how))
    return path


@pytest.mark.parametrize("how", ["zstd", "gzip", "none"])
@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT])
def test_opens_as_the_folder_does(tmp_path: Path, unpacking: Path, how: str, form: int) -> None:
    files = p.bundle_files(tmp_path)
    path = tmp_path / "any-name"
    path.write_bytes(p.packed(p.tar(p.members(files), form), how))
    folder = write_files(tmp_path / "folder", files)
    capture, plain = open_capture(path), open_capture(folder)
    assert Bundle(path).victim_comm == "openssl"
    assert Bundle(path).speed_runs == Bundle(folder).speed_runs
    assert Bundle(path).before.ticks == Bundle(folder).before.ticks
    assert capture.info | {"path": ""} == plain.info | {"path": ""}
    assert capture.timeline().sums().equals(plain.timeline().sums())


def test_is_unpacked_once_and_gone_with_its_users(tmp_path: Path, unpacking: Path) -> None:
    path = written(tmp_path, p.members(p.bundle_files(tmp_path)))
    one, other = Bundle(path), Bundle(path)
    assert one.path == other.path
    assert len(list(unpacking.iterdir())) == 1
    # Nobody else on the host is to read it.
    assert next(unpacking.iterdir()).stat().st_mode & 0o077 == 0
    del one
    assert other.victim_output
    del other
    assert list(unpacking.iterdir()) == []


def test_is_unpacked_anew_once_it_has_changed(tmp_path: Path, unpacking: Path) -> None:
    files = p.bundle_files(tmp_path)
    path = written(tmp_path, p.members(files))
    one = Bundle(path)
    written(tmp_path, p.members({**files, "victim.txt": b"another\n"}))
    assert Bundle(path).victim_output == "another\n"
    assert one.victim_output != "another\n"


def test_a_packed_recording_is_no_packed_bundle(tmp_path: Path) -> None:
    path = tmp_path / "trace.zst"
    path.write_bytes(p.packed(p.small_trace(tmp_path / "plain").read_bytes(), "zstd"))
    assert open_capture(path).bundle is None


@pytest.mark.parametrize("name", REFUSED)
def test_refuses_in_one_line_and_leaves_nothing(
    tmp_path: Path, unpacking: Path, netcost: Netcost, name: str
) -> None:
    change, says = REFUSED[name]
    path = written(tmp_path, change(p.members(p.bundle_files(tmp_path))))
    before = sorted(tmp_path.rglob("*"))
    run = netcost("info", str(path))
    assert run.code == 1
    assert run.err.startswith("netcost: ")
    assert run.err.count("\n") == 1
    assert "\x1b" not in run.err
    assert re.search(says, run.err), run.err
    assert "a bug" not in run.err
    # The archive, and never a folder that is gone when it is read.
    assert run.err.startswith(f"netcost: {path}: ")
    assert str(unpacking) not in run.err
    assert len(run.err) < 500
    assert sorted(tmp_path.rglob("*")) == before
    assert not Path("/tmp/netcost-out").exists()


# Headers as no tarfile writes them: a size below 0; a hole of a terabyte, as GNU tar writes it, of
# type S with its map in the header.
def raw_header(name: str, patches: dict[int, bytes]) -> bytes:
    header = bytearray(tarfile.TarInfo(f"bundle/{name}").tobuf(tarfile.GNU_FORMAT))
    for at, data in patches.items():
        header[at : at + len(data)] = data
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header)


NUMBER = b"00000000000\0"
HEADERS = {
    "'bundle/less' in it has a negative size": raw_header(
        "less", {124: (-1024).to_bytes(12, "big", signed=True)}
    ),
    "sparse": raw_header(
        "hole",
        {156: b"S", 124: NUMBER, 386: NUMBER * 2, 483: b"\x80" + (1 << 40).to_bytes(11, "big")},
    ),
}


@pytest.mark.parametrize("says", HEADERS)
def test_refuses_sizes_that_nothing_stands_for(
    tmp_path: Path, unpacking: Path, netcost: Netcost, says: str
) -> None:
    path = tmp_path / "b.tar"
    path.write_bytes(HEADERS[says] + p.tar(p.members(p.bundle_files(tmp_path))))
    run = netcost("info", str(path))
    assert (run.code, run.err.count("\n")) == (1, 1)
    assert says in run.err
    assert list(unpacking.iterdir()) == []


@pytest.mark.parametrize(
    ("manifest", "says"),
    [
        (b"{", "{path}/manifest.json is not JSON"),
        (b"[]", "{path}/manifest.json was not written by netcost-record"),
        (b'{"netcost_bundle": 7}', "{path} is a bundle of format 7"),
        (b'{"netcost_bundle": 1}', "{path}/manifest.json must name a file"),
        (b'{"netcost_bundle": 1, "trace": "../x"}', "{path}/manifest.json names '../x', which is"),
        (b'{"netcost_bundle": 1, "trace": "x"}', "the bundle has no trace: x was left out"),
        (b'{"netcost_bundle": 1, "trace": "victim.txt"}', "{path}: not a capture"),
    ],
)
def test_without_a_good_manifest_the_archive_is_named(
    tmp_path: Path, unpacking: Path, netcost: Netcost, manifest: bytes, says: str
) -> None:
    files = p.bundle_files(tmp_path) | {"manifest.json": manifest}
    path = written(tmp_path, p.members(files))
    run = netcost("stolen", str(path))
    assert (run.code, run.err.count("\n")) == (1, 1)
    assert says.format(path=path) in run.err
    assert str(path) in run.err
    assert str(unpacking) not in run.err


@pytest.mark.parametrize("how", ["zstd", "gzip", "none"])
def test_cut_anywhere_it_is_refused(tmp_path: Path, unpacking: Path, how: str) -> None:
    whole = p.packed(p.tar(p.members(p.bundle_files(tmp_path))), how)
    path = tmp_path / "cut"
    # Behind the last file stand two empty blocks and padding that nobody needs.
    end = len(whole) - (10240 if how == "none" else 32)
    for size in (*range(600 if how == "none" else 400, end, max(end // 25, 1)),):
        path.write_bytes(whole[:size])
        with pytest.raises((CaptureError, OSError)) as caught:
            open_capture(path)
        assert "\n" not in str(caught.value)
        assert list(unpacking.iterdir()) == []


# Headers of all kinds, damaged byte by byte.
def test_a_damaged_archive_is_refused_or_sound(tmp_path: Path, unpacking: Path) -> None:
    files = {**p.bundle_files(tmp_path), "n" * 150: b"long", "umlaut-ä": b"x"}
    random, opened = Random(7), 0
    for number in range(300):
        form = (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT)[number % 2]
        data = bytearray(p.tar(p.members(files), form))
        # Headers stand on multiples of 512; what else is there is summed.
        for _ in range(random.choice((1, 2, 5))):
            at = random.randrange(len(data) // 512 - 20) * 512 + random.randrange(512)
            data[at] = random.choice(
                (0, 0xFF, 0x80, ord("7"), ord("x"), ord("g"), ord("S"), ord("-"))
            )
        if number % 3:
            _mend_sums(data)
        path = tmp_path / "damaged.tar"
        path.write_bytes(data)
        try:
            Bundle(path)
            opened += 1
        except (CaptureError, OSError) as error:
            said = str(error)
            assert said.count("\n") == 0, number
        assert list(unpacking.iterdir()) == []
    assert 0 < opened < 200


# Checksums of the headers, so that what is damaged in them is looked at.
def _mend_sums(data: bytearray) -> None:
    for at in range(0, len(data) - 512, 512):
        block = data[at : at + 512]
        if block[257:262] == b"ustar":
            block[148:156] = b" " * 8
            data[at + 148 : at + 156] = b"%06o\0 " % sum(block)


# What netcost-pack --trace omit makes, and netcost-record --profile none.
def test_a_bundle_without_a_trace_says_so(tmp_path: Path, netcost: Netcost) -> None:
    for trace, said in (
        ("trace.perf.data", "data was left"),
        (None, "recorded without"),
    ):
        (tmp_path / "manifest.json").write_text(json.dumps({"netcost_bundle": 1, "trace": trace}))
        run = netcost("info", str(tmp_path))
        assert (run.code, run.err.count("\n")) == (1, 1)
        assert said in run.err


# A limit on the size of a file stands for a full disk.
def test_a_full_disk_leaves_nothing(tmp_path: Path, unpacking: Path) -> None:
    files = {**p.bundle_files(tmp_path), "large": bytes(1 << 20)}
    path = written(tmp_path, p.members(files))
    done = subprocess.run(
        [sys.executable, "-m", "netcost_analysis", "info", str(path)],
        env={**os.environ, "TMPDIR": str(unpacking)},
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 18, 1 << 18)),
    )
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.endswith(f": {os.strerror(errno.EFBIG)}\n")
    assert done.stderr.startswith(f"netcost: {unpacking}")
    assert list(unpacking.iterdir()) == []


# Unpacks, and then hangs as a slow disk does.
SLOW = """
import sys, time
from netcost_analysis.capture import packed
from netcost_analysis.cli import main as cli
unpack = packed.unpack
packed.unpack = lambda *given: (unpack(*given), time.sleep(60))
sys.argv = ["netcost", "info", sys.argv[1]]
cli.main()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_ended_while_it_unpacks_it_leaves_nothing(
    tmp_path: Path, unpacking: Path, number: signal.Signals
) -> None:
    path = written(tmp_path, p.members(p.bundle_files(tmp_path)))
    environment = {**os.environ, "TMPDIR": str(unpacking)}
    running = subprocess.Popen(
        [sys.executable, "-c", SLOW, str(path)],
        env=environment,
        stderr=subprocess.PIPE,
        # Under nohup, or in the background of a shell, it would be ignored, as it should be.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )
    while not list(unpacking.rglob("SHA256SUMS")):
        assert running.poll() is None
        time.sleep(0.01)
    running.send_signal(number)
    _, said = running.communicate()
    assert running.returncode == 128 + number
    assert said == b""
    assert list(unpacking.iterdir()) == []
