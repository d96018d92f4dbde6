# Every sample in one component and in one function, and none of their weight lost: of any stacks,
# and by any rules, as a classifier tells that looks at one frame after the other.

import json
from collections import Counter
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pandas as pd
from hypothesis import example, given
from hypothesis import strategies as st

from netcost_analysis._native import folded
from support.examples import examples
from support.stacks import CLOCK, CYCLES, USER, Stack, capture_of, stack

NAMES = ("a", "ab", "abc.isra.0", "b [mod]", "bc [other]", "c+0x80", "c", "?")
PATTERNS = st.sampled_from(("a", "a*", "?b", "b*", "c", "*", "nothing"))
MODULES = st.sampled_from(("mod", "o*", "none"))
SEND = "tcp_sendmsg < inet_sendmsg < __sys_sendto"
Rule = dict[str, Any]


@st.composite
def rule_of(draw: st.DrawFn) -> Rule:
    made: Rule = {"component": draw(st.sampled_from(["one", "two", "idle"]))}
    made["functions"] = draw(st.lists(PATTERNS, min_size=1, max_size=2))
    made["modules"] = draw(st.lists(MODULES, max_size=1))
    if draw(st.booleans()):
        made["under"] = draw(st.lists(PATTERNS, min_size=1, max_size=2))
        made["until"] = draw(st.lists(PATTERNS, max_size=2))
    return made


stacks = st.builds(
    Stack,
    st.lists(st.sampled_from(NAMES), max_size=4).map(tuple),
    st.lists(st.just(USER), max_size=1).map(tuple),
    period=st.integers(0, 2**40),
)


def parts(frame: str) -> tuple[str, str]:
    name, _, module = frame.partition(" ")
    return ("" if frame == "?" else folded(name.partition("+")[0])), module.strip("[]")


def one_of(name: str, patterns: list[str]) -> bool:
    return bool(name) and any(fnmatchcase(name, pattern) for pattern in patterns)


def names(rule: Rule, path: tuple[str, ...]) -> bool:
    name, module = parts(path[0])
    if not name or not (one_of(name, rule["functions"]) or one_of(module, rule["modules"])):
        return False
    for frame in path if "under" in rule else ():
        if one_of(parts(frame)[0], rule["under"]):
            return True
        if one_of(parts(frame)[0], rule["until"]):
            return False
    return "under" not in rule


def expected(one: Stack, rules: list[Rule]) -> str:
    if not one.frames:
        return "application"
    for at in range(len(one.frames)):
        for rule in rules:
            if names(rule, one.frames[at:]):
                return str(rule["component"])
    return "unclassified"


@examples(25)
@given(st.lists(stacks, min_size=1, max_size=8), st.lists(rule_of(), min_size=1, max_size=4))
@example([Stack()], [{"component": "one", "functions": ["a"], "modules": []}])
@example(
    [stack("a < b < c"), stack("a < c"), stack("a")],
    [{"component": "one", "functions": ["a"], "modules": [], "under": ["c"], "until": ["b"]}],
)
def test_every_sample_is_in_one_component(
    fresh: Callable[[], Path], told: list[Stack], rules: list[Rule]
) -> None:
    folder = fresh()
    own = folder / "own.toml"
    # A list of strings is written as in JSON.
    lines = [[f"{name} = {json.dumps(value)}\n" for name, value in rule.items()] for rule in rules]
    own.write_text("".join("[[rule]]\n" + "".join(rule) for rule in lines))
    # One has a name, or none could be told; no rule of ours names any.
    told = [*told, stack("c")]
    ask = capture_of(folder / "r", *told).ask.functions
    count, weight = Counter[str](), Counter[str]()
    for one in told:
        count[expected(one, rules)] += 1
        weight[expected(one, rules)] += one.period
    answer = ask.components(rules=str(own))
    for frame in (answer.frame, ask.functions(rules=str(own)).frame):
        sums = frame.groupby("component", observed=True)[["samples", "weight"]].sum()
        assert sums.to_dict() == {"samples": dict(count), "weight": dict(weight)}
    assert answer["samples"] == len(told)
    assert answer["busy_samples"] == len(told) - count["idle"]


def rows(frame: pd.DataFrame) -> list[list[object]]:
    return frame.astype(object).where(frame.notna(), None).values.tolist()


# The same function works for whoever calls it.
def test_a_function_has_a_row_for_each_component(tmp_path: Path) -> None:
    told = [
        stack(f"memcpy < _copy_to_iter < {SEND}", period=3),
        *[stack(f"memcpy{ending} < {SEND}") for ending in ("", ".isra.0", ".part.0.cold")],
        *(stack("veth_xmit [veth]"), Stack(user=(USER,))),
    ]
    frame = capture_of(tmp_path / "r", *told).ask.functions.functions().frame
    assert rows(frame[["function", "module", "component", "samples", "weight"]]) == [
        ["memcpy", None, "TCP", 3, 3],
        ["memcpy", None, "copy", 1, 3],
        ["veth_xmit", "veth", "driver rx", 1, 1],
        ["(user mode)", None, "application", 1, 1],
    ]


def test_shares_are_of_what_is_outside_idle(tmp_path: Path) -> None:
    told = [stack("default_idle")] * 6 + [stack(SEND)] * 3 + [Stack(user=(USER,))]
    answer = capture_of(tmp_path / "r", *told).ask.functions.components()
    by = answer.frame.set_index("component")
    # With Wilson's interval of 3 of 4.
    shares = by.loc["TCP", ["busy_share", "busy_share_low", "busy_share_high"]]
    assert [round(share, 4) for share in shares] == [0.75, 0.3006, 0.9544]
    assert by["busy_share"]["application"] == 0.25
    assert by["busy_share"].isna()["idle"]
    assert (answer["samples"], answer["busy_samples"], answer["kernel_samples"]) == (10, 4, 3)


# Samples that stand for different times tell less than as many that do not.
def test_unequal_weights_widen_the_interval(tmp_path: Path) -> None:
    def width(*periods: int) -> float:
        told = [stack(SEND, period=one) for one in periods]
        told += [Stack(user=(USER,), period=one) for one in periods]
        capture = capture_of(tmp_path / str(periods[-1]), *told, attrs=[CYCLES])
        row = capture.ask.functions.components().frame.iloc[0]
        assert row["busy_share"] == 0.5
        return float(row["busy_share_high"] - row["busy_share_low"])

    assert width(1, 1, 1, 1) < width(1, 1, 1, 40)


def test_what_no_rule_names_is_listed_with_its_path(tmp_path: Path) -> None:
    paths = ("memcpy < unheard_of", "memcpy < unheard_of", "unheard_of", "acme [acme]", "?")
    told = [*map(stack, paths), *[stack(SEND)] * 4, stack("default_idle")]
    answer = capture_of(tmp_path / "r", *told, attrs=[CLOCK]).ask.functions.unclassified()
    assert rows(answer.frame) == [
        ["memcpy", None, 2, 2 / 9, "memcpy < unheard_of"],
        ["unheard_of", None, 1, 1 / 9, "unheard_of"],
        ["acme", "acme", 1, 1 / 9, "acme"],
        [None, None, 1, 1 / 9, "?"],
    ]
    assert (answer["kernel_samples"], answer["unclassified_samples"]) == (9, 5)


def test_what_rules_of_two_components_name_is_listed(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text('[[rule]]\ncomponent = "mine"\nfunctions = ["tcp_send*"]\n')
    ask = capture_of(tmp_path / "r", stack(SEND), stack(SEND), stack("vfs_read")).ask.functions
    [row] = ask.unclassified(rules=str(own))["claimed_twice"].to_dict("records")
    named = ("function", "component", "further_components", "samples")
    assert [row[name] for name in named] == ["tcp_sendmsg", "mine", "TCP", 2]
    assert ask.unclassified()["claimed_twice"].empty
