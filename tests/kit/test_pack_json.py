# netcost-pack refuses a manifest that nobody could open, where it can still be recorded again: JSON
# as Python reads it, checked in awk.

import json
import os
import resource
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.host import ROOT, examples, write_files
from support.kit.pack import MANIFEST, PACK, make_bundle, make_experiment, refused
from support.kit.record import ended

CHECK = ROOT / "capture" / "lib" / "json-check.awk"
AWKS = {"mawk": ["mawk"], "gawk": ["gawk"], "busybox": ["busybox", "awk"]}
FOUND = [name for name, words in AWKS.items() if shutil.which(words[0])]
DAMAGE = st.sampled_from(list('",:{}[]\\01-+.eEtfn \n\r\tx\x01\x0cé'))

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def said_of(awk: str, data: bytes, key: str = "") -> tuple[bool, str]:
    command = [*AWKS[awk], "-f", str(CHECK)]
    env = {**os.environ, "LC_ALL": "C", "netcost_key": key}
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, env=env, **pipes) as process:
        # Of processor time: how long it takes by the clock is up to what else runs.
        resource.prlimit(process.pid, resource.RLIMIT_CPU, (30, 30))
        out, err = process.communicate(data, timeout=600)
    assert err == b""
    said = out.decode(errors="replace")
    assert said.count("\n") == process.returncode
    return process.returncode == 0, said


def is_json(data: bytes) -> bool:
    def refuse(_: str) -> None:
        raise ValueError

    try:
        json.loads(data.decode("utf-8", "replace"), parse_constant=refuse)
    except (ValueError, RecursionError):
        return False
    return True


@examples(120)
@given(
    awk=st.sampled_from(FOUND),
    value=values,
    indent=st.sampled_from([None, 1]),
    ascii_only=st.booleans(),
    damage=st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(0, 2), DAMAGE), max_size=3),
)
def test_it_takes_what_python_takes(
    awk: str,
    value: Any,
    indent: int | None,
    ascii_only: bool,
    damage: list[tuple[int, int, str]],
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    for at, how, letter in damage:
        place = at % (len(text) + 1)
        text = text[:place] + letter * (how > 0) + text[place + (how < 2) :]
    data = text.encode("utf-8", "replace").replace(b"\0", b"")
    assert said_of(awk, data)[0] == is_json(data), data


@pytest.mark.parametrize("awk", FOUND)
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "it is empty"),
        ("{", "ends too early"),
        ('{"a": 1}}', "nothing more"),
        ('{"a": "b', "without its end"),
        ('{"a": "b\tc"}', "control character"),
        ('{"a": "\\x"}', "no escape"),
        ('{"a": 01}', "01 is no value"),
        ('{"a": NaN}', "NaN is no value"),
        ('{"a": 1,}', "a name in quotes"),
        ('{"a" 1}', "a colon"),
        ("[1 2]", "a comma or ]"),
        ("[" * 200 + "]" * 200, "more than 100 deep"),
        ("\ufeff{}", "is no value"),
        ("[]", 'has no "netcost_bundle"'),
        ('{"a": {"netcost_bundle": 1}}', 'has no "netcost_bundle"'),
        ('[{"netcost_bundle": 1}]', 'has no "netcost_bundle"'),
    ],
)
def test_it_says_what_is_wrong(awk: str, text: str, says: str) -> None:
    good, said = said_of(awk, text.encode(), "netcost_bundle")
    assert (good, says in said) == (False, True), said


@pytest.mark.parametrize("awk", FOUND)
@pytest.mark.parametrize("shape", ["line", "lines", "quotes", "numbers"])
def test_a_large_one_takes_seconds(awk: str, shape: str) -> None:
    rows = [{f"name{at}": f'v"{at}', "n": [at, at + 0.5]} for at in range(5_000)]
    text = {
        "line": json.dumps(rows),
        "lines": json.dumps(rows, indent=1),
        "quotes": json.dumps('"' * 125_000),
        "numbers": json.dumps([1] * 75_000),
    }[shape]
    assert said_of(awk, text.encode()) == (True, "")


# A decimal comma, as an awk wrote it in a locale that has one; cut short; not of netcost-record.
BROKEN = {
    "comma": (
        json.dumps({**MANIFEST, "victim": {"user_s": 1.5}}, indent=1).replace("1.5", "1,500000"),
        'after "user_s": a name in quotes is wanted, not 500000 (a decimal comma?)',
    ),
    "cut": (json.dumps(MANIFEST)[:-20], "a string without its end"),
    "zero": (json.dumps(MANIFEST) + "\0", "a byte of zero"),
    "foreign": ('{"netcost_experiment": 1}', 'has no "netcost_bundle"'),
}


@pytest.mark.parametrize(
    ("where", "kind", "mask"),
    [
        *(("manifest.json", kind, False) for kind in BROKEN),
        ("baseline/manifest.json", "comma", False),
        ("e/one/manifest.json", "comma", False),
        ("manifest.json", "comma", True),
        ("e/one/manifest.json", "cut", True),
    ],
)
def test_a_broken_manifest_is_refused(
    where: str, kind: str, mask: bool, tmp_path: Path, temporary: dict[str, str]
) -> None:
    text, says = BROKEN[kind]
    if where.startswith("e/"):
        folder = make_experiment(tmp_path / "e", ("one", "two"))
        write_files(tmp_path, {where: text})
    else:
        folder = make_bundle(tmp_path)
        write_files(folder, {where: text})
    words = ["--mask", "--trace", "omit"] if mask else []
    refused(tmp_path, folder, *words, says=(where, says), env=temporary)


def test_a_broken_experiment_is_refused(tmp_path: Path, temporary: dict[str, str]) -> None:
    folder = make_experiment(tmp_path / "e", ("one",))
    write_files(folder, {"experiment.json": '{"netcost_bundle": 1}'})
    refused(tmp_path, folder, says='has no "netcost_experiment"', env=temporary)
    # A victim's own are its own.
    write_files(make_bundle(tmp_path), {"files/manifest.json": "{"})
    assert ended([PACK, tmp_path / "quiet"], env=temporary).returncode == 0
