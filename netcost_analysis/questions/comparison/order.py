# In which order runs were made.

from ...comparison.comparison import Comparison
from ...comparison.run import Run
from ...parsers.host import Snapshot


def in_order(comparison: Comparison, runs: dict[str, list[Run]]) -> list[tuple[str, Run]] | None:
    # These runs of both sides, each with its side, the first one first; None where that is not
    # known: by the rows of their experiments, else by when the recorder read its host's clock.
    every = [(side, run) for side, some in runs.items() for run in some]
    places = [run.place for _, run in every]
    began = {place[0] for place in places if place is not None}
    if None not in places and (len(began) == 1 or "" not in began):
        return sorted(every, key=lambda one: one[1].place or ("", 0))
    starts = [_started(run) for _, run in every]
    hosts = {host for _, host in starts if host}
    if len(hosts) > 1 or any(at is None for at, _ in starts):
        return None
    order = sorted(range(len(every)), key=lambda at: starts[at][0] or 0)
    return [every[at] for at in order]


def _started(run: Run) -> tuple[int | None, str]:
    # ns since the epoch, and the host's name.
    bundle = run.captures[0].bundle if run.is_recorded else None
    if bundle is None:
        return None, ""
    lines = (bundle.text("before/settings/hostname") or "").split("\n")
    settings = Snapshot({"stamp": bundle.text("before/settings/stamp") or ""})
    stamp = bundle.before.stamp or settings.stamp
    return stamp.get("realtime_ns"), lines[0]
