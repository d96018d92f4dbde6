# The manifest as types: what a stranger's says in another type is absent, and the rest stays.

import copy
from itertools import product
from typing import Any

from msgspec import convert, to_builtins

from netcost_analysis.capture.manifest import Description, Manifest, struct_of

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
OTHERS = (None, True, -1, 1.5, 1 << 70, float("nan"), "x", [], [1], {}, {"x": 1})
# Of the others' parts one that is wrong, or missing, undoes the whole.
APART = ("window", "host", "victim", "load", "calibration")

Path = tuple[str | int, ...]


def leaves(value: Any, path: Path = ()) -> dict[Path, Any]:
    """What is in a manifest, by where it is."""
    found = {path: value} if path else {}
    if isinstance(value, list | tuple):
        value = dict(enumerate(value))
    for key, one in value.items() if isinstance(value, dict) else ():
        found |= leaves(one, (*path, key))
    return found


def changed(path: Path, value: Any) -> dict[str, Any]:
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


def test_what_is_no_object_says_nothing() -> None:
    for said in (None, [], "x", 3):
        assert struct_of(Manifest, said) is None
        assert struct_of(Description, said) is None


def test_a_list_keeps_the_items_of_its_type() -> None:
    companions = [None, {"output": "x"}, {"name": "mpstat", "start_ns": "now"}, 7]
    found = struct_of(Manifest, {"notes": [None, "one", {"a": 1}, "two"], "companions": companions})
    assert found is not None
    assert found.notes == ["one", "two"]
    assert [(one.name, one.start_ns) for one in found.companions] == [("mpstat", None)]
