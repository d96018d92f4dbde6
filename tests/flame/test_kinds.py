# At whose cost a sample was: in exactly one of the kinds, by its call path.

import random
from pathlib import Path

import pytest

from netcost_analysis import open_capture
from netcost_analysis.questions.functions.contexts import KINDS, kinds
from netcost_analysis.questions.functions.flame import graph, paths
from netcost_analysis.questions.functions.flame_formats import folded
from netcost_analysis.questions.functions.profile import profile_of
from support.called import Called, write

SYSCALL = ("user", "entry_SYSCALL_64_after_hwframe", "do_syscall_64", "ksys_write")
IRQ = ("asm_common_interrupt", "common_interrupt")
SOFTIRQ = ("handle_softirqs", "net_rx_action", "__napi_poll", "veth_poll")
EXIT = ("__irq_exit_rcu", *SOFTIRQ)
OWN = ("ip_output", "__local_bh_enable_ip", "do_softirq", *SOFTIRQ)
THREAD = ("ret_from_fork_asm", "ret_from_fork", "kthread")
LOOP = ("common_startup_64", "cpu_startup_entry", "do_idle", "default_idle")

CASES = {
    "user": (Called(("user",)), "user", None),
    "system call": (Called(SYSCALL), "task", None),
    "softirq on user mode": (Called(("user", *IRQ, *EXIT)), "stolen", (*IRQ, *EXIT)),
    "hardirq in a system call": (Called((*SYSCALL, *IRQ)), "stolen", IRQ),
    "arm64": (
        Called((*SYSCALL, "el1h_64_irq", "el1_interrupt", *EXIT)),
        "stolen",
        ("el1h_64_irq", "el1_interrupt", *EXIT),
    ),
    "before 5.8": (
        Called(("user", "ret_from_intr", "do_IRQ", "irq_exit", "__do_softirq")),
        "stolen",
        # Nothing has run behind it: the timer came when it was over.
        (
            *("ret_from_intr", "do_IRQ", "irq_exit", "__do_softirq"),
            "interrupts_off:_device_interrupt",
        ),
    ),
    "an IPI": (
        Called((*SYSCALL, "asm_sysvec_call_function_single", *EXIT)),
        "stolen",
        ("asm_sysvec_call_function_single", *EXIT),
    ),
    "an entry that is not on the path": (Called(("user", *EXIT)), "stolen", EXIT),
    "an interrupt's variant": (
        Called(("user", "common_interrupt.cold")),
        "stolen",
        ("common_interrupt",),
    ),
    "its own softirq": (Called((*SYSCALL, *OWN)), "synchronous", None),
    "an interrupt on top of its own softirq": (Called((*SYSCALL, *OWN, *IRQ)), "stolen", IRQ),
    "a softirq with interrupts on top of each other": (
        Called(("user", *IRQ, *EXIT, "asm_sysvec_apic_timer_interrupt")),
        "stolen",
        (*IRQ, *EXIT, "asm_sysvec_apic_timer_interrupt"),
    ),
    "preempted at an interrupt's end": (
        Called((*SYSCALL, *IRQ, "irqentry_exit", "preempt_schedule_irq", "__schedule")),
        "task",
        None,
    ),
    "signals at an interrupt's end": (
        Called(("user", *IRQ, "irqentry_exit_to_user_mode", "exit_to_user_mode_loop", "schedule")),
        "task",
        None,
    ),
    "interrupted again behind one's end": (
        Called(("user", *IRQ, "exit_to_user_mode_loop", "schedule", "asm_sysvec_x", *EXIT)),
        "stolen",
        ("asm_sysvec_x", *EXIT),
    ),
    "a page fault": (Called(("user", "asm_exc_page_fault", "exc_page_fault")), "task", None),
    "ksoftirqd": (
        Called((*THREAD, "smpboot_thread_fn", "run_ksoftirqd", *SOFTIRQ), "ksoftirqd/0", 16),
        "scheduled",
        None,
    ),
    "ksoftirqd by its name": (Called((*THREAD, "schedule"), "ksoftirqd/1", 17), "scheduled", None),
    "an interrupt on top of ksoftirqd": (
        Called((*THREAD, "run_ksoftirqd", *SOFTIRQ, *IRQ), "ksoftirqd/0", 16),
        "scheduled",
        None,
    ),
    "threaded NAPI": (
        Called((*THREAD, "napi_threaded_poll", "__napi_poll"), "napi/eth0-1", 18),
        "scheduled",
        None,
    ),
    "idle": (Called(LOOP, "swapper", 0), "idle", None),
    "from idle": (Called((*LOOP, *IRQ, *EXIT), "swapper", 0), "from idle", (*IRQ, *EXIT)),
    "a softirq of the idle task's own": (
        Called(("do_idle", "flush_smp_call_function_queue", "do_softirq", *SOFTIRQ), "swapper", 0),
        "from idle",
        ("do_idle", "flush_smp_call_function_queue", "do_softirq", *SOFTIRQ),
    ),
}


@pytest.mark.parametrize(("one", "kind", "path"), CASES.values(), ids=CASES)
def test_kind(tmp_path: Path, one: Called, kind: str, path: tuple[str, ...] | None) -> None:
    # A sample in an interrupt beside it: without any there is no graph.
    other = Called(("user", "asm_sysvec_other"), "other", 99)
    capture = open_capture(write(tmp_path / "x", one, other))
    of_sample, _ = kinds(profile_of(capture, "cpu-clock"))
    assert [KINDS[at] for at in of_sample] == [kind, "stolen"]
    lines = list(folded(graph([paths(capture)])))
    victim = "idle:_from_idle,_stolen_from_nobody" if one.tid == 0 else one.comm
    shown = [";".join([victim, *path])] if path else []
    assert sorted(line.rsplit(" ", 1)[0] for line in lines) == sorted(
        [*shown, "other;asm_sysvec_other"]
    )


# Of samples with any path: each in one kind, and none more or less than there were.
@pytest.mark.parametrize("seed", range(5))
def test_nothing_is_lost(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    known = sorted({name for one, _, _ in CASES.values() for name in one.path} - {"user"})
    told = [
        Called(
            ["user"] * draw.randrange(3) + draw.choices(known, k=draw.randrange(1, 9)),
            *draw.choice([("openssl", 70), ("swapper", 0), ("napi/x-1", 71), ("iperf3", 72)]),
            times=draw.randrange(1, 4),
            period=draw.randrange(1, 10**9),
            cpu=draw.randrange(2),
        )
        for _ in range(200)
    ]
    capture = open_capture(write(tmp_path / "x", *told))
    whole = sum(one.times * one.period for one in told)
    every = paths(capture, "all")
    assert sum(every.kinds.values()) == every.weights.sum() == whole
    stolen = paths(capture)
    assert stolen.weights.sum() == every.kinds["stolen"] + every.kinds["from idle"]
    assert sum(paths(capture, "all", cpu=cpu).weights.sum() for cpu in (0, 1)) == whole
    for side in (every, stolen):
        found = graph([side])
        assert int(found.weights[0, 0]) == side.weights.sum()
        assert sum(int(line.rsplit(" ", 1)[1]) for line in folded(found)) == side.weights.sum()
        # What is below a frame, and its own, is what it has.
        for node, below in enumerate(found.children):
            assert found.weights[0, node] == found.own[0, node] + found.weights[0, below].sum()
    busy = paths(capture, "all", idle=False)
    assert busy.weights.sum() == whole - every.kinds["idle"]
