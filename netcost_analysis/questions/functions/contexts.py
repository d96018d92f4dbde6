# At whose cost a sample's time was, as its call path shows it, and what each frame runs as.

import re
from typing import TYPE_CHECKING

import numpy as np

from ..._native import matching
from ..samples.interrupts import EXIT, HARDIRQ, SOFTIRQ, VECTOR
from .profile import Profile

if TYPE_CHECKING:
    from numpy.typing import NDArray

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


def context_of(one: Profile) -> "NDArray[np.int8]":
    """For each frame a place among CONTEXTS, -1 where it runs as its caller does."""
    found = np.full(len(one.frames), -1, dtype="i1")
    for name, patterns in _CONTEXTS.items():
        found[named(one, patterns)] = CONTEXTS.index(name)
    return found


def named(one: Profile, patterns: tuple[str, ...]) -> "NDArray[np.bool_]":
    # Of each frame whether it is one of these functions of the kernel.
    functions = one.frames["function"].astype("category").cat
    is_named = np.array([*matching(patterns, list(functions.categories)), False])
    found: NDArray[np.bool_] = is_named[functions.codes] & one.frames["in_kernel"].to_numpy()
    return found


def kinds(one: Profile) -> "tuple[NDArray[np.int8], NDArray[np.int64]]":
    """Of each sample its place among KINDS; of each stack where its interrupt entered.

    The second are places in Profile.places: of the outermost frame of the interrupt that had not
    returned, -1 for none. An interrupt on top of a softirq that the task runs itself is stolen,
    as in the ledger.
    """
    interrupt = np.maximum.reduce([named(one, names) for names in (_NMI, VECTOR, HARDIRQ, EXIT)])
    # Frames are innermost first: what is before the first return is inside it.
    returned = first_of(one, named(one, _RETURN))
    entry = _last(one, interrupt, returned)
    softirq = _last(one, named(one, SOFTIRQ), returned)
    servant = _last(one, named(one, _SERVANT), one.begins[1:])
    stack = one.samples["stack"].to_numpy()
    in_interrupt, is_idle = entry[stack] >= 0, _is_idle(one)
    in_softirq = softirq[stack] >= 0
    is_servant = (servant[stack] >= 0) | _served(one)
    found = np.select(
        [
            is_idle & (in_interrupt | in_softirq),
            is_idle,
            is_servant,
            in_interrupt,
            in_softirq,
            one.in_kernel[stack],
        ],
        [KINDS.index(name) for name in ("from idle", "idle", "scheduled", "stolen")]
        + [KINDS.index(name) for name in ("synchronous", "task")],
        KINDS.index("user"),
    )
    return found.astype("i1"), entry


def _is_idle(one: Profile) -> "NDArray[np.bool_]":
    # The idle task has tid 0, one for each CPU.
    if "tid" not in one.samples:
        return np.zeros(len(one.samples), dtype=bool)
    found: NDArray[np.bool_] = one.samples["tid"].eq(0).to_numpy(dtype=bool, na_value=False)
    return found


def _served(one: Profile) -> "NDArray[np.bool_]":
    if "comm" not in one.samples:
        return np.zeros(len(one.samples), dtype=bool)
    names = one.samples["comm"].astype("category").cat
    known = [bool(re.match(_SERVANT_NAMES, str(name))) for name in names.categories]
    found: NDArray[np.bool_] = np.array([*known, False])[names.codes]
    return found


def first_of(one: Profile, is_named: "NDArray[np.bool_]") -> "NDArray[np.int64]":
    # Of each stack its first frame of these, else where it ends.
    here = np.flatnonzero(is_named[one.places])
    at = np.searchsorted(here, one.begins[:-1])
    found: NDArray[np.int64] = np.minimum(np.append(here, len(one.places))[at], one.begins[1:])
    return found


def _last(
    one: Profile, is_named: "NDArray[np.bool_]", ends: "NDArray[np.int64]"
) -> "NDArray[np.int64]":
    # Of each stack its last frame of these before an end, -1 where there is none.
    here = np.flatnonzero(is_named[one.places])
    at = np.searchsorted(here, ends) - 1
    last = np.append(here, -1)[at]
    found: NDArray[np.int64] = np.where(last >= one.begins[:-1], last, -1)
    return found
