# The CPU time that the cost tree holds: its rows, and what moved between its branches.

import pandas as pd

from ...comparison.comparison import Comparison
from ...comparison.run import Run
from ...timeline.owners import INTERRUPT_CONTEXTS
from .run_blocks import run_blocks
from .tasks import process_contexts

CONTEXT = "process_context"
LEVELS = (CONTEXT, "cost_class", "thief")
# What a task ran itself; what may be network, such as inter-processor interrupts.
OWN, PERHAPS = "own", "perhaps_network"
# The processes whose own time is part of the cost of the work.
ENDPOINTS = ("client", "server")


def in_tree(run: Run, comparison: Comparison) -> pd.DataFrame:
    # The rows of a run's sums that are in the tree, with its LEVELS as columns.
    rows = run_blocks(run).sums
    rows = rows.assign(**{CONTEXT: process_contexts(run, comparison)})
    network = rows["is_network"].astype(object)
    in_task = rows["context"] == "task"
    # A kernel thread that works for the network is network itself.
    own = (in_task & (network != "yes")).to_numpy(dtype=bool)
    perhaps = (network == "unknown") & rows["context"].isin(INTERRUPT_CONTEXTS)
    classes = rows["cost_class"].astype(object).mask(own, OWN).mask(perhaps & ~own, PERHAPS)
    thieves = rows["thief"].astype(object).mask(in_task, OWN)
    rows = rows.assign(cost_class=classes, thief=thieves)
    return rows[(rows[CONTEXT].isin(ENDPOINTS) & own) | (network == "yes") | perhaps]


def moved_between(tree: pd.DataFrame) -> pd.DataFrame:
    # Per unit of work, what some processes do less of and others more.
    rows = tree[tree["level"] == 1]
    differences = rows["difference_ns"].to_numpy("float64")
    decrease, increase = (-differences).clip(min=0), differences.clip(min=0)
    moved = min(decrease.sum(), increase.sum())
    lost, gained = (moved * part / (part.sum() or 1) for part in (decrease, increase))
    return pd.DataFrame(
        {
            "process_context": rows["process_context"].to_numpy(),
            "decrease_ns": decrease,
            "increase_ns": increase,
            "moved_ns": gained - lost,
            "added_ns": (increase - gained) - (decrease - lost),
        }
    )
