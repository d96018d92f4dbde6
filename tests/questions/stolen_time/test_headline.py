# The report's own figures against the package's: parts partition a victim's time, thieves add up to
# what it lost, bins to both; and which interrupt is shown.

import pandas as pd
import pytest

import netcost_analysis as netcost
from netcost_analysis.errors import ArgumentError
from netcost_analysis.questions.stolen_time.example import choose
from netcost_analysis.questions.stolen_time.headline import beyond, parts_of
from netcost_analysis.timeline.owners import KIND_COLUMNS
from netcost_analysis.units import duration
from support.asked import rolling_stolen, stolen
from support.kept import kept

SAMPLES = ["nic-stolen-time", "veth-stolen-time"]


@pytest.fixture(scope="module", params=SAMPLES)
def timeline(request: pytest.FixtureRequest) -> netcost.Timeline:
    return kept(request.param).timeline()


def test_parts_partition_every_victims_time_on_cpu(timeline: netcost.Timeline) -> None:
    losses = stolen(timeline).victims
    assert len(losses) > 10
    for victim, row in losses.iterrows():
        parts = parts_of(timeline, str(victim)).set_index("part")["ns"]
        assert parts.sum() == row["on_cpu_ns"]
        assert parts.get("own", 0) == row["task_ns"]
        assert parts.get("stolen_network", 0) == row["stolen_network_ns"]
        taken = parts[parts.index.str.startswith("stolen")]
        assert taken.sum() == row["stolen_max_ns"] - row["stolen_unrecorded_ns"]
        assert parts.get("unknown", 0) == row["unknown_ns"]


# What the picture over time stacks: a partition of each bin, and of the whole.
def test_bins_add_up_to_the_time_on_cpu(timeline: netcost.Timeline) -> None:
    bins = rolling_stolen(timeline, 7_000_000, 7_000_000, victim="openssl")
    row = stolen(timeline).victims.loc["openssl"]
    kinds = bins[list(KIND_COLUMNS.values())]
    assert (kinds.sum(axis=1) == bins["stolen_max_ns"]).all()
    rest = bins[["task_ns", "synchronous_ns", "scheduled_ns", "unknown_ns"]].sum(axis=1)
    assert (kinds.sum(axis=1) + rest == bins["on_cpu_ns"]).all()
    assert bins["on_cpu_ns"].sum() == row["on_cpu_ns"]
    assert (bins["on_cpu_ns"] <= 7_000_000).all()


def test_the_headline_is_in_the_answer(timeline: netcost.Timeline) -> None:
    row = stolen(timeline).victims.loc["openssl"]
    thieves = timeline.ask.stolen_time.thieves(victim="openssl").tables["by_thief"]
    found = timeline.ask.stolen_time.headline()
    told = found["of_victim"]
    assert found.frame["ns"].sum() == row["on_cpu_ns"]
    for name in ("stolen", "stolen_max", "stolen_network", "stolen_network_max"):
        assert told[f"{name}_share"] == row[f"{name}_ns"] / row["on_cpu_ns"]
        assert told[f"{name}_ns"] == row[f"{name}_ns"]
    assert row["task_min_ns"] == row["task_ns"] - row["stolen_unrecorded_ns"]
    taken = thieves[thieves["device"].notna()].groupby("device")["stolen_max_ns"].sum()
    assert len(taken)
    assert all(f" {duration(ns)}" in found.words for ns in taken)


# By hand: 1,000 on CPU, of which 700 ran.
def test_the_headlines_figures() -> None:
    row = {
        "on_cpu_ns": 1_000,
        "task_min_ns": 690,
        "task_ns": 700,
        "stolen_ns": 300,
        "stolen_unrecorded_ns": 10,
        "monitor_ns": 900,
        "unknown_ns": 0,
        "unknown_max_ns": 5,
    }
    # Less than half a percent is left to the tables.
    assert beyond(row, (0, 900)) == {
        "task_min_share": 0.69,
        "task_share": 0.7,
        "unseen_ns": 5,
        "unrecorded_ns": 10,
        "undercharged_ns": 100,
        "overcharged_ns": 200,
        "shown_min_ns": 0,
        "shown_max_ns": 900,
    }
    nobody = beyond({**row, "on_cpu_ns": None}, None)
    assert pd.isna([nobody["task_min_share"], nobody["task_share"]]).all()


def test_the_victim_is_the_bundles(timeline: netcost.Timeline) -> None:
    assert timeline.victim == "openssl"
    other = timeline.capture.timeline(victim="cat")
    assert other.victim == "cat"
    named = timeline.ask.stolen_time.headline(victim="cat")
    assert named.words == other.ask.stolen_time.headline().words
    assert "cat" in named.words
    assert named.frame["ns"].tolist() == parts_of(timeline, "cat")["ns"].tolist()


# An unknown name is refused wherever a victim is chosen, and the nearest are named.
def test_a_victim_that_did_not_run() -> None:
    timeline = kept(SAMPLES[0]).timeline()
    for name in ("headline", "thieves", "example", "over_time", "rolling_stolen", "episodes"):
        with pytest.raises(ArgumentError, match=r"'opensl'.* openssl"):
            timeline.ask(name, victim="opensl")
    with pytest.raises(ArgumentError, match=r"'opensl'.* openssl"):
        _ = timeline.capture.timeline(victim="opensl").victim


def softirq(entry: int, length: int, **fields: object) -> dict[str, object]:
    usual = {"cpu": 0, "action": "NET_RX", "comm": "openssl", "cost_class": "stolen", "polls": 1}
    return {"entry_ns": entry, "exit_ns": entry + length, **usual, **fields}


def chosen(*rows: dict[str, object]) -> tuple[int, str] | None:
    frame = pd.DataFrame(list(rows) or [softirq(0, 0)]).iloc[: len(rows)]
    frame = frame.astype({"entry_ns": "Int64", "exit_ns": "Int64"})
    found = choose(frame, "openssl")
    return (int(found[0]["entry_ns"]), found[1]) if found else None


def test_the_interrupt_shown_is_a_typical_one_of_the_victim() -> None:
    own = [softirq(100, 5), softirq(200, 9), softirq(300, 50)]
    others = [softirq(400, 9, comm="cat"), softirq(500, 9, cost_class="synchronous")]
    assert chosen(*others, *own) == (200, "stolen")


def test_of_equals_the_one_in_mid_capture() -> None:
    found = chosen(*(softirq(at, 9) for at in (100, 900, 510, 1_000, 120)))
    assert found is not None
    assert found[0] == 510


def test_without_a_stolen_one_the_next_best() -> None:
    timer = softirq(100, 5, action="TIMER", polls=0)
    steering = softirq(200, 5, polls=0)
    polled = softirq(300, 5, comm="cat")
    assert chosen(timer, steering, polled) == (300, "another's")
    assert chosen(timer, steering) == (200, "without poll")
    assert chosen(timer) == (100, "no NET_RX")
    assert chosen(softirq(100, 5, exit_ns=None)) is None
    assert chosen() is None
