# The stays of ksoftirqd and of NAPI's threads, put together into stretches of work, and what they
# were woken for.

from typing import Any

import pandas as pd

from ...spans import Spans
from ..batches.kernel_limits import KernelLimits
from ..batches.paired import stopped_by
from ..batches.rounds import runs_of
from .waiting import held_in, runnable

# ktimers (timers on PREEMPT_RT) and vhost are scheduled as well, but the network's softirqs are not
# handed over to them; irq threads run what is theirs from the start.
_THREADS = ("ksoftirqd/", "napi/", "backlog_napi/")
# From the last softirq's exit, or the raise, to the wake-up: 3 us in the sample data, 15 emulated.
_WAKE_NS = 50_000
# Softirqs so much older than a window's end may be those before a wake-up in the next.
_REACH_NS = 50_000_000
_PARTS = ("softirq_ns", "poll_ns")
_STAY = ("cpu", "tid", "comm", "in_ns", "out_ns", "wake_ns", "wait_ns", "prev_state")


def stays_of(slices: pd.DataFrame) -> pd.DataFrame:
    # The slices of these threads.
    comm = slices["comm"].astype("string")
    return slices[comm.str.startswith(_THREADS).fillna(False).astype(bool) & slices["tid"].notna()]


class Gathered:
    # What the windows of a timeline hold of these threads.
    def __init__(self) -> None:
        self.stays: list[pd.DataFrame] = []
        self.polls: list[pd.DataFrame] = []
        self.wakes: list[pd.DataFrame] = []
        self._recent: tuple[pd.DataFrame, pd.DataFrame] | None = None

    def add(
        self,
        ours: pd.DataFrame,
        softirqs: pd.DataFrame,
        hardirqs: pd.DataFrame,
        polls: pd.DataFrame,
        end_ns: int,
    ) -> None:
        # ours: their stays; end_ns: of the window that the rows are of.
        stays = ours[[*_STAY, *_PARTS]].astype({"comm": object, "tid": "int64"})
        self.stays.append(stays)
        polls = polls[polls["tid"].isin(stays["tid"])]
        self.polls.append(polls[["cpu", "tid", "end_ns", "work", "napi"]])
        if self._recent is not None:
            softirqs = pd.concat([self._recent[0], softirqs]).drop_duplicates(["cpu", "ordinal"])
            hardirqs = pd.concat([self._recent[1], hardirqs])
        self.wakes.append(wakes_of(stays, softirqs, hardirqs))
        since_ns = end_ns - _REACH_NS
        self._recent = _after(softirqs, since_ns), _after(hardirqs, since_ns)


def _after(rows: pd.DataFrame, since_ns: int) -> pd.DataFrame:
    return rows[(rows["exit_ns"] > since_ns).fillna(True)]


def wakes_of(stays: pd.DataFrame, softirqs: pd.DataFrame, hardirqs: pd.DataFrame) -> pd.DataFrame:
    # What came right before each wake-up: cpu, tid, wake_ns; call_ns, rounds, on_comm of the run of
    # softirqs that ended then, NA where none did or what the thread ran first was raised after
    # them; and raised_ns, when that was.
    woken = stays[stays["wake_ns"].notna()][["cpu", "tid", "wake_ns", "in_ns"]].astype("int64")
    woken = woken.sort_values("wake_ns", kind="stable")
    _, runs = runs_of(softirqs, hardirqs)
    names = {"end_ns": "exit_ns", "wall_ns": "call_ns", "rounds_made": "rounds", "comm": "on_comm"}
    before = runs.rename(columns=names)[["cpu", *names.values()]].astype(
        {"cpu": "int64", "on_comm": object, "call_ns": "Int64", "rounds": "Int64"}
    )
    found = pd.merge_asof(
        woken,
        before.sort_values("exit_ns", kind="stable"),
        left_on="wake_ns",
        right_on="exit_ns",
        by="cpu",
        tolerance=_WAKE_NS,
    )
    ran = softirqs[softirqs["entry_ns"].notna() & softirqs["tid"].notna()]
    ran = ran[["tid", "entry_ns", "raise_ns"]].astype({"tid": "int64", "entry_ns": "int64"})
    found = pd.merge_asof(
        found.sort_values("in_ns", kind="stable"),
        ran.sort_values("entry_ns", kind="stable"),
        left_on="in_ns",
        right_on="entry_ns",
        by="tid",
        direction="forward",
    )
    found["raised_ns"] = found["raise_ns"].astype("Int64")
    later = (found["raised_ns"] > found["exit_ns"]) & (found["raised_ns"] <= found["wake_ns"])
    later = later.fillna(False).astype(bool)
    for name in ("call_ns", "rounds", "on_comm"):
        found[name] = found[name].mask(later)
    return found[["cpu", "tid", "wake_ns", "call_ns", "rounds", "on_comm", "raised_ns"]]


def handovers_of(
    threads: Gathered, held: Spans, limits: KernelLimits
) -> tuple[pd.DataFrame, pd.DataFrame]:
    # The stays of stretches with network work, with the number of theirs (handover), and those
    # stretches.
    keys = ["cpu", "tid", "comm", "in_ns"]
    rows = pd.concat(threads.stays)
    # A stay that a window's edge cuts is in both, with its parts divided.
    group = rows.groupby(keys)
    parts = group[["wake_ns", "wait_ns"]].first().join(group["prev_state"].last())
    parts = parts.join(group["out_ns"].max()).join(group[list(_PARTS)].sum())
    stays = parts.reset_index()
    stays = stays.sort_values(["tid", "in_ns"], kind="stable", ignore_index=True)
    spans = stays.rename(columns={"in_ns": "start_ns", "out_ns": "end_ns"})
    stays["network_ns"] = held_in(held, spans)
    same = (stays["tid"] == stays["tid"].shift()) & (stays["cpu"] == stays["cpu"].shift())
    goes_on = same & runnable(stays["prev_state"]).shift(fill_value=False)
    stays["stretch"] = (~goes_on).cumsum()
    worked = stays.groupby("stretch")["network_ns"].transform("sum") > 0
    stays = stays[worked].copy()
    began = stays.groupby("stretch")["in_ns"].transform("min")
    order = pd.DataFrame({"began": began, "stretch": stays["stretch"]}).drop_duplicates()
    in_time = order.sort_values(["began", "stretch"])["stretch"]
    numbers = {stretch: number for number, stretch in enumerate(in_time)}
    stays["handover"] = stays["stretch"].map(numbers).astype("int64")
    return stays, _described(stays, threads, limits)


def _described(stays: pd.DataFrame, threads: Gathered, limits: KernelLimits) -> pd.DataFrame:
    group = stays.assign(on_cpu_ns=stays["out_ns"] - stays["in_ns"]).groupby("handover")
    frame = group[["cpu", "tid", "comm", "wake_ns"]].first()
    frame["start_ns"], frame["end_ns"] = group["in_ns"].first(), group["out_ns"].last()
    frame["wall_ns"] = frame["end_ns"] - frame["start_ns"]
    for name in ("on_cpu_ns", "network_ns", "softirq_ns"):
        frame[name] = group[name].sum()
    frame["stays"] = group.size()
    # Of the first stay alone, and of the last; NA too.
    first = stays.drop_duplicates("handover").set_index("handover")
    for name, of in (("wake_ns", "wake_ns"), ("wake_delay_ns", "wait_ns")):
        frame[name] = first[of].astype("Int64")
    state = stays.drop_duplicates("handover", keep="last").set_index("handover")["prev_state"]
    frame["cut"] = (state.isna() | runnable(state)).reindex(frame.index)
    frame["polls"], frame["packets"] = _polled(stays, frame, pd.concat(threads.polls))
    wakes = pd.concat(threads.wakes).drop_duplicates(["cpu", "tid", "wake_ns"])
    wakes = wakes.astype({"wake_ns": "Int64", "cpu": frame["cpu"].dtype})
    came = frame[["cpu", "tid", "wake_ns"]].merge(wakes, "left", on=["cpu", "tid", "wake_ns"])
    came.index = frame.index
    asked = frame[["comm", "wake_ns"]].join(came[["call_ns", "raised_ns"]])
    rounds, call_ns = came["rounds"].fillna(0), came["call_ns"].fillna(0)
    asked["limit"] = stopped_by(rounds, call_ns, limits)
    frame["wake_reason"] = [_wake_reason(*row) for row in asked.itertuples(index=False)]
    for name in ("rounds", "call_ns"):
        frame[name] = came[name].astype("Int64")
    frame["on_comm"] = came["on_comm"].astype(object).where(came["on_comm"].notna(), None)
    return frame


def _wake_reason(comm: str, wake_ns: Any, call_ns: Any, raised_ns: Any, limit: str) -> str:
    if not comm.startswith("ksoftirqd/"):
        return "napi_schedule"
    if pd.isna(wake_ns):
        return "unknown"
    if pd.notna(call_ns):
        return limit
    # raise_softirq_irqoff wakes it where no interrupt's exit would run the softirq.
    near = pd.notna(raised_ns) and 0 <= int(wake_ns) - int(raised_ns) <= _WAKE_NS
    return "raise" if near else "unknown"


def _polled(
    stays: pd.DataFrame, frame: pd.DataFrame, polls: pd.DataFrame
) -> "tuple[pd.Series[int], pd.Series[int]]":
    # Polls that ended in the stays of each, and their packets: NA where work was not recorded.
    ended = polls.drop_duplicates(["cpu", "tid", "end_ns", "napi"])[["tid", "end_ns", "work"]]
    ended = ended.astype({"tid": "int64", "end_ns": "int64"}).sort_values("end_ns", kind="stable")
    spans = stays[["tid", "in_ns", "out_ns", "handover"]].sort_values("in_ns", kind="stable")
    found = pd.merge_asof(ended, spans, left_on="end_ns", right_on="in_ns", by="tid")
    found = found[found["end_ns"] <= found["out_ns"]]
    group = found.groupby("handover")["work"]
    count = group.size().reindex(frame.index, fill_value=0).astype("int64")
    packets = group.sum(min_count=1).reindex(frame.index).astype("Int64").where(count > 0, 0)
    unknown = found[found["work"].isna()]["handover"].unique()
    return count, packets.mask(frame.index.isin(unknown))
