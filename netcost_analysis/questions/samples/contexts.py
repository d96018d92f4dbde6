# At whose cost a sample's time was, as its call path shows it, and what each frame runs as.

import re
from typing import NamedTuple

from ..._native import matching
from .rules import EXIT, HARDIRQ, SOFTIRQ, VECTOR
from .stacks import Stacks

# Every sample is of one of these. "task" is the kernel's work for the task itself.
KINDS = ("stolen", "from idle", "synchronous", "scheduled", "task", "user", "idle")

_NMI = ("asm_exc_nmi", "exc_nmi", "nmi", "end_repeat_nmi", "el1h_64_fiq", "do_nmi")
# Behind these the interrupt is over: its return switches tasks, or works for the one it returns to.
_RETURN = (
    *("exit_to_user_mode_loop", "irqentry_exit_to_user_mode", "exit_to_user_mode_prepare"),
    *("prepare_exit_to_usermode", "retint_user", "preempt_schedule_irq", "do_notify_resume"),
    *("arm64_preempt_schedule_irq", "raw_irqentry_exit_cond_resched", "irqentry_exit_cond_resched"),
)
_NETWORK = ("net_rx_action", "net_tx_action")
_POLL = ("__napi_poll", "napi_poll", "process_backlog", "napi_threaded_poll*")
# Threads that exist for network work; by their names as in native/src/ledger/task.rs.
_SERVANT = (
    *("run_ksoftirqd", "napi_threaded_poll*", "run_backlog_napi", "irq_thread", "vhost_worker"),
    *("vhost_task_fn", "run_ktimerd", "rcu_cpu_kthread"),
)
_SERVANT_NAMES = r"(?:ksoftirqd|napi|backlog_napi|ktimers|ktimersoftd|rcuc)/|vhost-|irq/\d+(?:-|$)"

# What a frame and those inside it run as, by plots/palette.py's KIND; later ones count first.
_CONTEXTS = {
    "softirq_other": SOFTIRQ,
    "softirq": _NETWORK,
    "poll": _POLL,
    "hardirq": HARDIRQ,
    "vector": VECTOR,
    "nmi": _NMI,
    "task": _RETURN,
}
CONTEXTS = ("task", *list(_CONTEXTS)[:-1], "idle")


class Path(NamedTuple):
    """What a stack shows.

    entry: the place in it where its interrupt entered: of the outermost frame of the interrupt that
    had not returned, -1 for none. has_softirq: in what has not returned. is_servant: of a thread
    that exists for network work.
    """

    entry: int
    has_softirq: bool
    is_servant: bool


def context_of(profile: Stacks) -> list[int]:
    """For each frame a place among CONTEXTS, -1 where it runs as its caller does."""
    found = [-1] * len(profile.functions)
    for name, patterns in _CONTEXTS.items():
        for frame in _named(profile, patterns):
            found[frame] = CONTEXTS.index(name)
    return found


def _named(profile: Stacks, patterns: tuple[str, ...]) -> set[int]:
    # The frames that are one of these functions of the kernel.
    names = list(dict.fromkeys(profile.functions))
    both = zip(names, matching(patterns, names), strict=True)
    known = {name for name, is_named in both if is_named and name}
    frames = enumerate(zip(profile.functions, profile.in_kernel, strict=True))
    return {frame for frame, (name, inside) in frames if inside and name in known}


def paths_of(profile: Stacks) -> list[Path]:
    """Of each stack."""
    returns, softirqs, servants, entries = (
        _named(profile, patterns)
        for patterns in (_RETURN, SOFTIRQ, _SERVANT, (*_NMI, *VECTOR, *HARDIRQ, *EXIT))
    )
    found = []
    for stack in profile.stacks:
        # Frames are innermost first: what is before the first return is inside it.
        end = next((at for at, frame in enumerate(stack) if frame in returns), len(stack))
        entry = next((at for at in range(end - 1, -1, -1) if stack[at] in entries), -1)
        within = any(frame in softirqs for frame in stack[:end])
        found.append(Path(entry, within, not servants.isdisjoint(stack)))
    return found


def kind_of(path: Path, in_kernel: bool, comm: str | None, tid: int | None) -> str:
    """One of KINDS.

    As in the ledger, an interrupt on top of a softirq that the task runs itself is stolen.
    in_kernel: of the innermost frame.
    """
    # The idle task has tid 0, one for each CPU.
    if tid == 0:
        return "from idle" if path.entry >= 0 or path.has_softirq else "idle"
    if path.is_servant or re.match(_SERVANT_NAMES, str(comm)):
        return "scheduled"
    if path.entry >= 0:
        return "stolen"
    if path.has_softirq:
        return "synchronous"
    return "task" if in_kernel else "user"
