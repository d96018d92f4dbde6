# Whose work a sample is: the innermost function on its call path that a rule names; and what
# interrupts were off in, where a timer found them enabled again.

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from netcost_analysis import Capture
from netcost_analysis._native import CaptureError
from netcost_analysis.errors import ArgumentError
from netcost_analysis.questions.samples.rules import interrupt_of
from support.perfdata import Sample, Where
from support.perfdata.records import KernelSymbol
from support.perfdata.sample import CONTEXT_GUEST_KERNEL, CONTEXT_KERNEL, CONTEXT_USER
from support.stacks import (
    BASIC,
    CLOCK,
    CYCLES,
    EACH,
    NOWHERE,
    USER,
    Stack,
    Symbols,
    capture_of,
    shares,
    stack,
)

SEND = "tcp_sendmsg < inet_sendmsg < sock_sendmsg < __sys_sendto < do_syscall_64"
RECEIVE = "tcp_recvmsg < inet_recvmsg < sock_recvmsg < __sys_recvfrom < do_syscall_64"
SOFTIRQ = "net_rx_action < handle_softirqs < __irq_exit_rcu < sysvec_apic_timer_interrupt"
IPI = "asm_sysvec_call_function_single"
EXIT = "handle_softirqs+0x80 < __irq_exit_rcu < sysvec_call_function_single"
HERE = Where(0, 1, 500, 500)

# What any part of the kernel calls is work of who called it.
BELONGS = (
    (f"native_queued_spin_lock_slowpath < _raw_spin_lock_bh < tcp_sendmsg_locked < {SEND}", "TCP"),
    (f"native_queued_spin_lock_slowpath < _raw_spin_lock < __dev_xmit_skb < {SEND}", "qdisc"),
    (f"rep_movs_alternative < _copy_to_iter < __skb_datagram_iter < {RECEIVE}", "copy"),
    (f"memcpy < tcp_rcv_established < tcp_v4_rcv < ip_rcv < {SOFTIRQ}", "TCP"),
    (f"kmem_cache_alloc_node_noprof < __alloc_skb < tcp_stream_alloc_skb < {SEND}", "allocation"),
    (f"get_page_from_freelist < alloc_pages < skb_page_frag_refill < {SEND}", "allocation"),
    (f"kmem_cache_alloc_noprof < __nf_conntrack_alloc < ip_rcv < {SOFTIRQ}", "netfilter"),
    (f"kfree < skb_free_head < skb_release_data < __kfree_skb < {RECEIVE}", "buffer release"),
    (f"kmem_cache_free < skb_defer_free_flush < {SOFTIRQ}", "buffer release"),
    (f"__slab_free < kfree < sk_free < {RECEIVE}", "socket"),
    (f"__rcu_read_lock < ip_finish_output2 < {SEND}", "IP and routing"),
    (f"memset < bpf_prog_6deef7357e7b4530_forward [bpf] < {SOFTIRQ}", "XDP and BPF"),
    ("ovs_flow_tbl_lookup [openvswitch] < netif_receive_skb", "Open vSwitch"),
    ("br_handle_frame < __netif_receive_skb_core < process_backlog", "bridge"),
    ("pv_native_safe_halt < default_idle < do_idle < cpu_startup_entry", "idle"),
    # A socket's read(2) and write(2), and what a file system does behind the same.
    ("rw_verify_area < vfs_read < ksys_read < do_syscall_64", "file descriptors"),
    ("__fget_light < ksys_write < do_syscall_64", "file descriptors"),
    ("do_iter_readv_writev < vfs_writev < do_writev < do_syscall_64", "file descriptors"),
    ("sock_write_iter < vfs_write < ksys_write < do_syscall_64", "socket"),
    ("tcp_sendmsg < sock_write_iter < vfs_write < ksys_write", "TCP"),
    ("ext4_file_read_iter < vfs_read < ksys_read < do_syscall_64", "file system"),
    ("ksys_sync < __do_sys_sync < do_syscall_64", "file system"),
    # The same work on a device, by who asked for it. A packet sent from within receiving is sent.
    (f"dma_sync [e1000e] < dev_hard_start_xmit < __dev_queue_xmit < {SEND}", "driver tx"),
    (f"dma_unmap [e1000e] < __napi_poll < {SOFTIRQ}", "driver rx"),
    (f"veth_xdp_rx < {SOFTIRQ}", "driver rx"),
    (f"veth_xmit [veth] < dev_hard_start_xmit < veth_poll [veth] < {SOFTIRQ}", "driver tx"),
    (f"veth_poll [veth] < {SOFTIRQ}", "driver rx"),
)


def test_a_sample_belongs_to_the_innermost_function_that_a_rule_names(tmp_path: Path) -> None:
    capture = capture_of(tmp_path / "r", *(stack(path) for path, _ in BELONGS))
    rows = capture.ask.functions.functions().frame[["function", "component"]]
    wanted = {(path.split(" ")[0].split(".")[0], component) for path, component in BELONGS}
    assert len(wanted) == len(BELONGS)
    assert set(rows.itertuples(index=False, name=None)) == wanted
    assert shares(capture) == Counter(component for _, component in BELONGS)
    received = stack(f"napi_consume_skb < free_old_xmit < {SOFTIRQ}")
    assert "driver tx" not in shares(capture_of(tmp_path / "leaf", received))


# A timer's sample comes when interrupts are enabled again; that of a counter where it happened.
@pytest.mark.parametrize(
    "leaf", ["_raw_spin_unlock_irqrestore", "_raw_spin_unlock_irq", "_raw_write_unlock_irqrestore"]
)
def test_what_a_timer_finds_where_interrupts_come_back_is_not_of_that_function(
    tmp_path: Path, leaf: str
) -> None:
    path = stack(f"{leaf} < __wake_up_sync_key < sock_def_readable < {RECEIVE}")
    assert shares(capture_of(tmp_path / "clock", path, attrs=[CLOCK])) == {"interrupts off": 1}
    assert shares(capture_of(tmp_path / "cycles", path)) == {"scheduling": 1}
    # Further out on the path it says nothing.
    outside = stack(f"veth_poll [veth] < {leaf} < {RECEIVE}")
    assert shares(capture_of(tmp_path / "outside", outside, attrs=[CLOCK])) == {"driver rx": 1}


# A function that enables them at one place works at its others.
def test_a_timer_by_address_takes_the_place_with_most_of_the_samples(tmp_path: Path) -> None:
    enabling = [stack(f"handle_softirqs+0x80 < __irq_exit_rcu < {SEND}")] * 5
    working = [stack(f"handle_softirqs+{at:#x} < __irq_exit_rcu < {SEND}") for at in (8, 16, 24)]
    told = [*enabling, *working]
    found = shares(capture_of(tmp_path / "clock", *told, attrs=[CLOCK]))
    assert found == {"interrupts off": 5, "NAPI and softirq": 3}
    assert shares(capture_of(tmp_path / "cycles", *told)) == {"NAPI and softirq": 8}
    # Of samples everywhere in it no place is the one.
    assert shares(capture_of(tmp_path / "even", *working, attrs=[CLOCK])) == {"NAPI and softirq": 3}


# What interrupts were off in: all of that component, and nothing else.
def off_in(capture: Capture) -> dict[str, int]:
    found = capture.ask.functions.components()
    columns = ["samples", "weight", "busy_share"]
    whole = found["components"].query("component == 'interrupts off'")[columns].sum()
    assert found["interrupts_off"][columns].sum().tolist() == pytest.approx(whole.tolist())
    rows = found["interrupts_off"]
    assert ("receiving it" in found.words) == (
        "call_function_single interrupt" in set(rows.iloc[:, 0])
    )
    return dict(zip(rows["interrupts_off_in"], rows["samples"], strict=True))


# Before any softirq ran it is of the interrupt, whatever that came upon. What a softirq does is no
# interrupt's, nor what a task does; nor a softirq that a task runs.
def test_what_is_found_behind_an_interrupt_is_its(tmp_path: Path) -> None:
    told = [stack(f"{EXIT} < {IPI}{below}") for below in ("", f" < {SEND}", f" < memcpy < {SEND}")]
    capture = capture_of(tmp_path / "r", *told, attrs=[CLOCK])
    assert off_in(capture) == {"call_function_single interrupt": 3}
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
    # A counter interrupts wherever it is.
    assert off_in(capture_of(tmp_path / "c", stack(f"{EXIT} < {IPI}"), stack(SEND))) == {}


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


# A program's own time, whatever its addresses are called in the kernel; called from there or not.
def test_what_ran_in_user_mode_is_the_applications(tmp_path: Path) -> None:
    symbols = Symbols()
    same = symbols.address("tcp_ack")
    capture = capture_of(
        tmp_path / "r",
        *(Stack(user=(USER, USER + 32)), Stack(user=(same,))),
        *(stack(SEND, user=(USER,)), stack("unheard_of", user=(same,))),
        symbols=symbols,
    )
    assert shares(capture) == {"application": 2, "TCP": 1, "unclassified": 1}


# The kernel of a guest has its own addresses.
@pytest.mark.parametrize("with_chain", [True, False])
@pytest.mark.parametrize("mode", ["guest kernel", "guest user", "hypervisor", "unknown"])
def test_samples_of_a_guest_are_not_named_after_the_hosts_kernel(
    tmp_path: Path, mode: str, with_chain: bool
) -> None:
    symbols = Symbols()
    ip = symbols.address("tcp_ack")
    chain = (CONTEXT_GUEST_KERNEL, ip, ip + EACH) if with_chain else ()
    one = Sample(HERE, ip=ip, mode=mode, callchain=chain)
    capture = capture_of(tmp_path / "r", one, stack("vfs_read"), symbols=symbols)
    assert shares(capture) == {"application": 1, "file descriptors": 1}
    names = capture.ask.functions.functions().frame["function"]
    assert sorted(names) == ["(user mode)", "vfs_read"]


def test_samples_without_call_chains_are_told_by_where_they_are(tmp_path: Path) -> None:
    bare = replace(CYCLES, sample_type=BASIC)
    told = [stack("tcp_ack < vfs_read"), stack("memcpy < vfs_read"), Stack(user=(USER,))]
    found = shares(capture_of(tmp_path / "r", *told, attrs=[bare]))
    assert found == {"TCP": 1, "unclassified": 1, "application": 1}


# The processor's own address (PEBS) is before the place at which the interrupt found the chain.
def test_the_precise_address_is_the_innermost_frame(tmp_path: Path) -> None:
    symbols = Symbols()
    ips = [symbols.address(name) for name in ("vfs_read", "tcp_ack", "sock_sendmsg")]
    # It had just entered the kernel, or left it, when the interrupt came.
    told = (
        (ips[0], "kernel", (CONTEXT_KERNEL, ips[1], ips[2])),
        (ips[0], "kernel", (CONTEXT_USER, USER)),
        (USER, "user", (CONTEXT_KERNEL, ips[1], CONTEXT_USER, USER)),
    )
    samples = [Sample(HERE, ip=ip, mode=mode, callchain=chain) for ip, mode, chain in told]
    capture = capture_of(tmp_path / "r", *samples, symbols=symbols)
    assert shares(capture) == {"file descriptors": 2, "application": 1}


def test_a_window_and_a_cpu_choose_samples(tmp_path: Path) -> None:
    told = [stack(SEND, time_ns=10**9 * at, cpu=at % 2, period=at) for at in (1, 2, 3, 4)]
    ask = capture_of(tmp_path / "r", *told).ask.functions

    def weight(**asked: float) -> int:
        return int(ask.components(**asked).frame["weight"].sum())

    assert weight() == 10
    assert weight(cpu=0) == 6
    assert weight(start_s=1) == 9
    assert weight(end_s=2) == 3
    assert weight(cpu=1, start_s=1, end_s=3) == 3
    with pytest.raises(ArgumentError, match="CPU 7"):
        weight(cpu=7)


# A program of the kernel's virtual machine that came while it was recorded.
def test_functions_of_bpf_are_named_by_the_recording(tmp_path: Path) -> None:
    address = NOWHERE + 0x4000_0000
    made = KernelSymbol(address, 64, "anything_at_all", where=Where(0, 1))
    one = Sample(HERE, ip=address + 8, callchain=(CONTEXT_KERNEL, address + 8))
    capture = capture_of(tmp_path / "r", made, one, stack("vfs_read"))
    assert shares(capture) == {"XDP and BPF": 1, "file descriptors": 1}
    rows = capture.ask.functions.functions().frame.query("module == 'bpf'")
    assert rows["function"].tolist() == ["anything_at_all"]


def test_the_event_that_time_goes_by_is_taken_unless_another_is_named(tmp_path: Path) -> None:
    told = [stack(SEND, event=0), stack("vfs_read", event=1)]
    capture = capture_of(tmp_path / "r", *told, attrs=[CLOCK, CYCLES])
    assert shares(capture) == {"file descriptors": 1}
    assert shares(capture, event="cpu-clock") == {"TCP": 1}
    with pytest.raises(ArgumentError, match="cycles, cpu-clock"):
        shares(capture, event="branches")


# Addresses alone name nothing, and would all be unclassified.
def test_a_capture_without_the_kernels_names_is_refused(tmp_path: Path) -> None:
    ask = capture_of(tmp_path / "r", stack(SEND), names=False).ask.functions
    for asked in (ask.components, ask.functions):
        with pytest.raises(CaptureError, match="kernel functions"):
            asked().parts  # noqa: B018
