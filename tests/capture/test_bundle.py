# A bundle's files and its manifest: what a stranger's says in another type is absent, and the rest
# stays.

import copy
import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from msgspec import convert, to_builtins

from netcost_analysis import Bundle, CaptureError, open_capture
from netcost_analysis.capture.manifest import Manifest, Victim
from netcost_analysis.parsers.typed_json import struct_of
from support.perfdata import cpu, recording
from support.perfdata import happenings as h


def bundle(folder: Path, **manifest: Any) -> Bundle:
    (folder / "manifest.json").write_text(json.dumps({"netcost_bundle": 1, **manifest}))
    return Bundle(folder)


def test_names_its_files(tmp_path: Path) -> None:
    (tmp_path / "victim.txt").write_text(
        "Doing sha256 for 3s on 1024 size blocks: 4523369 sha256's in 2.41s\n"
    )
    (tmp_path / "kernel_config").write_text("CONFIG_HZ=250\n")
    made = bundle(tmp_path, trace="trace.perf.data", victim={"output": "victim.txt", "cpu": 1})
    assert made.trace == tmp_path / "trace.perf.data"
    assert made.speed_runs[0].user_s == 2.41
    assert made.kernel_config == {"CONFIG_HZ": "250"}
    assert made.load_output is None
    assert made.baseline is None
    assert made.before.stat.empty


def test_a_baseline_is_a_bundle_of_its_own(tmp_path: Path) -> None:
    idle = tmp_path / "baseline"
    idle.mkdir()
    bundle(idle, victim={"user_s": 3.0, "wall_s": 3.0})
    found = bundle(tmp_path, trace="t", baseline="baseline/").baseline
    assert found.victim == Victim(user_s=3.0, wall_s=3.0)


@pytest.mark.parametrize("name", ["../outside", "/etc/passwd", "a/../../outside", "link", "a\0b"])
def test_no_name_leads_out_of_the_bundle(tmp_path: Path, name: str) -> None:
    inside = tmp_path / "bundle"
    inside.mkdir()
    (tmp_path / "outside").write_text("secret")
    (inside / "link").symlink_to(tmp_path / "outside")
    made = bundle(inside, trace=name, victim={"output": name}, baseline=name)
    for read in ("trace", "victim_output", "baseline"):
        with pytest.raises(CaptureError, match="outside the bundle"):
            getattr(made, read)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "no netcost_bundle"),
        ('{"trace": "t"}', "no netcost_bundle"),
        ('{"netcost_bundle": 2}', "format 2"),
    ],
)
def test_a_manifest_that_is_none(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(CaptureError, match=says) as caught:
        Bundle(tmp_path)
    assert "\n" not in str(caught.value)


# As mawk wrote it under a locale with a decimal comma.
COMMAS = """{"netcost_bundle": 1,
  "trace": null, "duration_s": 2.500000,
  "record_command": "netcost-record --note '\\"user_s\\": 1,000000'",
  "victim": {"command": "openssl", "cpu": 1, "pid": 7,
    "user_s": 1,980000, "system_s": 0,000000, "wall_s": 2.000000,
    "output": "victim.txt"}, "baseline": "baseline/"}
"""


def test_decimal_commas_of_an_old_recorder_are_mended(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(COMMAS)
    made = Bundle(tmp_path)
    assert (made.victim.user_s, made.victim.system_s) == (1.98, 0.0)
    # What somebody wrote is nobody's number.
    assert "1,000000" in (made.manifest.record_command or "")
    [note] = made.notes
    assert note.startswith("manifest.json: ")
    assert "in user_s, system_s" in note


def test_a_run_beside_it_is_mended_as_well(tmp_path: Path) -> None:
    (tmp_path / "baseline").mkdir()
    (tmp_path / "baseline" / "manifest.json").write_text(COMMAS)
    made = bundle(tmp_path, trace="t", baseline="baseline/", calibration={"load": "gone/"})
    assert made.baseline.victim.user_s == 1.98
    assert [note[:23] for note in made.notes] == ["baseline/manifest.json:"]


@pytest.mark.parametrize(
    "damage",
    [
        # Five decimals, another field, a number among others: not what mawk wrote.
        ('"user_s": 1,980000', '"user_s": 1,98000'),
        ('"user_s": 1,980000', '"user_s": 1,980000,'),
        ('"pid": 7', '"pid": 7,000000'),
        ('"cpu": 1', '"cpu": '),
    ],
)
def test_any_other_damage_is_refused(tmp_path: Path, damage: tuple[str, str]) -> None:
    (tmp_path / "manifest.json").write_text(COMMAS.replace(*damage))
    with pytest.raises(CaptureError, match=r"manifest\.json .* JSON"):
        Bundle(tmp_path)


def test_what_was_mended_is_a_note_of_the_capture(tmp_path: Path) -> None:
    recording(cpu(0, h.Waking(5, h.Task(7, "a")))).write(tmp_path / "trace.perf.data")
    text = COMMAS.replace('"trace": null', '"trace": "trace.perf.data"')
    (tmp_path / "manifest.json").write_text(text)
    info = open_capture(tmp_path).info
    assert any(note.startswith("manifest.json: decimal commas") for note in info["notes"])


@pytest.mark.parametrize("value", ["", 7, ["trace"]])
def test_a_trace_that_is_no_name(tmp_path: Path, value: object) -> None:
    with pytest.raises(CaptureError, match="name a file"):
        _ = bundle(tmp_path, trace=value).trace


@pytest.mark.parametrize(
    ("command", "comm"),
    [
        ("openssl speed -evp sha256", "openssl"),
        ("/usr/bin/openssl speed", "openssl"),
        ("a-name-of-twenty-char", "a-name-of-twent"),
        ("", None),
        (None, None),
    ],
)
def test_the_victims_comm(tmp_path: Path, command: str | None, comm: str | None) -> None:
    assert bundle(tmp_path, victim={"command": command}).victim_comm == comm


WHOLE: dict[str, Any] = {
    "netcost_bundle": 1,
    "tool": "perf",
    "trace": "trace.perf.data",
    "cpus": "all",
    "record_command": "netcost-record -o x",
    "lost_events": 3,
    "window": {"start_ns": 1, "end_ns": 2},
    "host": {"kernel": "6.12", "arch": "x86_64", "cpu_model": "EPYC", "virtualization": "kvm",
             "clocksource": "tsc", "sysctls": {"net.core.netdev_budget": 300}},
    "victim": {"command": "openssl speed", "output": "victim.txt", "cpu": 1, "pid": 7,
               "start_ns": 1, "end_ns": 2, "user_s": 1, "system_s": 0.5, "wall_s": 2.0},
    "load": {"command": "udp-load", "output": "load.txt"},
    "baseline": "baseline/",
    "calibration": {"idle": "a/", "idle_traced": "b/", "load": "c/", "load_traced": "./"},
    "completeness": {"verdict": "complete", "state": "complete", "reason": "none",
                     "lost_events": 0,
                     "rows": [{"what": "irq", "name": "9", "cpu": 0, "counted": 1, "recorded": 1,
                               "recorded_inside": 0}]},
    "companions": [{"name": "mpstat", "output": "mpstat.json", "start_ns": 5}],
    "network_namespaces": ["."],
    "notes": ["one"],
}  # fmt: skip
OTHERS = (None, True, -1, 1.5, 1 << 70, 10**400, float("nan"), "x", "\ud800", [], [1], {}, {"x": 1})
# Of the others' parts one that is wrong, or missing, undoes the whole.
APART = ("window", "host", "victim", "load", "calibration")

Keys = tuple[str | int, ...]


def leaves(value: Any, path: Keys = ()) -> dict[Keys, Any]:
    """What is in a manifest, by where it is."""
    found = {path: value} if path else {}
    if isinstance(value, list | tuple):
        value = dict(enumerate(value))
    for key, one in value.items() if isinstance(value, dict) else ():
        found |= leaves(one, (*path, key))
    return found


def changed(path: Keys, value: Any) -> dict[str, Any]:
    said = copy.deepcopy(WHOLE)
    at: Any = said
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return said


def test_each_field_stands_for_itself() -> None:
    known = leaves(to_builtins(struct_of(Manifest, WHOLE)))
    for path, value in product(leaves(WHOLE), OTHERS):
        doubtful = path if path[0] in APART else path[:1]
        found = struct_of(Manifest, changed(path, value))
        # What is left is of its type.
        assert convert(to_builtins(found), Manifest) == found
        kept = leaves(to_builtins(found))
        for place in known:
            inside = place[: len(doubtful)] == doubtful
            holds = doubtful[: len(place)] == place
            assert inside or holds or kept[place] == known[place], (path, value, place)


def test_what_is_no_object_says_nothing_and_a_list_keeps_what_is_of_its_type() -> None:
    assert [struct_of(Manifest, said) for said in (None, [], "x", 3)] == [None] * 4
    companions = [None, {"output": "x"}, {"name": "mpstat", "start_ns": "now"}, 7]
    found = struct_of(Manifest, {"notes": [None, "one", {"a": 1}, "two"], "companions": companions})
    assert found.notes == ["one", "two"]
    assert [(one.name, one.start_ns) for one in found.companions] == [("mpstat", None)]
