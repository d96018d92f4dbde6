"""Every account of what the victim got and of its CPU's time, and why each can be wrong."""

import math
from pathlib import Path
from typing import Any

import pandas as pd

from ...answers.answer import Answer
from ...answers.question import Axes, question
from ...capture.accounting import tick_ms
from ...capture.bundle import Bundle
from ...capture.capture import Capture
from ...capture.manifest import Victim
from ...display.templates import as_text, environment, render
from ...opening.experiment import Experiment
from ...plots.palette import ESTIMATE, FAINT, INK, TASK
from ...timeline.timeline import Timeline
from ...units import share
from ..got_shares import baseline_got, ticks_share, undisturbed_share, work_against, work_share
from . import account_readings as of
from .account_readings import NAN, CpuCounters, cpu_counters
from .hidden_cost import price_for

# A larger share of steal is mentioned with every figure.
_STEAL_LIMIT = 0.01
# A share without a known owner, and a time as a multiple of the run's, that are mentioned.
_UNKNOWN, _LONGER = 0.005, 1.1
# The names of accounts, as the words have them.
_NAMES = "questions/accounting/account_names.md"
# Of the bars of accounts: what counts the task, the trace, what counts its CPU, its work.
_ORDER = (
    *("task_stat", "schedstat", "cgroup_stat", "traced", "traced_and_hidden", "times"),
    *("cpu_stat", "mpstat", "work"),
)
# Room for a label outside a bar, in per cent of the axis.
_SHORT = 14
_WHY = Path(__file__).with_name("reasons.md")
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
    capture: Capture,
    hidden_ns: float | None = None,
    hidden_from: str = "",
    calibration: Experiment | None = None,
) -> Answer:
    """Every estimate of the share of wall time that the bundle's victim got, and how each can err.

    A row per estimate. A service also has cgroup_stat, but neither cpu_stat nor mpstat. A figure is
    NaN where the bundle lacks it. lost_share of system is only the system time that the
    task was charged with.

    traced_and_hidden needs hidden_ns, the cost of each interrupt beyond traced time, measured at
    hidden_from. Alternatively it needs a calibration by capture/lab/hidden-cost; its price is used
    if the capture comes from such a host. Source: reasons.md names the kernel's files;
    docs/definitions.md.
    """
    if calibration is not None:
        price = price_for(capture.bundle, calibration)
        hidden_ns, hidden_from = price["hidden_ns"], "as calibrated on such a host"
    timeline, bundle, untraced = of.ran(capture)
    counts = cpu_counters(bundle)
    rows = {
        "times": of.times(bundle),
        "system": of.system(bundle),
        "task_stat": of.task_stat(bundle),
        "schedstat": of.schedstat(bundle),
        "cgroup_stat": of.cgroup_stat(bundle),
        "cpu_stat": of.cpu_stat(counts),
        "mpstat": of.mpstat(bundle),
        "traced": of.traced(bundle, timeline),
    }
    if hidden_ns is not None:
        source = f"traced less {hidden_ns:,.0f} ns for each of its CPU's interrupts"
        got = rows["traced"].got - counts.interrupts_per_s * hidden_ns / 1e9
        rows["traced_and_hidden"] = of.AccountReading(got, source=source)
    rows["work"] = of.work(bundle)
    if math.isnan(rows["cgroup_stat"].got):
        del rows["cgroup_stat"]
    if bundle.victim and bundle.victim.attached:
        # Of all that runs on its CPU, and nobody keeps that to a service.
        del rows["cpu_stat"], rows["mpstat"]
    doubts = _doubts(bundle, timeline, counts, untraced, hidden_from or "measured elsewhere")
    records = []
    for name, row in rows.items():
        # Where an estimate has no steal of its own, that of the snapshots around the run.
        steal = counts.steal_share if math.isnan(row.steal) else row.steal
        said = doubts | {"estimate": name, "steal_share": _mentioned(steal)}
        step = NAN if math.isnan(row.got) and math.isnan(row.charged) else row.resolution
        records.append((row.got, step, steal, row.source, as_text(render(_WHY, said))))
    frame = pd.DataFrame(records, index=pd.Index(rows, name="estimate"), columns=list(_COLUMNS))
    whole = pd.Series(undisturbed_share(bundle) or NAN, frame.index)
    whole["times"] = _undisturbed_user(bundle) or NAN
    frame.insert(1, "lost_share", 1 - frame["got_share"] / whole)
    frame.loc["system", "lost_share"] = rows["system"].charged
    frame.insert(
        2, "residual_share", frame["got_share"] - rows["work"].got * (whole / whole["work"])
    )
    return Answer(frame, in_all=_in_all(bundle, frame))


@question(
    check=of.bundle_of, columns=("estimate", "resolution_share", "steal_share", "why"), rows=0
)
def account_reasons(capture: Capture, calibration: Experiment | None = None) -> Answer:
    """Why each account of what the victim got can be wrong, on the kernel that kept it.

    The rows of accounts that have a share. Source: accounts, and the kernel's configuration from
    the bundle.
    """
    table = accounts(capture, calibration=calibration).frame
    known = table["got_share"].notna() | table["lost_share"].notna()
    table = table.loc[known, ["resolution_share", "steal_share", "source", "why"]]
    return Answer(
        table,
        price=price_for(capture.bundle, calibration) if calibration is not None else None,
        steal_max_share=float(table["steal_share"].max()),
        limit_share=_STEAL_LIMIT,
    )


def _undisturbed_user(bundle: Bundle) -> float | None:
    # User time alone is compared with user time, where the undisturbed was measured.
    whole, victim = undisturbed_share(bundle), bundle.victim
    measured = victim is not None and (victim.attached is not None or victim.asked_work is not None)
    if not measured or bundle.speed_runs or bundle.baseline is None:
        return whole
    return ticks_share(bundle.baseline)


def _doubts(
    bundle: Bundle,
    timeline: Timeline | None,
    counts: CpuCounters,
    untraced: str,
    hidden_from: str,
) -> dict[str, Any]:
    # What makes any account of the run doubtful; None for what is not worth mentioning.
    victim, regime, wall = bundle.victim or Victim(), bundle.accounting, of.wall_s(bundle)
    # openssl starts before it counts, and reads its clock after; on a slow host that is long.
    asked = sum(run.asked_s for run in bundle.speed_runs)
    unknown = (timeline.unknown_cpu_share if timeline else None) or 0.0
    baseline = bundle.baseline
    return {
        "regime": regime.regime if regime else "",
        "tick_ms": tick_ms(bundle.kernel_config),
        "run_known": None not in (victim.start_ns, victim.end_ns),
        "untraced": untraced,
        "hidden_from": hidden_from,
        "attached": victim.attached is not None,
        "unknown_share": unknown if unknown >= _UNKNOWN else None,
        "wall_s": wall,
        "asked_s": asked if asked and wall > _LONGER * asked else None,
        "stat_s": counts.stat_s if counts.stat_s > _LONGER * wall else None,
        "baseline_share": baseline_got(bundle),
        "baseline_steal_share": _mentioned(cpu_counters(baseline).steal_share if baseline else NAN),
    }


def _mentioned(steal: float) -> float | None:
    return steal if steal > _STEAL_LIMIT else None


def _in_all(bundle: Bundle, accounts: pd.DataFrame) -> dict[str, Any]:
    work = float(accounts["got_share"]["work"])
    # What a disturbed baseline had of its CPU, and work against one that had all of it.
    baseline = None if math.isnan(work) else baseline_got(bundle)
    residual = accounts["residual_share"].dropna().drop(index="work", errors="ignore").abs()
    regime, service, later = bundle.accounting, None, bundle.afterwards
    if bundle.victim and bundle.victim.attached:
        # What is known of a service that was attached to.
        again = work_against(later, bundle.baseline) if later and bundle.baseline else None
        service = {
            "baseline_cpu_share": undisturbed_share(bundle),
            "work_share": work_share(bundle),
            "afterwards_share": again,
            "with_load": bundle.manifest.load is not None,
        }
    return {
        "baseline_share": baseline,
        "undisturbed_share": baseline * work if baseline and work else None,
        "service": service,
        "comm": bundle.victim_comm,
        "with_interrupts": regime.softirq if regime else None,
        "farthest": str(residual.idxmax()) if len(residual) else None,
    }


@accounts.plot(
    title="What each account says the victim got",
    height=lambda answer: 0.8 + 0.36 * int(answer.frame["got_share"].notna().sum()),
    panels=lambda answer: [{}] if answer.frame["got_share"].notna().any() else [],
)
def _bars(ax: Axes, answer: Answer) -> None:
    from ...plots.marks import beside, label_rows

    known = answer.frame.dropna(subset=["got_share"])
    known = 100 * known[["got_share", "resolution_share"]].astype(float)
    known = known.loc[[name for name in _ORDER if name in known.index]]
    for place, (name, got, step) in enumerate(known.itertuples()):
        color = ESTIMATE["work"] if name == "work" else TASK
        ax.barh(place, got, 0.64, color=color, edgecolor=FAINT, linewidth=0.5)
        if step >= 0.2:
            ax.errorbar(got, place, xerr=step, color=INK, capsize=2.5, linewidth=0.9)
        inside = got > _SHORT
        x = 0 if inside else got + max(step, 0)
        color = "white" if inside and name == "work" else INK
        beside(ax, share(got / 100), x, place, color=color, fontweight="bold")
    if "work" in known.index:
        work = float(known["got_share"]["work"])
        ax.axvline(work, color=ESTIMATE["work"], linewidth=1, linestyle="--")
    names: Any = environment().get_template(_NAMES).module
    label_rows(ax, [names.name(account).strip() for account in known.index])
    ax.set_xlim(0, 105)
    ax.set_xlabel("share of wall time the victim got, %")
    ax.spines["left"].set_visible(False)
