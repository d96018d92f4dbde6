# Files that are no recording, or too damaged to be one: exit status 1 and the one line that
# docs/formats.md promises.

import gzip
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import ROOT
from run_cli import Netcost
from told_cli import one_interrupt

Damage = Callable[[bytes], bytes | None]


def put(at: int, value: int) -> Damage:
    return lambda whole: whole[:at] + value.to_bytes(8, "little") + whole[at + 8 :]


# What is done to a whole recording; None makes an empty folder.
DAMAGES: dict[str, Damage] = {
    "empty": lambda whole: b"",
    "fifteen bytes": lambda whole: whole[:15],
    "a script": lambda whole: b"#!/bin/sh\n" + whole,
    "trace.dat": lambda whole: b"\x17\x08\x44tracing6\0" + whole,
    "header of 105": put(8, 55),
    "half a header": lambda whole: whole[:50],
    "attrs outside": put(24, 1 << 40),
    "attrs of one byte": put(16, 1),
    "no attrs": put(32, 0),
    "an empty stream": lambda whole: put(8, 16)(whole[:16]),
    "a stream of samples": lambda whole: (
        (put(8, 16)(whole[:16]) or b"") + b"\x09\0\0\0\x01\0\x10\0" + bytes(8)
    ),
    "a stream of nothing": lambda whole: (put(8, 16)(whole[:16]) or b"") + bytes(64),
    "a killed recorder": lambda whole: (put(48, 0)(whole) or b"")[
        : int.from_bytes(whole[40:48], "little")
    ],
    "a folder": lambda whole: None,
    "no gzip": lambda whole: b"\x1f\x8b" + bytes(100),
    "no zstd": lambda whole: b"\x28\xb5\x2f\xfd" + bytes(100),
    "a bomb": lambda whole: gzip.compress(bytes(1 << 20)) * 150,
}


def sentences() -> list[str]:
    # The table's first column, with what differs from file to file left open.
    section = (ROOT / "docs" / "formats.md").read_text().split("## What is refused")[1]
    written = re.findall(r"^\| `(.*?)` \|", section.split("\n## ")[0], re.MULTILINE)
    return [
        re.escape(one).replace("gzip", "(gzip|zstd)").replace("…", ".+")
        for one in (re.sub(r"\bN\b", "0", one) for one in written)
    ]


def matching(line: str) -> list[str]:
    plain = re.sub(r"\d+", "0", line)
    return [one for one in sentences() if re.fullmatch(re.sub(r"\d+", "0", one), plain)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return Path(one_interrupt(tmp_path_factory.mktemp("capture"))).read_bytes()


@pytest.fixture
def netcost(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Netcost:
    return Netcost(monkeypatch, capsys)


def refusal(netcost: Netcost, path: Path, data: bytes | None) -> str:
    if data is None:
        path.mkdir()
    else:
        path.write_bytes(data)
    run = netcost("info", str(path))
    assert (run.code, run.out) == (1, "")
    return run.err.removeprefix("netcost: ").rstrip("\n")


@pytest.mark.parametrize("name", DAMAGES)
def test_a_refusal_is_one_documented_line(
    netcost: Netcost, whole: bytes, tmp_path: Path, name: str
) -> None:
    said = refusal(netcost, tmp_path / "perf.data", DAMAGES[name](whole))
    assert "\n" not in said
    assert len(matching(said)) == 1, said


def test_every_documented_line_is_said(netcost: Netcost, whole: bytes, tmp_path: Path) -> None:
    said = [
        refusal(netcost, tmp_path / str(number), damage(whole))
        for number, damage in enumerate(DAMAGES.values())
    ]
    heard = {one for line in said for one in matching(line)}
    assert heard == set(sentences())
    assert len(heard) > 8
