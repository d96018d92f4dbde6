# At whose cost a sample's time was, as its call path shows it, and what each frame runs as.

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..._native import matching
from ..samples.rules import EXIT, HARDIRQ, SOFTIRQ, VECTOR
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


def context_of(profile: Profile) -> "NDArray[np.int8]":
    """For each frame a place among CONTEXTS, -1 where it runs as its caller does."""
    found = np.full(len(profile.frames), -1, dtype="i1")
    for name, patterns in _CONTEXTS.items():
        found[_named(profile, patterns)] = CONTEXTS.index(name)
    return found


def _named(profile: Profile, patterns: tuple[str, ...]) -> "NDArray[np.bool_]":
    # Whether each frame is one of these functions of the kernel.
    functions = profile.frames["function"].astype("category").cat
    is_named = np.array([*matching(patterns, list(functions.categories)), False])
    found: NDArray[np.bool_] = is_named[functions.codes] & profile.frames["in_kernel"].to_numpy()
    return found


def kinds(profile: Profile) -> "tuple[NDArray[np.int8], NDArray[np.int64]]":
    """For each sample its place among KINDS; for each stack where its interrupt entered.

    The second are places in Profile.places: of the outermost frame of the interrupt that had not
    returned, -1 for none. As in the ledger, an interrupt on top of a softirq that the task runs
    itself is stolen.
    """
    # Frames are innermost first: what is before the first return is inside it.
    returns = np.flatnonzero(_named(profile, _RETURN)[profile.places])
    at = np.searchsorted(returns, profile.begins[:-1])
    returned = np.minimum(np.append(returns, len(profile.places))[at], profile.begins[1:])
    entry = _last(profile, (*_NMI, *VECTOR, *HARDIRQ, *EXIT), returned)
    softirq = _last(profile, SOFTIRQ, returned)
    servant = _last(profile, _SERVANT, profile.begins[1:])
    samples, stack = profile.samples, profile.samples["stack"].to_numpy()
    # The idle task has tid 0, one for each CPU.
    is_idle = _is(samples, "tid", lambda tid: tid == 0)
    is_servant = _is(samples, "comm", lambda name: bool(re.match(_SERVANT_NAMES, str(name))))
    in_interrupt, in_softirq = entry[stack] >= 0, softirq[stack] >= 0
    kind = np.select(
        [
            is_idle & (in_interrupt | in_softirq),
            is_idle,
            is_servant | (servant[stack] >= 0),
            in_interrupt,
            in_softirq,
            profile.in_kernel[stack],
        ],
        [
            KINDS.index(name)
            for name in ("from idle", "idle", "scheduled", "stolen", "synchronous", "task")
        ],
        KINDS.index("user"),
    )
    return kind.astype("i1"), entry


def _is(samples: pd.DataFrame, column: str, holds: Callable[[Any], bool]) -> "NDArray[np.bool_]":
    # Whether that holds for each sample's value in a column; it does not where there is none.
    if column not in samples:
        return np.zeros(len(samples), dtype=bool)
    codes, values = samples[column].astype(object).factorize()
    found: NDArray[np.bool_] = np.array([*map(holds, values), False])[codes]
    return found


def _last(
    profile: Profile, patterns: tuple[str, ...], ends: "NDArray[np.int64]"
) -> "NDArray[np.int64]":
    # For each stack the place of the last frame before its end that is one of these functions, -1
    # where there is none.
    here = np.flatnonzero(_named(profile, patterns)[profile.places])
    last = np.append(here, -1)[np.searchsorted(here, ends) - 1]
    found: NDArray[np.int64] = np.where(last >= profile.begins[:-1], last, -1)
    return found
