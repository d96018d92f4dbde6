# A user's own file of rules, and what is wrong with one, each in a line.

from collections import Counter
from pathlib import Path

import pytest

from netcost_analysis._native import CaptureError
from netcost_analysis.errors import ArgumentError
from netcost_analysis.questions.functions.groups import ASIDE, GROUPS
from netcost_analysis.questions.samples.rules import OWN, read, rules
from support.stacks import capture_of, shares, stack

SEND = "tcp_sendmsg < inet_sendmsg < sock_sendmsg < __sys_sendto < do_syscall_64"
RULE = '[[rule]]\ncomponent = "ours"\n'


def test_a_users_rules_count_before_ours(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text(
        RULE + 'functions = ["tcp_ack"]\n\n[[rule]]\ncomponent = "vendor"\nmodules = ["acme_*"]\n'
    )
    paths = (f"tcp_ack < {SEND}", SEND, f"memcpy < acme_send [acme_net] < {SEND}")
    capture = capture_of(tmp_path / "r", *map(stack, paths))
    assert shares(capture, rules=str(own)) == {"ours": 1, "TCP": 1, "vendor": 1}
    assert shares(capture) == {"TCP": 3}


WRONG = (
    ("", "[[rule]] begins each"),
    ("rule = 1\n", "[[rule]] begins each"),
    ("rules = []\n", "[[rule]] begins each"),
    (RULE + 'functions = ["a"]\n[other]\n', "[[rule]] begins each"),
    ("[[rule]\n", "no file of"),
    ('[[rule]]\nfunctions = ["a"]\n', "rule 1: component"),
    ("rule = [1]\n", "rule 1: component"),
    ('[[rule]]\ncomponent = 1\nfunctions = ["a"]\n', "rule 1: component"),
    (RULE, "names neither functions"),
    (RULE + 'functions = "a"\n', "rule 1: functions"),
    (RULE + "modules = [1]\n", "rule 1: modules"),
    (RULE + 'functions = ["a"]\nbelow = ["b"]\n', "no field below"),
    (RULE + 'functions = ["a"]\nuntil = ["b"]\n', "until takes under"),
    (RULE + 'functions = ["a"]\ntimer = "x"\n', '"function" or "address"'),
    (RULE + 'functions = ["a"]\n' + RULE, "rule 2: it"),
    ('[[rule]]\ncomponent = "application"\nfunctions = ["a"]\n', "application is what"),
    ('[[rule]]\ncomponent = "unclassified"\nfunctions = ["a"]\n', "unclassified is what"),
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
        with pytest.raises(ArgumentError, match="no file of"):
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
