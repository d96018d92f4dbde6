# At whose cost a sample was: in exactly one of the kinds, by its call path.

import random
from pathlib import Path

import pytest

from netcost_analysis import open_capture
from netcost_analysis.questions.samples.flame import Paths, graph, paths
from netcost_analysis.questions.samples.flame_formats import folded
from support.stacks import Called, write

SYSCALL = "user entry_SYSCALL_64_after_hwframe do_syscall_64 ksys_write"
IRQ = "asm_common_interrupt common_interrupt"
SOFTIRQ = "handle_softirqs net_rx_action __napi_poll veth_poll"
EXIT = f"__irq_exit_rcu {SOFTIRQ}"
OWN = f"ip_output __local_bh_enable_ip do_softirq {SOFTIRQ}"
THREAD = "ret_from_fork_asm ret_from_fork kthread"
LOOP = "common_startup_64 cpu_startup_entry do_idle default_idle"
IDLE = ("swapper", 0)

# By name the kind, a call path, outermost first, and who ran. "|": what the stolen graph has
# begins here; "+": and this innermost.
CASES = {
    "user": ("user", "user"),
    "system call": ("task", SYSCALL),
    "softirq on user mode": ("stolen", f"user | {IRQ} {EXIT}"),
    "hardirq in a system call": ("stolen", f"{SYSCALL} | {IRQ}"),
    "arm64": ("stolen", f"{SYSCALL} | el1h_64_irq el1_interrupt {EXIT}"),
    # Nothing has run behind it: the timer came when it was over.
    "before 5.8": (
        "stolen",
        "user | ret_from_intr do_IRQ irq_exit __do_softirq + interrupts_off:_device_interrupt",
    ),
    "an IPI": ("stolen", f"{SYSCALL} | asm_sysvec_call_function_single {EXIT}"),
    "an entry that is not on the path": ("stolen", f"user | {EXIT}"),
    "an interrupt's variant": ("stolen", "user | common_interrupt.cold"),
    "its own softirq": ("synchronous", f"{SYSCALL} {OWN}"),
    "an interrupt on top of its own softirq": ("stolen", f"{SYSCALL} {OWN} | {IRQ}"),
    "a softirq with interrupts on top of each other": (
        "stolen",
        f"user | {IRQ} {EXIT} asm_sysvec_apic_timer_interrupt",
    ),
    "preempted at an interrupt's end": (
        "task",
        f"{SYSCALL} {IRQ} irqentry_exit preempt_schedule_irq __schedule",
    ),
    "signals at an interrupt's end": (
        "task",
        f"user {IRQ} irqentry_exit_to_user_mode exit_to_user_mode_loop schedule",
    ),
    "interrupted again behind one's end": (
        "stolen",
        f"user {IRQ} exit_to_user_mode_loop schedule | asm_sysvec_x {EXIT}",
    ),
    "a page fault": ("task", "user asm_exc_page_fault exc_page_fault"),
    "ksoftirqd": (
        *("scheduled", f"{THREAD} smpboot_thread_fn run_ksoftirqd {SOFTIRQ}"),
        ("ksoftirqd/0", 16),
    ),
    "ksoftirqd by its name": ("scheduled", f"{THREAD} schedule", ("ksoftirqd/1", 17)),
    "an interrupt on top of ksoftirqd": (
        *("scheduled", f"{THREAD} run_ksoftirqd {SOFTIRQ} {IRQ}"),
        ("ksoftirqd/0", 16),
    ),
    "threaded NAPI": (
        *("scheduled", f"{THREAD} napi_threaded_poll __napi_poll"),
        ("napi/eth0-1", 18),
    ),
    "idle": ("idle", LOOP, IDLE),
    "from idle": ("from idle", f"{LOOP} | {IRQ} {EXIT}", IDLE),
    "a softirq of the idle task's own": (
        *("from idle", f"| do_idle flush_smp_call_function_queue do_softirq {SOFTIRQ}"),
        IDLE,
    ),
}


def weight(side: Paths) -> int:
    return sum(one.whole for one in side.weights.values())


def path_of(case: str) -> list[str]:
    return case.partition("+")[0].replace("|", "").split()


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_kind(tmp_path: Path, case: tuple[str, str, tuple[str, int]]) -> None:
    kind, text, *who = case
    comm, tid = who[0] if who else ("openssl", 70)
    # A sample in an interrupt beside it: without any there is no graph.
    told = [Called(path_of(text), comm, tid, period=5), Called(("asm_sysvec_x",), "b", 9, period=7)]
    side = paths(open_capture(write(tmp_path / "x", *told)))
    weights = {name: weight for name, weight in side.kinds.items() if weight}
    assert weights == ({"stolen": 12} if kind == "stolen" else {kind: 5, "stolen": 7})
    shown = text.partition("|")[2].replace("+", "").replace(".cold", "").split()
    victim = "idle:_from_idle,_stolen_from_nobody" if tid == 0 else comm
    lines = [f"{';'.join([victim, *shown])} 5\n"] if shown else []
    assert sorted(folded(graph([side]))) == sorted([*lines, "b;asm_sysvec_x 7\n"])


# Of samples with any path: each in one kind, and none more or less than there were.
@pytest.mark.parametrize("seed", range(5))
def test_nothing_is_lost(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    known = sorted({name for _, path, *_ in CASES.values() for name in path_of(path)} - {"user"})
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
    every, stolen, busy = paths(capture, "all"), paths(capture), paths(capture, "all", idle=False)
    assert sum(every.kinds.values()) == weight(every) == whole
    assert weight(stolen) == every.kinds["stolen"] + every.kinds["from idle"]
    assert sum(weight(paths(capture, "all", cpu=cpu)) for cpu in (0, 1)) == whole
    assert weight(busy) == whole - every.kinds["idle"]
    for side in (every, stolen):
        found = graph([side])
        assert found.weights[0][0] == weight(side)
        assert sum(int(line.rsplit(" ", 1)[1]) for line in folded(found)) == weight(side)
        # What is below a frame, and its own, is what it has.
        for node, below in enumerate(found.children):
            assert found.weights[0][node] == found.own[0][node] + sum(
                found.weights[0][one] for one in below
            )
