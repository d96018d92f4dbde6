# Every sample in one component and in one function, and none of their weight lost: of any stacks,
# and by any rules, as a classifier tells that looks at one frame after the other.

import json
from collections import Counter
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from netcost_analysis._native import CaptureError, folded
from netcost_analysis.errors import ArgumentError
from netcost_analysis.questions.samples.rules import ASIDE, GROUPS, OWN, read, rules
from support.host import examples
from support.stacks import CLOCK, CYCLES, USER, Stack, capture_of, shares, stack

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


# A user's own file of rules, and what is wrong with one, each in a line.

SENDTO = "tcp_sendmsg < inet_sendmsg < sock_sendmsg < __sys_sendto < do_syscall_64"
RULE = '[[rule]]\ncomponent = "ours"\n'


def test_a_users_rules_count_before_ours(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text(
        RULE + 'functions = ["tcp_ack"]\n\n[[rule]]\ncomponent = "vendor"\nmodules = ["acme_*"]\n'
    )
    paths = (f"tcp_ack < {SENDTO}", SENDTO, f"memcpy < acme_send [acme_net] < {SENDTO}")
    capture = capture_of(tmp_path / "r", *map(stack, paths))
    assert shares(capture, rules=str(own)) == {"ours": 1, "TCP": 1, "vendor": 1}
    assert shares(capture) == {"TCP": 3}


WRONG = (
    ("", "each rule begins with [[rule]]"),
    ("rule = 1\n", "each rule begins with [[rule]]"),
    ("rules = []\n", "each rule begins with [[rule]]"),
    (RULE + 'functions = ["a"]\n[other]\n', "each rule begins with [[rule]]"),
    ("[[rule]\n", "rules file"),
    ('[[rule]]\nfunctions = ["a"]\n', "rule 1: component"),
    ("rule = [1]\n", "rule 1: component"),
    ('[[rule]]\ncomponent = 1\nfunctions = ["a"]\n', "rule 1: component"),
    (RULE, "names neither functions"),
    (RULE + 'functions = "a"\n', "rule 1: functions"),
    (RULE + "modules = [1]\n", "rule 1: modules"),
    (RULE + 'functions = ["a"]\nbelow = ["b"]\n', "no field below"),
    (RULE + 'functions = ["a"]\nuntil = ["b"]\n', "until needs under"),
    (RULE + 'functions = ["a"]\ntimer = "x"\n', '"function" or "address"'),
    (RULE + 'functions = ["a"]\n' + RULE, "rule 2: it"),
    ('[[rule]]\ncomponent = "application"\nfunctions = ["a"]\n', "application is reserved"),
    ('[[rule]]\ncomponent = "unclassified"\nfunctions = ["a"]\n', "unclassified is reserved"),
)


def test_what_is_wrong_with_a_file_is_said_in_a_line(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    for text, why in (*WRONG, (b"\xff\xfe\x00", "own.toml is no")):
        own.write_bytes(text if isinstance(text, bytes) else text.encode())
        with pytest.raises(CaptureError) as error:
            read(own)
        assert why in str(error.value)
        assert "own.toml" in str(error.value)
        assert "\n" not in str(error.value)
    for missing in (tmp_path / "absent.toml", tmp_path):
        with pytest.raises(ArgumentError, match="rules file"):
            rules(missing)


# Of what the kernel calls for everyone no rule may speak: its time would be nobody's.
PRIMITIVES = """
_raw_spin_lock _raw_spin_lock_bh _raw_spin_lock_irqsave _raw_spin_unlock _raw_read_lock
native_queued_spin_lock_slowpath __pv_queued_spin_lock_slowpath osq_lock rt_spin_lock
rt_mutex_slowlock raw_spin_rq_lock_nested __raw_callee_save___pv_queued_spin_unlock mutex_lock
__mutex_lock mutex_spin_on_owner down_read up_write rwsem_down_read_slowpath
memcpy memset memmove clear_page_erms rep_movs_alternative copy_user_generic _copy_from_user
_copy_to_user __put_user_4 __get_user_8 __check_object_size csum_partial crc32c
kmalloc kfree kmem_cache_alloc kmem_cache_alloc_noprof kmem_cache_free __kmalloc ___slab_alloc
__slab_free get_page_from_freelist __alloc_pages free_unref_page vmalloc __vmalloc_node_range
__rcu_read_lock __rcu_read_unlock rcu_read_unlock_strict __srcu_read_lock __srcu_read_unlock
ktime_get read_tsc pvclock_clocksource_read kvm_clock_get_cycles native_sched_clock
refcount_warn_saturate __list_del_entry_valid_or_report rb_erase rb_insert_color rb_next
mas_walk xas_load radix_tree_lookup rhashtable_jhash2 add_wait_queue prepare_to_wait finish_wait
fput fget fdget iowrite32 native_write_msr __x86_indirect_thunk_rax its_return_thunk
mod_memcg_state page_counter_charge preempt_count_add __cond_resched
skb_push skb_put skb_pull skb_checksum __skb_get_hash __skb_flow_dissect skb_gso_validate
"""


def test_what_everyone_calls_is_named_by_no_rule() -> None:
    named = PRIMITIVES.split()
    for rule in read(OWN):
        if not rule.timer:
            naming = rule.names(named, [""] * len(named))
            assert not [name for name, is_named in zip(named, naming, strict=True) if is_named]


# A pattern that names nothing but what others before it name does nothing: it was meant otherwise.
def test_no_pattern_stands_twice() -> None:
    patterns = [
        pattern
        for rule in read(OWN)
        if not rule.timer and not rule.under
        for pattern in rule.functions
    ]
    assert [pattern for pattern, count in Counter(patterns).items() if count > 1] == []


# What the pictures put together is what rules name: a name that none defines is in no picture.
def test_groups_are_of_components_that_there_are() -> None:
    named = {rule.component for rule in rules()} | {"application"}
    grouped = [name for of in GROUPS.values() for name in of]
    assert set(grouped) | set(ASIDE) <= named
    assert len(set(grouped)) == len(grouped)
    assert not set(grouped) & set(ASIDE)
