# Where a timer found interrupts enabled again: behind an interrupt, or on a path's own work.

from pathlib import Path

import pytest

from netcost_analysis import Capture
from netcost_analysis.questions.functions.groups import is_aside
from netcost_analysis.questions.samples.interrupts import interrupt_of
from support.kept import kept_experiment
from support.stacks import CLOCK, capture_of, stack

IPI = "asm_sysvec_call_function_single"
EXIT = "handle_softirqs+0x80 < __irq_exit_rcu < sysvec_call_function_single"
SEND = "tcp_sendmsg < inet_sendmsg < __sys_sendto < do_syscall_64+0x20"


def off_in(capture: Capture) -> dict[str, int]:
    found = capture.ask.functions.components()
    rows = found["interrupts_off"]
    # All of it, and nothing else.
    by = found["components"].set_index("component")
    assert rows["samples"].sum() == by["samples"].get("interrupts off", 0)
    assert rows["weight"].sum() == by["weight"].get("interrupts off", 0)
    assert rows["busy_share"].sum() == pytest.approx(by["busy_share"].get("interrupts off", 0))
    return dict(zip(rows["interrupts_off_in"], rows["samples"], strict=True))


# Before any softirq ran, whatever the interrupt came upon: it is of the interrupt.
def test_what_is_found_behind_an_interrupt_is_its(tmp_path: Path) -> None:
    told = [stack(f"{EXIT} < {IPI}{below}") for below in ("", f" < {SEND}", f" < memcpy < {SEND}")]
    capture = capture_of(tmp_path / "r", *told, attrs=[CLOCK])
    assert off_in(capture) == {"call_function_single interrupt": 3}
    assert "to receive it" in capture.ask.functions.components().words


# What a softirq does is no interrupt's, nor what a task does; nor a softirq that a task runs.
def test_elsewhere_it_is_of_the_path(tmp_path: Path) -> None:
    for at, (path, component) in enumerate(
        (
            (f"_raw_spin_unlock_irq < process_backlog < {EXIT} < {IPI}", "NAPI and softirq"),
            (f"_raw_spin_unlock_irqrestore < skb_queue_tail < tcp_ack < {EXIT} < {IPI}", "socket"),
            (f"_raw_spin_unlock_irqrestore < {SEND}", "TCP"),
            (f"handle_softirqs+0x80 < do_softirq < __local_bh < {SEND}", "NAPI and softirq"),
            (f"finish_task_switch+8 < __schedule < schedule < {SEND}", "scheduling"),
        )
    ):
        capture = capture_of(tmp_path / str(at), stack(path), attrs=[CLOCK])
        assert off_in(capture) == {component: 1}
        assert "to receive it" not in capture.ask.functions.components().words


# A counter interrupts wherever it is.
def test_counted_samples_hide_nothing(tmp_path: Path) -> None:
    assert off_in(capture_of(tmp_path / "r", stack(f"{EXIT} < {IPI}"), stack(SEND))) == {}


def test_names_are_those_of_vectors() -> None:
    named = {
        "asm_sysvec_call_function_single": "call_function_single interrupt",
        "sysvec_call_function": "call_function interrupt",
        "call_function_single_interrupt": "call_function_single interrupt",
        "smp_apic_timer_interrupt": "local_timer interrupt",
        "__sysvec_irq_work": "irq_work interrupt",
        "do_IRQ": "device interrupt",
        "xen_evtchn_do_upcall": "interrupt",
        "el0t_64_irq_handler": "interrupt",
    }
    assert {function: interrupt_of(function) for function in named} == named


def test_sizes_add_up_with_it() -> None:
    found = kept_experiment("io-sizes").ask.functions.components_by_size()
    keys = ["protocol", "io_bytes", "io_side"]
    rows = found["by_size"].assign(is_off=found["by_size"]["component_group"].eq("interrupts off"))
    assert rows["interrupts_off_in"].notna().equals(rows["is_off"].astype(bool))
    assert not is_aside(rows).any()
    sums = rows[rows["is_off"]].groupby(keys)["path_share"].sum()
    sides = found["sides"].set_index(keys)
    assert sides["off_share"].to_dict() == pytest.approx(sums.to_dict())
    assert (sides["off_interrupt_share"] <= sides["off_share"]).all()
    per = rows.groupby(keys)["weight_per_packet"].sum()
    assert sides["weight_per_packet"].to_dict() == pytest.approx(per.to_dict())
    both = sides["driver_share"] + sides["release_share"]
    assert sides["driver_release_share"].to_list() == pytest.approx(both.to_list())
    assert sides["major_share"].to_list() == pytest.approx((both + sides["copy_share"]).to_list())
    assert (sides["weight_per_packet_low"] < sides["weight_per_packet"]).all()
    assert (sides["weight_per_packet_high"] > sides["weight_per_packet"]).all()
