"""Every account of what the victim got, side by side."""

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from ..._native import CaptureError
from ...answers.question import question
from ...units import absent
from ..got_shares import baseline_got, undisturbed_share, work_against, work_share
from . import side_by_side as of
from .calibrations import same_host
from .counts import NAN, counted
from .doubts import doubts_of, why
from .hidden_cost import hidden_price
from .run_time import schedstat

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer
    from ...capture.bundle import Bundle
    from ...capture.capture import Capture
    from ...opening.experiment import Experiment

# In the first sentence.
_NAMED = ("task_stat", "times", "traced")
_COLUMNS = ("got_share", "resolution_share", "steal_share", "source", "why")


@question(
    check=of.bundle_of,
    columns=(
        *("estimate", "got_share", "lost_share", "residual_share", "resolution_share"),
        "steal_share",
    ),
    rows=9,
)
def accounts(
    capture: "Capture",
    hidden_ns: float | None = None,
    hidden_from: str = "",
    calibration: "Experiment | None" = None,
) -> pd.DataFrame:
    """Every estimate of the share of wall time that the bundle's victim got, and how each can err.

    - capture: Of a bundle with a victim.
    - hidden_ns: What each interrupt costs beyond traced time, as hidden_cost estimates it. None: no
      row traced_and_hidden.
    - hidden_from: Where hidden_ns was measured, for the text.
    - calibration: Of capture/lab/hidden-cost. Its price is taken as hidden_ns where it is of such a
      host.

    A row per estimate (index: times, system, task_stat, schedstat, cgroup_stat, cpu_stat, mpstat,
    traced, traced_and_hidden, work; of a service alone the fifth, and not the next two). Shares of
    wall time, 0 to 1, NaN where the bundle cannot say: got_share, lost_share (of system, its system
    time, only this: what the task was charged for; of a service of what it had in its baseline),
    residual_share (got_share less that of work), resolution_share, steal_share. source and why:
    text.

    Source: reasons.md names the kernel's files; docs/definitions.md. traced is NaN where the trace
    does not hold the run.
    """
    if calibration is not None:
        applied = price_for(capture.bundle, calibration)
        hidden_ns, hidden_from = applied.hidden_ns, "as calibrated on such a host"
    timeline, bundle, untraced = of.ran(capture)
    counts = counted(bundle)
    rows = {
        "times": of.times(bundle),
        "system": of.system(bundle),
        "task_stat": of.task_stat(bundle),
        "schedstat": schedstat(bundle),
        "cgroup_stat": of.cgroup_stat(bundle),
        "cpu_stat": of.cpu_stat(counts),
        "mpstat": of.mpstat(bundle),
        "traced": of.traced(bundle, timeline),
        "traced_and_hidden": of.hidden(bundle, timeline, counts, hidden_ns),
        "work": of.work(bundle),
    }
    if hidden_ns is None:
        del rows["traced_and_hidden"]
    if math.isnan(rows["cgroup_stat"].got):
        del rows["cgroup_stat"]
    if bundle.victim and bundle.victim.attached:
        # Of all that runs on its CPU, and nobody keeps that to a service.
        del rows["cpu_stat"], rows["mpstat"]
    doubts = doubts_of(bundle, timeline, counts, untraced)
    records = []
    for name, row in rows.items():
        # Where an estimate has no steal of its own, that of the snapshots around the run.
        steal = counts.steal_share if math.isnan(row.steal) else row.steal
        reason = why(name, doubts, steal, hidden_from or "measured elsewhere")
        step = NAN if math.isnan(row.got) and math.isnan(row.charged) else row.resolution
        records.append((row.got, step, steal, row.source, reason))
    frame = pd.DataFrame(records, index=pd.Index(rows, name="estimate"), columns=list(_COLUMNS))
    frame.insert(1, "lost_share", 1 - frame["got_share"] / (undisturbed_share(bundle) or NAN))
    frame.loc["system", "lost_share"] = rows["system"].charged
    frame.insert(2, "residual_share", frame["got_share"] - rows["work"].got)
    return frame


class Price(NamedTuple):
    """What of a calibration is taken for a bundle.

    hidden_ns: None where it is of another host, or is none: refused says why.
    """

    hidden_ns: float | None
    same_host: bool
    refused: str | None


def price_for(bundle: "Bundle | None", calibration: "Experiment") -> Price:
    """The price of a calibration for a bundle."""
    try:
        price = hidden_price(calibration)
        matches = same_host(bundle, calibration)
    except CaptureError as error:
        return Price(None, False, str(error))
    return Price(price if matches else None, matches, None)


class Service(NamedTuple):
    """Of a service that was attached to, None where unknown.

    baseline_cpu_share: what its threads ran before the recording, of one CPU. work_share: what it
    got done of what it did then; afterwards_share: likewise behind the recording. with_load:
    whether netcost-record made a load of its own for the recording.
    """

    baseline_cpu_share: float | None
    work_share: float | None
    afterwards_share: float | None
    with_load: bool


def service_of(bundle: "Bundle") -> Service | None:
    """What is known of a service's work; None for any other victim."""
    if bundle.victim is None or bundle.victim.attached is None:
        return None
    baseline, later = bundle.baseline, bundle.afterwards
    return Service(
        baseline_cpu_share=undisturbed_share(bundle),
        work_share=work_share(bundle),
        afterwards_share=work_against(later, baseline) if later and baseline else None,
        with_load=bundle.manifest.load is not None,
    )


class Account(NamedTuple):
    """What an account, by its name in the index of accounts(), says that the victim got."""

    name: str
    share: float


class Accounts(NamedTuple):
    """What the accounts say, shares of wall time; None where unknown.

    any: whether there is an account. named: those that the first sentence names. system_share: the
    victim's system time, with_interrupts: whether the kernel counts those on top of it there.
    farthest: from work, with its residual_share. baseline_share: what a disturbed baseline had of
    its CPU, None for one that was not, and undisturbed_share: work against one that had all of it.
    service: what is known of one that was attached to; None for any other victim.
    """

    victim: str
    any: bool
    work_share: float | None
    named: list[Account]
    system_share: float | None
    with_interrupts: bool | None
    farthest: Account | None
    baseline_share: float | None
    undisturbed_share: float | None
    service: Service | None


@accounts.totals
def _totals(answer: "Answer") -> dict[str, Any]:
    # in_all: what a disturbed baseline had of its CPU, and work against one that had all of it.
    work, bundle = answer.frame["got_share"]["work"], answer.bundle
    baseline = baseline_got(bundle) if bundle and not absent(work) else None
    undisturbed = baseline * float(work) if baseline and work else None
    service = service_of(bundle) if bundle else None
    of_all = {"baseline_share": baseline, "undisturbed_share": undisturbed, "service": service}
    return {"in_all": of_all}


@accounts.figures
def compared(answer: "Answer") -> Accounts:
    table, bundle = answer.frame, answer.bundle
    got = {str(name): float(value) for name, value in table["got_share"].dropna().items()}
    work, system = got.get("work"), table["lost_share"]["system"]
    regime = bundle.accounting if bundle else None
    far = table["residual_share"].dropna().drop(index="work", errors="ignore")
    worst = str(far.abs().idxmax()) if len(far) else None
    return Accounts(
        victim=(bundle.victim_comm if bundle else None) or "the victim",
        any=bool(got),
        work_share=work,
        named=[
            Account(name, got[name]) for name in ("task_stat", "times", "traced") if name in got
        ],
        system_share=None if absent(system) else float(system),
        with_interrupts=regime.softirq if regime else None,
        farthest=Account(worst, float(far[worst])) if worst else None,
        **answer.parts["in_all"],
    )


def _height(answer: "Answer") -> float:
    return 0.8 + 0.36 * int(answer.frame["got_share"].notna().sum())


@accounts.plot(
    title="What each account says the victim got",
    height=_height,
    panels=lambda answer: [{}] if answer.frame["got_share"].notna().any() else [],
)
def _bars(ax: "Axes", answer: "Answer") -> None:
    from .plots import accounts as draw

    draw(ax, answer.frame)
