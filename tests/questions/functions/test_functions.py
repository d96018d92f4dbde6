# Every sample in one component and in one function, and none of their weight lost: of any stacks,
# and by any rules, as a classifier tells that looks at one frame after the other.

import json
from collections import Counter
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from netcost_analysis._native import folded
from netcost_analysis.questions.samples.rules import APPLICATION, UNCLASSIFIED, Rule
from netcost_analysis.questions.samples.rules import rules as rules_of
from support.examples import examples
from support.stacks import CLOCK, CYCLES, USER, Stack, capture_of, stack

NAMES = ("a", "ab", "abc.isra.0", "b [mod]", "bc [other]", "c+0x80", "c", "?")
PATTERNS = ("a", "a*", "?b", "b*", "c", "*", "nothing")
MODULES = ("mod", "o*", "none")
patterns = st.lists(st.sampled_from(PATTERNS), max_size=2)


def toml(rules: "list[dict[str, object]]") -> str:
    # A list of strings is written as in JSON.
    lines = [[f"{name} = {json.dumps(value)}" for name, value in rule.items()] for rule in rules]
    return "".join("[[rule]]\n" + "\n".join(one) + "\n" for one in lines)


@st.composite
def rule_of(draw: st.DrawFn) -> "dict[str, object]":
    made: dict[str, object] = {"component": draw(st.sampled_from(["one", "two", "idle"]))}
    made["functions"] = draw(st.lists(st.sampled_from(PATTERNS), min_size=1, max_size=2))
    made["modules"] = draw(st.lists(st.sampled_from(MODULES), max_size=1))
    if draw(st.booleans()):
        made["under"] = draw(st.lists(st.sampled_from(PATTERNS), min_size=1, max_size=2))
        made["until"] = draw(patterns)
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


def one_of(name: str, patterns: "tuple[str, ...]") -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def names(rule: Rule, frame: str) -> bool:
    name, module = parts(frame)
    return bool(name) and (
        one_of(name, rule.functions) or bool(module and one_of(module, rule.modules))
    )


def is_under(rule: Rule, path: tuple[str, ...]) -> bool:
    for frame in path:
        name = parts(frame)[0]
        if one_of(name, rule.under):
            return True
        if one_of(name, rule.until):
            return False
    return False


def expected(one: Stack, rules: list[Rule]) -> str:
    if not one.frames:
        return APPLICATION
    for at, frame in enumerate(one.frames):
        for rule in rules:
            if names(rule, frame) and (not rule.under or is_under(rule, one.frames[at:])):
                return rule.component
    return UNCLASSIFIED


@examples(25)
@given(st.lists(stacks, min_size=1, max_size=8), st.lists(rule_of(), min_size=1, max_size=4))
@example([Stack()], [{"component": "one", "functions": ["a"]}])
def test_every_sample_is_in_one_component(
    fresh: Callable[[], Path], told: list[Stack], described: "list[dict[str, object]]"
) -> None:
    folder = fresh()
    own = folder / "own.toml"
    own.write_text(toml(described))
    rules = [rule for rule in rules_of(own) if not rule.timer]
    # One has a name, or none could be told.
    told = [*told, stack("c")]
    capture = capture_of(folder / "r", *told)
    count: Counter[str] = Counter()
    weight: Counter[str] = Counter()
    for one in told:
        count[expected(one, rules)] += 1
        weight[expected(one, rules)] += one.period
    found = capture.ask.functions.components(rules=str(own))
    frame = found["components"]
    assert dict(zip(frame["component"], frame["samples"], strict=True)) == dict(count)
    assert dict(zip(frame["component"], frame["weight"], strict=True)) == dict(weight)
    assert found["samples"] == len(told)
    assert found["busy_samples"] == len(told) - count["idle"]
    rows = capture.ask.functions.functions(rules=str(own)).frame
    assert rows.groupby("component", observed=True)["samples"].sum().to_dict() == dict(count)
    assert rows.groupby("component", observed=True)["weight"].sum().to_dict() == dict(weight)


SEND = "tcp_sendmsg < inet_sendmsg < __sys_sendto"


# The same function works for whoever calls it.
def test_a_function_has_a_row_for_each_component(tmp_path: Path) -> None:
    told = [stack(f"memcpy < _copy_to_iter < {SEND}", period=3), stack(f"memcpy < {SEND}")]
    capture = capture_of(
        tmp_path / "r", *told, told[1], stack("veth_xmit [veth]"), Stack(user=(USER,))
    )
    rows = capture.ask.functions.functions().frame
    found = rows[["function", "module", "component", "samples", "weight"]]
    assert found.astype(object).where(found.notna(), None).values.tolist() == [
        ["memcpy", None, "TCP", 2, 2],
        ["memcpy", None, "copy", 1, 3],
        ["veth_xmit", "veth", "driver rx", 1, 1],
        ["(user mode)", None, "application", 1, 1],
    ]


def test_shares_are_of_what_is_outside_idle(tmp_path: Path) -> None:
    told = [stack("default_idle")] * 6 + [stack(SEND)] * 3 + [Stack(user=(USER,))]
    capture = capture_of(tmp_path / "r", *told)
    found = capture.ask.functions.components()
    shares = found["components"].set_index("component")["busy_share"]
    assert shares["TCP"] == 0.75
    assert shares["application"] == 0.25
    assert shares.isna()["idle"]
    assert (found["samples"], found["busy_samples"], found["kernel_samples"]) == (10, 4, 3)
    ends = found["components"].set_index("component")[["busy_share_low", "busy_share_high"]]
    # Wilson's interval of 3 of 4.
    assert ends.loc["TCP"].round(4).tolist() == [0.3006, 0.9544]


# Samples that stand for different times tell less than as many that do not.
def test_unequal_weights_widen_the_interval(tmp_path: Path) -> None:
    def width(*periods: int) -> float:
        told = [stack(SEND, period=one) for one in periods]
        told += [Stack(user=(USER,), period=one) for one in periods]
        capture = capture_of(tmp_path / str(periods[-1]), *told, attrs=[CYCLES])
        row = capture.ask.functions.components()["components"].iloc[0]
        assert row["busy_share"] == 0.5
        return float(row["busy_share_high"] - row["busy_share_low"])

    assert width(1, 1, 1, 1) < width(1, 1, 1, 40)


def test_what_no_rule_names_is_listed_with_its_path(tmp_path: Path) -> None:
    told = [stack("memcpy < unheard_of")] * 2 + [
        stack("unheard_of"),
        stack("acme [acme]"),
        stack("?"),
    ]
    capture = capture_of(
        tmp_path / "r", *told, *[stack(SEND)] * 4, stack("default_idle"), attrs=[CLOCK]
    )
    found = capture.ask.functions.unclassified()
    rows = found["unclassified"].astype(object)
    assert rows.where(rows.notna(), None).values.tolist() == [
        ["memcpy", None, 2, 2 / 9, "memcpy < unheard_of"],
        ["unheard_of", None, 1, 1 / 9, "unheard_of"],
        ["acme", "acme", 1, 1 / 9, "acme"],
        [None, None, 1, 1 / 9, "?"],
    ]
    assert (found["kernel_samples"], found["unclassified_samples"]) == (9, 5)


def test_what_rules_of_two_components_name_is_listed(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text('[[rule]]\ncomponent = "mine"\nfunctions = ["tcp_send*"]\n')
    capture = capture_of(tmp_path / "r", stack(SEND), stack(SEND), stack("vfs_read"))
    found = capture.ask.functions.unclassified(rules=str(own))["claimed_twice"]
    assert found.astype(object).values.tolist()[0][0] == "tcp_sendmsg"
    [row] = found.to_dict("records")
    assert (row["component"], row["further_components"], row["samples"]) == ("mine", "TCP", 2)
    assert capture.ask.functions.unclassified()["claimed_twice"].empty
