# Why each account of the victim's time can be wrong, under the configuration of the kernel that
# kept it: the figures of reasons.md.

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...capture.accounting import tick_ms
from ...capture.manifest import Victim
from ...display.templates import as_text, render
from ..got_shares import baseline_got
from .counts import Counted, counted
from .side_by_side import wall_s

if TYPE_CHECKING:
    from ...capture.bundle import Bundle
    from ...timeline.timeline import Timeline

# More steal than this share of time is mentioned with every figure.
STEAL_LIMIT = 0.01
# Mentioned from this share without a known owner on, and where something took so many times as long
# as the run.
_UNKNOWN, _LONGER = 0.005, 1.1
_WORDS = Path(__file__).with_name("reasons.md")


def doubts_of(
    bundle: "Bundle", timeline: "Timeline | None", counts: Counted, untraced: str
) -> dict[str, Any]:
    # Of the run, for every account; None for what is not worth mentioning.
    victim, config = bundle.victim or Victim(), bundle.kernel_config
    regime, wall = bundle.accounting, wall_s(bundle)
    # openssl starts before it counts, and reads its clock after; on a slow host that is long.
    asked = sum(run.asked_s for run in bundle.speed_runs)
    unknown = (timeline.unknown_cpu_share if timeline else None) or 0.0
    alone = steal = None
    if bundle.baseline is not None:
        alone = baseline_got(bundle)
        steal = counted(bundle.baseline).steal_share
    return {
        "regime": regime.regime if regime else "",
        "tick_ms": tick_ms(config),
        "run_known": None not in (victim.start_ns, victim.end_ns),
        "untraced": untraced,
        "attached": victim.attached is not None,
        "unknown_share": unknown if unknown >= _UNKNOWN else None,
        "wall_s": wall,
        "asked_s": asked if asked and wall > _LONGER * asked else None,
        "stat_s": counts.stat_s if counts.stat_s > _LONGER * wall else None,
        "baseline_share": alone,
        "baseline_steal_share": worth_saying(steal),
    }


def worth_saying(steal: float | None) -> float | None:
    return steal if steal is not None and steal > STEAL_LIMIT else None


def why(estimate: str, doubts: dict[str, Any], steal: float, hidden_from: str) -> str:
    # One sentence or two for a row of the table.
    figures = {"estimate": estimate, "steal_share": worth_saying(steal), "hidden_from": hidden_from}
    return as_text(render(_WORDS, doubts | figures))
