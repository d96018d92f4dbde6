# Groups of rows: pandas says the same of the tables, and lengths are those of the rows.

from typing import Any

import numpy as np
import pandas as pd
import pytest

import netcost_analysis as netcost
from netcost_analysis.questions.devices.device_lines import Raised
from netcost_analysis.questions.energy.energy_by_owner import Wakeups
from netcost_analysis.stats.histogram import spread_of
from netcost_analysis.timeline.group import KNOWN, Binned, Grouping, aggregates, computed, grouped
from netcost_analysis.timeline.owners import NO_DEVICE
from support.host import SAMPLES as SAMPLES_FOLDER
from support.kept import kept

SAMPLES = ("nic-stolen-time", "local-migrations.netcost.tar.zst")
SUMS = {"work": "packets", "self_ns": "ns"}
ASKED: list[dict[str, Any]] = [
    {"rows": "polls", "by": ("device", "cpu", "budget", "work"), "sums": ("self_ns",)},
    {"rows": "polls", "by": ("napi",), "sums": ("work",), "known": ("start_ns", "work")},
    {"rows": "polls", "by": ("tid", "comm", "cost_class"), "lengths": "self_ns"},
    {"rows": "softirqs", "by": ("action", "origin", "in_kthread"), "lengths": "self_ns"},
    {"rows": "softirqs", "by": ("cpu",), "sums": ("polls", "packets", "outside_polls_ns")},
    {"rows": "hardirqs", "by": ("irq", "name", "context", "device"), "sums": ("self_ns",)},
    {"rows": "slices", "by": ("cpu", "prev_state"), "known": ("wait_ns",), "lengths": "wait_ns"},
    {"rows": "slices", "by": ("tid", "comm"), "sums": ("task_ns",), "block": ("out_ns", 10**7)},
    {"rows": "migrations", "by": ("comm", "cause", "orig_cpu", "dest_cpu")},
    {"rows": "segments", "by": ("context", "is_network", "cost_class", "tid", "comm")},
    {"rows": "softirqs", "by": ("action", "in_kthread"), "edges": (("packets", (1, 64, 300)),)},
]


def rows_of(timeline: netcost.Timeline, name: str) -> pd.DataFrame:
    rows: pd.DataFrame = getattr(timeline, name).copy()
    for column in rows:
        if isinstance(rows[column].dtype, pd.CategoricalDtype):
            rows[column] = rows[column].astype(object).where(rows[column].notna(), None)
    if name == "polls":
        rows["device"] = rows["device"].fillna(NO_DEVICE)
    return rows


def by_pandas(rows: pd.DataFrame, asked: dict[str, Any]) -> pd.DataFrame:
    by = list(asked["by"])
    if "block" in asked:
        at, width = asked["block"]
        rows, by = rows.assign(block=rows[at] // width), [*by, "block"]
    for name, edges in asked.get("edges", ()):
        place = np.searchsorted(edges, rows[name], side="right")
        rows, by = rows.assign(**{f"{name}_place": place}), [*by, f"{name}_place"]
    groups = rows.groupby(by, dropna=False)
    found = {asked["rows"]: groups.size()}
    found |= {SUMS.get(one, one): groups[one].sum() for one in asked.get("sums", ())}
    found |= {f"{one}_known": groups[one].count() for one in asked.get("known", ())}
    return pd.DataFrame(found).reset_index().sort_values(by, kind="stable", ignore_index=True)


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: "-".join((asked["rows"], *asked["by"])))
def test_groups_are_those_of_the_table(sample: str, asked: dict[str, Any]) -> None:
    timeline = kept(sample).timeline()
    rows = rows_of(timeline, asked["rows"])
    wanted = Grouping(**asked)
    found = grouped(wanted, aggregates(timeline, [wanted])[0])
    expected = by_pandas(rows, asked)
    assert list(found.frame) == list(expected)
    for name in asked["by"]:
        # pandas makes floats of a column of nulls.
        expected[name] = expected[name].astype(found.frame[name].dtype)
        expected[name] = expected[name].where(expected[name].notna(), None)
    pd.testing.assert_frame_equal(found.frame, expected, check_dtype=False)
    if "lengths" not in asked:
        with pytest.raises(ValueError, match="no lengths"):
            _ = found.lengths
        return
    known = rows[rows[asked["lengths"]].notna()]
    values = (
        known[asked["lengths"]]
        .astype("int64")
        .groupby([known[one] for one in asked["by"]], dropna=False)
    )
    spread = spread_of(found.lengths)
    assert found.lengths.totals["total"].to_list() == values.sum().to_list()
    assert spread["longest_ns"].to_list() == values.max().to_list()
    assert spread["p90_ns"].to_list() == pytest.approx(values.quantile(0.9).to_list())


def test_only_rows_within_count() -> None:
    timeline = kept("nic-stolen-time").timeline(start_s=3.6, end_s=3.8)
    middle = int(timeline.polls["end_ns"].median())
    found = timeline.group(
        "polls", ["device"], sums=["work"], where={"end_ns": (None, middle), "self_ns": KNOWN}
    ).frame
    rows = rows_of(timeline, "polls")
    rows = rows[(rows["end_ns"] <= middle) & rows["self_ns"].notna()]
    assert found.set_index("device")["polls"].to_dict() == rows.groupby("device").size().to_dict()
    assert found["packets"].sum() == rows["work"].sum()
    rx = timeline.group("softirqs", ["cpu", "is_dispatch"], where={"action": "NET_RX"}).frame
    softirqs = timeline.softirqs
    assert rx["softirqs"].sum() == (softirqs["action"] == "NET_RX").sum()
    assert not len(timeline.group("softirqs", ["cpu"], where={"action": "NO_SUCH"}).frame)


WRONG: list[tuple[str, Any, dict[str, Any], str]] = [
    ("poll", ["cpu"], {}, "no rows to group 'poll'"),
    ("polls", ["core"], {}, "polls have no column 'core'"),
    ("polls", ["cpu", "tid", "comm", "napi", "device", "work", "budget"], {}, "6 columns"),
    ("polls", ["device", "device"], {}, "'device' is named twice"),
    ("polls", "device", {}, "by must be a list of columns"),
    ("polls", [], {}, "by names no column"),
    ("polls", ["cpu"], {"sums": "work"}, "sums must be a list of columns"),
    ("polls", ["cpu"], {"sums": ["device"]}, "'device' of polls is not a number"),
    ("polls", ["cpu"], {"lengths": "comm"}, "'comm' of polls is not a number"),
    ("polls", ["cpu"], {"block": ("device", 5)}, "'device' of polls is not a number"),
    ("polls", ["cpu"], {"block": ("end_ns", 0)}, "a block has to be longer"),
    ("polls", ["cpu"], {"block": "end_ns"}, "block must be a column of times"),
    ("polls", ["cpu"], {"block": ("end_ns", 1e9)}, "block must be a column of times"),
    ("polls", ["cpu"], {"lengths": ["work"]}, "lengths must be a column"),
    ("polls", ["cpu"], {"edges": ["work"]}, "edges must be values by column"),
    ("polls", ["cpu"], {"edges": {"work": [2, 1]}}, "edges: work must be whole numbers"),
    ("polls", ["cpu"], {"edges": {"work": [1, 1]}}, "edges: work must be whole numbers"),
    ("polls", ["cpu"], {"edges": {"work": [1.5]}}, "edges: work must be whole numbers"),
    ("polls", ["cpu"], {"edges": {"work": [2**63]}}, "edges: work must be whole numbers"),
    ("polls", ["cpu"], {"edges": {"work": 64}}, "edges: work must be whole numbers"),
    ("polls", ["cpu"], {"edges": {"device": [1]}}, "'device' of polls is not a number"),
    ("polls", ["cpu"], {"ends": ["device"]}, "'device' of polls is not a number"),
    ("polls", ["cpu"], {"where": {"work": 64}}, "where: work must be"),
    ("polls", ["cpu"], {"where": {"work": "x"}}, "'work' of polls is a number"),
    ("polls", ["cpu"], {"where": {"device": (1, 2)}}, "'device' of polls is a text"),
]


@pytest.mark.parametrize(("rows", "by", "more", "wrong"), WRONG)
def test_what_is_no_grouping_is_refused_with_a_line(
    rows: str, by: Any, more: dict[str, Any], wrong: str
) -> None:
    with pytest.raises((netcost.CaptureError, ValueError), match=wrong):
        kept("nic-stolen-time").timeline().group(rows, by, **more)


def total(timeline: netcost.Timeline, rows: str, column: str) -> tuple[int, int]:
    found = timeline.group(rows, ["cpu"], sums=[column], known=[column]).frame
    return int(found[f"{column}_known"].sum()), int(found[column].sum())


# Columns of what lies before a row, as pandas has them of the tables.
@pytest.mark.parametrize("sample", SAMPLES)
def test_what_was_before_a_row_is_that_of_the_table(sample: str) -> None:
    timeline = kept(sample).timeline()
    irqs = rows_of(timeline, "hardirqs").dropna(subset=["entry_ns"])
    irqs = irqs.astype({"entry_ns": "int64"}).sort_values(["cpu", "entry_ns"])
    gaps = irqs.groupby(["cpu", "context", "irq", "name"], dropna=False)["entry_ns"].diff()
    if not len(timeline.coverage):
        assert total(timeline, "hardirqs", "gap_ns") == (gaps.count(), gaps.sum())

    polls = timeline.polls.dropna(subset=["softirq_ordinal"])
    full = (polls["work"] == polls["budget"]) & (polls["budget"] > 0)
    ends = polls.groupby(["cpu", "softirq_ordinal"])["end_ns"].max()
    softirqs = timeline.softirqs.set_index(["cpu", "ordinal"])["entry_ns"]
    polled = (ends - softirqs.reindex(ends.index)).dropna()
    assert total(timeline, "softirqs", "polled_ns") == (len(polled), polled.sum())
    assert total(timeline, "softirqs", "full_polls")[1] == full.sum()

    stays = timeline.slices
    stays = stays[(stays["tid"].fillna(0) != 0).to_numpy()].sort_values(["tid", "in_ns"])
    before = stays.groupby("tid")[["out_ns", "prev_state"]].shift()
    window = [int(timeline.summary[name]) for name in ("start_ns", "end_ns")]
    begun = (stays["in_ns"] - stays["wait_ns"].fillna(0)).clip(*window)
    asleep = begun - before["out_ns"].clip(*window)
    left = before["prev_state"].fillna(0).astype("int64")
    known = (stays["wait_ns"].notna() | (left & 0xFF > 0)) & before["prev_state"].notna()
    known &= (asleep > 0).fillna(False)
    assert total(timeline, "slices", "asleep_ns") == (known.sum(), asleep[known].sum())
    assert total(timeline, "slices", "left_state")[0] == before["prev_state"].count()


# As tuples all of these are equal.
def test_aggregates_of_other_kinds_with_equal_values_are_kept_apart() -> None:
    wanted = Binned(10_000_000), Wakeups(10_000_000), Raised(10_000_000)
    timeline = netcost.open_capture(SAMPLES_FOLDER / "nic-stolen-time").timeline()
    apart = [computed(timeline, one)[0] for one in wanted]
    together = computed(netcost.open_capture(timeline.capture.path).timeline(), *wanted)
    for tables in (apart, together):
        assert [*map(set, tables)] == [
            {"sums"},
            {"wakeups", "idle"},
            {"raised", "polled", "devices", "instances"},
        ]
