# Whose work a sample is: the innermost function on its call path that a rule names.

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from netcost_analysis._native import CaptureError
from netcost_analysis.errors import ArgumentError
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
)


def test_a_sample_belongs_to_the_innermost_function_that_a_rule_names(tmp_path: Path) -> None:
    capture = capture_of(tmp_path / "r", *(stack(path) for path, _ in BELONGS))
    rows = capture.ask.functions.functions().frame[["function", "component"]]
    wanted = {(path.split(" ")[0].split(".")[0], component) for path, component in BELONGS}
    assert len(wanted) == len(BELONGS)
    assert set(rows.itertuples(index=False, name=None)) == wanted
    assert shares(capture) == Counter(component for _, component in BELONGS)


# The same work on a device, by who asked for it.
def test_what_names_a_device_alone_is_sending_or_receiving_by_the_path(tmp_path: Path) -> None:
    sent = stack(f"dma_sync [e1000e] < dev_hard_start_xmit < __dev_queue_xmit < {SEND}")
    got = stack(f"dma_sync [e1000e] < __napi_poll < {SOFTIRQ}")
    assert shares(capture_of(tmp_path / "r", sent, got, got)) == {"driver rx": 2, "driver tx": 1}
    leaves = ("veth_xdp_rx", "napi_consume_skb < free_old_xmit")
    received = capture_of(tmp_path / "leaf", *(stack(f"{leaf} < {SOFTIRQ}") for leaf in leaves))
    assert "driver tx" not in shares(received)


# A packet sent from within receiving is sent; what receives it further in is not.
def test_sending_and_receiving_are_told_by_what_is_outside(tmp_path: Path) -> None:
    forwarded = stack(f"veth_xmit [veth] < dev_hard_start_xmit < veth_poll [veth] < {SOFTIRQ}")
    polled = stack(f"veth_poll [veth] < {SOFTIRQ}")
    found = shares(capture_of(tmp_path / "r", forwarded, polled, polled))
    assert found == {"driver rx": 2, "driver tx": 1}


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


def test_what_the_compiler_made_of_a_function_is_it(tmp_path: Path) -> None:
    endings = ("", ".isra.0", ".constprop.0.cold", ".part.0", ".llvm.12345", ".cold")
    told = (stack(f"tcp_ack{ending} < {SEND}") for ending in endings)
    rows = capture_of(tmp_path / "r", *told).ask.functions.functions().frame
    assert rows[["function", "samples"]].values.tolist() == [["tcp_ack", len(endings)]]


def test_frames_without_names_belong_to_who_called_them(tmp_path: Path) -> None:
    capture = capture_of(
        tmp_path / "r", stack(f"? < ? < {SEND}"), stack("?"), stack("? < unheard_of")
    )
    assert shares(capture) == {"unclassified": 2, "TCP": 1}
    assert capture.ask.functions.components()["unclassified_share"] == pytest.approx(2 / 3)
    assert capture.ask.functions.functions().frame["function"].isna().all()


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
    one = Sample(Where(0, 1, 500, 500), ip=ip, mode=mode, callchain=chain)
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

    def at(ip: int, mode: str, *chain: int) -> Sample:
        return Sample(Where(0, 1, 500, 500), ip=ip, mode=mode, callchain=chain)

    capture = capture_of(
        tmp_path / "r",
        at(ips[0], "kernel", CONTEXT_KERNEL, ips[1], ips[2]),
        # It had just entered the kernel, or left it, when the interrupt came.
        at(ips[0], "kernel", CONTEXT_USER, USER),
        at(USER, "user", CONTEXT_KERNEL, ips[1], CONTEXT_USER, USER),
        symbols=symbols,
    )
    assert shares(capture) == {"file descriptors": 2, "application": 1}


def test_a_window_and_a_cpu_choose_samples(tmp_path: Path) -> None:
    told = [stack(SEND, time_ns=10**9 * at, cpu=at % 2, period=at) for at in (1, 2, 3, 4)]
    capture = capture_of(tmp_path / "r", *told)

    def weight(**asked: float) -> int:
        return int(capture.ask.functions.components(**asked)["components"]["weight"].sum())

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
    one = Sample(Where(0, 2, 500, 500), ip=address + 8, callchain=(CONTEXT_KERNEL, address + 8))
    capture = capture_of(tmp_path / "r", made, one, stack("vfs_read"))
    assert shares(capture) == {"XDP and BPF": 1, "file descriptors": 1}
    [row] = capture.ask.functions.functions().frame.query("module == 'bpf'").to_dict("records")
    assert row["function"] == "anything_at_all"


def test_the_event_that_time_goes_by_is_taken_unless_another_is_named(tmp_path: Path) -> None:
    told = [stack(SEND, event=0), stack("vfs_read", event=1)]
    capture = capture_of(tmp_path / "r", *told, attrs=[CLOCK, CYCLES])
    assert shares(capture) == {"file descriptors": 1}
    assert shares(capture, event="cpu-clock") == {"TCP": 1}
    with pytest.raises(ArgumentError, match="cycles, cpu-clock"):
        shares(capture, event="branches")


# Addresses alone name nothing, and would all be unclassified.
def test_a_capture_without_the_kernels_names_is_refused(tmp_path: Path) -> None:
    capture = capture_of(tmp_path / "r", stack(SEND), names=False)
    for ask in (capture.ask.functions.components, capture.ask.functions.functions):
        with pytest.raises(CaptureError, match="kernel's functions"):
            ask().parts  # noqa: B018
