# Windows, cost classes, thieves by queue and the effective share: on drawn timelines, as partitions
# of what stolen() says, and against perf's own text.

import json
from pathlib import Path

import pandas as pd
import pytest

import netcost_analysis as netcost
from netcost_analysis.questions import inputs
from netcost_analysis.questions.ledger import ledger
from netcost_analysis.questions.stolen import stolen
from netcost_analysis.questions.stolen_time import (
    cost_classes,
    effective_share,
    queues,
    rolling_stolen,
    thieves,
)
from netcost_analysis.questions.stolen_time.rolling_stolen import (
    largest_change,
    spread,
    unknown_in,
    usual,
)
from netcost_analysis.timeline.kinds import KIND_COLUMNS
from netcost_analysis.timeline.task import ALL
from support.host import SAMPLES
from support.kept import kept
from support.perfdata import Cpu, cpu, recording
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.printed import printed
from support.timelines import timeline
from support.told import IDLE, KSOFTIRQD, NET_RX, OPENSSL, UDPSINK

BUNDLES = ["nic-stolen-time", "stolen-time-top.netcost.tar.zst", "veth-stolen-time"]


@pytest.fixture(scope="module", params=BUNDLES)
def sample(request: pytest.FixtureRequest) -> netcost.Timeline:
    return kept(request.param).timeline()


# openssl |irq 32 10..30, NET_RX eth0 40..90|          |irq 33 230..250|     | udpsink | openssl
#         0                                 100       200               300  300..340  340    400
def told(first: int = 0) -> Cpu:
    return cpu(
        0,
        h.Waking(first, UDPSINK),
        h.IrqEntry(10, 32),
        h.SoftirqRaise(20, NET_RX),
        h.IrqExit(30, 32),
        h.SoftirqEntry(40, NET_RX),
        h.NapiPoll(80, "eth0", 3),
        h.SoftirqExit(90, NET_RX),
        h.IrqEntry(230, 33, "disk"),
        h.IrqExit(250, 33),
        h.Switch(300, UDPSINK, 0),
        h.Switch(340, OPENSSL, 1),
        h.Waking(400, UDPSINK),
        task=OPENSSL,
    )


def test_windows_roll(tmp_path: Path) -> None:
    line = timeline(tmp_path, told())
    origin = line.summary["start_ns"]
    assert origin % 100 == 0
    got = rolling_stolen(line, window_ns=200, step_ns=100, victim=ALL)
    assert (got["start_ns"] - origin).tolist() == [0, 100, 200]
    assert (got["end_ns"] - origin).tolist() == [200, 300, 400]
    assert got["on_cpu_ns"].tolist() == [200, 200, 200]
    # 20 of hardirq and 50 of softirq; 20 of the disk's.
    assert got["stolen_ns"].tolist() == [70, 20, 20]
    assert got["stolen_network_ns"].tolist() == [70, 0, 0]
    assert got["hardirq_ns"].tolist() == [20, 20, 20]
    # Of the softirq's 50 its poll ended after 40.
    assert got["poll_ns"].tolist() == [40, 0, 0]
    assert got["network_outside_polls_ns"].tolist() == [10, 0, 0]
    kinds = got[list(KIND_COLUMNS.values())]
    assert kinds.sum(axis=1).tolist() == got["stolen_max_ns"].tolist()
    assert got["task_ns"].tolist() == [130, 180, 180]
    assert got["stolen_cpu_share"].tolist() == pytest.approx([0.35, 0.1, 0.1])
    one = rolling_stolen(line, 200, 100, victim="openssl")
    assert one["on_cpu_ns"].tolist() == [200, 200, 160]
    assert one["stolen_share"].tolist() == pytest.approx([0.35, 0.1, 0.125])
    by = rolling_stolen(line, 200, 100, by="comm", victim=ALL).set_index(["comm", "start_ns"])
    assert by.loc[("udpsink", origin + 200), "on_cpu_ns"] == 40
    change = largest_change(got)
    assert change is not None
    assert [row["stolen_ns"] for row in change] == [70, 20]


# What is unknown from 100 to 200 is half of the windows that hold it.
def test_windows_say_how_much_is_known(tmp_path: Path) -> None:
    line = timeline(tmp_path, told())
    assert rolling_stolen(line, 200, 100, victim=ALL)["unknown_cpu_share"].tolist() == [
        0.0,
        0.0,
        0.0,
    ]
    sums = line.sums(100).copy()
    hole = (sums["bin_ns"] == sums["bin_ns"].min() + 100) & (sums["context"] == "task")
    sums.loc[hole, "context"] = "unknown"
    frame = rolling_stolen(line, 200, 100, victim=ALL)
    assert unknown_in(sums, frame, 100).tolist() == [0.5, 0.5, 0.0]


def test_windows_are_cut_where_the_timeline_is(tmp_path: Path) -> None:
    line = timeline(tmp_path, told(5))
    got = rolling_stolen(line, window_ns=300, step_ns=300, victim=ALL)
    assert (got["end_ns"] - got["start_ns"]).tolist() == [295, 100]
    assert got["on_cpu_ns"].tolist() == [295, 100]
    long = rolling_stolen(line, window_ns=9_000, step_ns=3_000, victim=ALL)
    assert (long["end_ns"] - long["start_ns"]).tolist() == [395]


def test_windows_that_cannot_be(tmp_path: Path) -> None:
    line = timeline(tmp_path, told())
    with pytest.raises(ValueError, match="no whole number of steps"):
        rolling_stolen(line, 250, 100)
    with pytest.raises(ValueError, match="by="):
        rolling_stolen(line, by="comn")  # type: ignore[arg-type]


# Of eleven windows a tenth, two tenths, ... of one percent; two more cannot be compared: the victim
# came in one, and most of another is unknown.
def test_the_spread_is_of_windows_that_can_be_compared() -> None:
    frame = pd.DataFrame(
        {
            "start_ns": [100 * number for number in range(13)],
            "end_ns": [100 * number + 100 for number in range(13)],
            "on_cpu_ns": pd.array([100] * 12 + [40], dtype="Int64"),
            "lifetime_ns": pd.array([100] * 12 + [40], dtype="Int64"),
            "unknown_cpu_share": [0.0] * 11 + [0.5, 0.0],
            "stolen_max_share": [number / 1000 for number in range(11)] + [0.9, 0.9],
        }
    )
    assert len(usual(frame)) == 11
    assert spread(frame) == pytest.approx((0.001, 0.009, 0.010))
    assert spread(frame[:4]) is None
    assert spread(frame.assign(stolen_max_share=0.0)) is None


def test_windows_of_nothing(tmp_path: Path) -> None:
    line = timeline(tmp_path, cpu(0, h.Waking(5, UDPSINK), task=OPENSSL))
    assert len(rolling_stolen(line)) == 0
    assert len(rolling_stolen(line, by="tid")) == 0


def test_windows_without_switches(tmp_path: Path) -> None:
    formats = (*t.IRQ_FORMATS, t.NAPI_POLL)
    got = rolling_stolen(timeline(tmp_path, told(), formats=formats), 200, 100)
    assert got["on_cpu_ns"].isna().all()
    assert got["stolen_share"].isna().all()
    assert got["stolen_cpu_share"].notna().all()


def test_windows_of_one_step_add_up(sample: netcost.Timeline) -> None:
    width = 7_000_000
    losses = stolen(sample).victims
    got = rolling_stolen(sample, width, width, by="comm", victim=ALL).groupby("comm")
    for name in ("on_cpu_ns", "task_ns", "stolen_ns", "stolen_max_ns", "unknown_ns"):
        summed = got[name].sum()
        # When softirqs ran that were not recorded nobody knows: they are in no window.
        unseen = losses["stolen_unrecorded_ns"] if name == "stolen_max_ns" else 0
        assert summed.to_dict() == (losses[name] - unseen).loc[summed.index].to_dict()
    wide = rolling_stolen(sample, 5 * width, width, victim=ALL)
    steps = rolling_stolen(sample, width, width, victim=ALL)["stolen_ns"].to_numpy()
    assert wide["stolen_ns"].tolist() == [steps[at : at + 5].sum() for at in range(len(wide))]
    assert wide["end_ns"].iloc[-1] == sample.summary["end_ns"]


def test_classes_by_hand(tmp_path: Path) -> None:
    got = cost_classes(timeline(tmp_path, told()))
    rows = {(row.comm, row.cost_class, row.is_network): row.ns for row in got.itertuples()}
    assert rows == {
        ("openssl", "own", None): 270,
        ("openssl", "stolen", "yes"): 70,
        ("openssl", "stolen", "no"): 20,
        ("udpsink", "own", None): 40,
    }
    shares = got.set_index(["comm", "cost_class", "is_network"])["on_cpu_share"]
    assert shares[("openssl", "stolen", "yes")] == pytest.approx(70 / 360)


def test_classes_of_idle_and_kernel_threads(tmp_path: Path) -> None:
    got = cost_classes(
        timeline(
            tmp_path,
            cpu(
                0,
                h.IrqEntry(0, 32),
                h.IrqExit(30, 32),
                h.Switch(100, KSOFTIRQD, 0),
                h.SoftirqEntry(110, NET_RX),
                h.SoftirqExit(190, NET_RX),
                h.Switch(200, IDLE, 1),
                h.Waking(260, UDPSINK),
                task=IDLE,
            ),
        )
    )
    rows = {(row.comm, row.cost_class, row.is_network): row.ns for row in got.itertuples()}
    assert rows == {
        ("(idle)", "idle", None): 130,
        ("(idle)", "from_idle", "no"): 30,
        ("ksoftirqd/0", "scheduled", "unknown"): 20,
        ("ksoftirqd/0", "scheduled", "yes"): 80,
    }
    of_idle = got[got["comm"] == "(idle)"]["on_cpu_share"]
    assert of_idle.isna().all()


@pytest.mark.parametrize("by", ["comm", "tid", "cpu", "device"])
def test_classes_partition_all_time(sample: netcost.Timeline, by: str) -> None:
    got = cost_classes(sample, by)  # type: ignore[arg-type]
    inside = got[got["cost_class"] != "displaced"]
    assert inside["ns"].sum() == sample.duration_ns * len(sample.summary["cpus"])
    displaced = got[got["cost_class"] == "displaced"]
    assert displaced["ns"].sum() == sample.displaced["ns"].sum()
    assert not got.duplicated([name for name in got if name not in ("ns", "on_cpu_share")]).any()


def test_classes_are_stolens(sample: netcost.Timeline) -> None:
    got = cost_classes(sample)
    losses = stolen(sample).victims
    wide = got.pivot_table(index="comm", columns="cost_class", values="ns", aggfunc="sum")
    wide = wide.reindex(losses.index).fillna(0)
    for name in ("stolen", "synchronous", "scheduled", "displaced"):
        if name in wide:
            assert wide[name].astype(int).tolist() == losses[f"{name}_ns"].tolist()
    assert (wide["own"] <= losses["task_ns"]).all()
    shares = got.groupby("comm")["on_cpu_share"].sum().reindex(losses.index)
    assert shares[losses["on_cpu_ns"] > 0].to_numpy() == pytest.approx(1.0)


def test_thieves_add_up(sample: netcost.Timeline) -> None:
    got, losses = thieves(sample, victim=ALL), stolen(sample).victims
    totals = got.groupby("comm")[["stolen_ns", "stolen_max_ns"]].sum()
    some = losses.loc[totals.index]
    assert totals["stolen_ns"].tolist() == some["stolen_ns"].tolist()
    seen = some["stolen_max_ns"] - some["stolen_unrecorded_ns"]
    assert totals["stolen_max_ns"].tolist() == seen.tolist()
    by_thief = got[got["comm"] == "openssl"].groupby("thief")["stolen_max_ns"].sum()
    matrix = ledger(sample).max_ns.loc["openssl"]
    matrix = matrix[~matrix.index.str.endswith(", not recorded")]
    assert by_thief.to_dict() == matrix[matrix > 0].to_dict()


def test_queues_of_the_nic() -> None:
    line = kept("nic-stolen-time").timeline()
    got = thieves(line).set_index(["comm", "context", "queue"])
    named = line.irqs.set_index("irq")["name"].astype(str)
    for irq, name in named.items():
        queue = f"irq {irq} {name}"
        both = got.loc[[("openssl", kind, queue) for kind in ("hardirq", "poll")]]
        assert both["irq"].tolist() == [irq, irq]
        hardirq, poll = both["stolen_max_ns"]
        assert hardirq < poll
    polls = got.sort_index().loc[("openssl", "poll")]
    assert set(polls.index) == {f"irq {irq} {name}" for irq, name in named.items()}


# Which handler raised NET_RX, and whom it polled next: read off the lines of perf script.
def test_perf_script_pairs_the_same_lines_and_instances() -> None:
    seen: dict[tuple[str, str], int] = {}
    handler: dict[int, str | None] = {}
    raisers: dict[int, set[str]] = {}
    polled: dict[int, set[str]] = {}
    for number, _, _, event, text in printed("nic-stolen-time"):
        words = text.split()
        if event == "irq:irq_handler_entry":
            handler[number] = words[0].removeprefix("irq=")
        elif event == "irq:irq_handler_exit":
            handler[number] = None
        elif event == "irq:softirq_raise" and words[0] == "vec=3":
            raisers.setdefault(number, set()).add(handler.get(number) or "none")
        elif event == "irq:softirq_entry" and words[0] == "vec=3":
            asked = raisers.pop(number, set())
            polled[number] = set()
            handler[-1 - number] = next(iter(asked)) if len(asked) == 1 else None
        elif event == "napi:napi_poll" and number in polled:
            polled[number].add(words[5])
        elif event == "irq:softirq_exit" and words[0] == "vec=3":
            whom, line = polled.pop(number, set()), handler.get(-1 - number)
            if len(whom) == 1 and line not in (None, "none"):
                key = (str(line), next(iter(whom)))
                seen[key] = seen.get(key, 0) + 1
    got = queues(kept("nic-stolen-time").timeline())
    assert len(got) == 2
    for row in got.itertuples():
        counts = {napi: n for (line, napi), n in seen.items() if line == str(row.irq)}
        assert max(counts, key=lambda napi: counts[napi]) == hex(int(row.napi))  # type: ignore[arg-type]


def table(**columns: object) -> pd.DataFrame:
    return pd.DataFrame(columns)


# One line that raises two instances' polls is neither's; an instance that two raise, likewise.
def test_lines_that_are_shared_stay_unnamed() -> None:
    from netcost_analysis.questions.stolen_time.thieves import lines_of

    starts = [100, 200, 300, 400]
    softirqs = table(
        cpu=0,
        ordinal=[0, 1, 2, 3],
        raise_ns=pd.array([at + 5 for at in starts], dtype="Int64"),
        entry_ns=pd.array([at + 15 for at in starts], dtype="Int64"),
        polls=1,
    )
    hardirqs = table(
        cpu=0,
        entry_ns=pd.array(starts, dtype="Int64"),
        exit_ns=pd.array([at + 10 for at in starts], dtype="Int64"),
        irq=pd.array([32, 32, 33, 33], dtype="Int64"),
        name=["a", "a", "b", "b"],
        context="hardirq",
    )

    def named(*napi: int) -> dict[int, int]:
        polls = table(
            cpu=0,
            softirq_ordinal=pd.array([0, 1, 2, 3], dtype="Int64"),
            napi=pd.array(napi, dtype="UInt64"),
            device="eth0",
        )
        found = lines_of(softirqs, hardirqs, polls)
        return dict(zip(found["napi"].astype(int), found["irq"], strict=True))

    assert named(7, 7, 8, 8) == {7: 32, 8: 33}
    assert named(7, 8, 9, 9) == {9: 33}
    assert named(7, 7, 7, 7) == {}


# Recorded as in document 000, without the raises: the same lines.
@pytest.mark.parametrize("name", ["nic-stolen-time", "quiet-interface.netcost.tar.zst"])
def test_lines_are_the_same_without_raises(name: str) -> None:
    from netcost_analysis.questions.stolen_time.thieves import lines_of

    line = kept(name).timeline()
    softirqs = line.softirqs.assign(raise_ns=pd.array([pd.NA] * len(line.softirqs), dtype="Int64"))
    got = lines_of(softirqs, line.hardirqs, line.polls)
    known = queues(line)
    assert got[["napi", "irq"]].to_numpy().tolist() == known[["napi", "irq"]].to_numpy().tolist()


# A line that two of a hundred polls happened to be raised in is not theirs.
def test_a_coincidence_names_no_line() -> None:
    from netcost_analysis.questions.stolen_time.thieves import lines_of

    starts = [100 * number for number in range(100)]
    raised = [at + 5 if at < 200 else at + 50 for at in starts]
    softirqs = table(
        cpu=0,
        ordinal=range(100),
        raise_ns=pd.array(raised, dtype="Int64"),
        entry_ns=pd.array([at + 60 for at in starts], dtype="Int64"),
        polls=1,
    )
    hardirqs = table(
        cpu=0,
        entry_ns=pd.array([0, 100], dtype="Int64"),
        exit_ns=pd.array([10, 110], dtype="Int64"),
        irq=pd.array([32, 32], dtype="Int64"),
        name="a",
        context="hardirq",
    )
    polls = table(
        cpu=0,
        softirq_ordinal=pd.array(range(100), dtype="Int64"),
        napi=pd.array([7] * 100, dtype="UInt64"),
        device="eth0",
    )
    assert not len(lines_of(softirqs, hardirqs, polls))


def test_effective_share_by_hand(tmp_path: Path) -> None:
    got = effective_share(timeline(tmp_path, told())).loc["openssl"]
    assert (got["on_cpu_ns"], got["task_ns"]) == (360, 270)
    assert got["effective_share"] == pytest.approx(270 / 400)
    # No bundle, no configuration: what a monitor shows is not known.
    assert pd.isna(got["monitor_share"])
    assert pd.isna(got["overcharged_share"])


# A tick by a kernel that charges interrupts to the task (bundle's configuration), openssl:
#   own | irq 32 | NET_RX it raised itself | NET_RX of unknown origin | own
#   0  100     200  300                 450  500                    600    1000
def test_what_a_task_sends_itself_it_had(tmp_path: Path) -> None:
    happened = cpu(
        0,
        h.Waking(0, UDPSINK),
        h.IrqEntry(100, 32),
        h.IrqExit(200, 32),
        h.BhDisable(250),
        h.SoftirqRaise(260, NET_RX),
        h.SoftirqEntry(300, NET_RX),
        h.SoftirqExit(450, NET_RX),
        h.BhEnable(460),
        h.BhDisable(470),
        h.SoftirqEntry(500, NET_RX),
        h.SoftirqExit(600, NET_RX),
        h.BhEnable(610),
        h.Waking(1_000, UDPSINK),
        task=OPENSSL,
    )
    recording(happened, known=(OPENSSL, UDPSINK)).write(tmp_path / "trace.perf.data")
    manifest = {"netcost_bundle": 1, "trace": "trace.perf.data"}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    (tmp_path / "kernel_config").write_text("CONFIG_TICK_CPU_ACCOUNTING=y\n")
    line = netcost.open_capture(tmp_path).timeline()
    losses = stolen(line).victims.loc["openssl"]
    assert losses[["task_ns", "synchronous_ns"]].tolist() == [650, 150]
    assert losses["stolen_or_synchronous_ns"] == 100
    got = effective_share(line).loc["openssl"]
    assert got["monitor_share"] == pytest.approx(1.0)
    assert got["effective_share"] == pytest.approx(0.8)
    assert got["effective_max_share"] == pytest.approx(0.9)
    assert got["overcharged_share"] == pytest.approx(0.1)
    assert got["overcharged_max_share"] == pytest.approx(0.2)


def test_ticks_and_what_they_interrupt(tmp_path: Path) -> None:
    line = timeline(
        tmp_path,
        cpu(
            0,
            h.VectorEntry(10),
            h.VectorExit(20),
            h.SoftirqRaise(30, NET_RX),
            h.SoftirqEntry(40, NET_RX),
            h.VectorEntry(50),
            h.VectorExit(60),
            h.SoftirqExit(90, NET_RX),
            h.Switch(100, IDLE, 1),
            h.VectorEntry(110),
            h.VectorExit(120),
            h.Waking(130, UDPSINK),
            task=OPENSSL,
        ),
    )
    got = effective_share(line)
    assert got.loc["openssl", ["ticks", "softirq_ticks"]].tolist() == [2, 1]


@pytest.mark.parametrize("name", BUNDLES[1:])
def test_ticks_are_those_that_perf_prints(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    line = netcost.open_capture(SAMPLES / name).timeline()
    got = effective_share(line, by="tid")
    assert got["monitor_share"].notna().all()
    assert (got["overcharged_share"] > -1e-12).all()
    counts: dict[int, int] = {}
    for _, _, tid, event, _ in printed(name):
        if event == "irq_vectors:local_timer_entry" and tid > 0:
            counts[tid] = counts.get(tid, 0) + 1
    ticks = got["ticks"].groupby("tid").sum()
    # Where the ledger doubts a context, or perf wrote a record twice, a tick or two is in no row.
    assert abs(ticks.sum() - sum(counts.values())) <= 0.01 * sum(counts.values())
    victim = got.xs("openssl", level="comm").index[0]
    assert abs(ticks[victim] - counts[victim]) <= 1
    monkeypatch.setattr(inputs, "_MOST_SEGMENTS", len(line.segments) // 5)
    again = effective_share(netcost.open_capture(SAMPLES / name).timeline(), by="tid")
    pd.testing.assert_frame_equal(got, again)
