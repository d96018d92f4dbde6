# The same questions answered by perf, by pidstat and by a few lines that share no code with ours.

import re

import pandas as pd
import pytest

import netcost_analysis as netcost
from netcost_analysis.questions.processes.scheduling import LEFT, kinds_of
from support.asked import (
    client_and_server,
    context_switches,
    run_queue,
    softirq_time,
    traffic_pairs,
)
from support.host import require_tool
from support.kept import kept
from support.oracle import run

LOCAL = "local-migrations.netcost.tar.zst"
GUEST = "nic-guest/6.1-nic-1-flows.netcost.tar.zst"


@pytest.fixture(scope="module")
def local() -> netcost.Timeline:
    return kept(LOCAL).timeline()


@pytest.fixture(scope="module")
def guest() -> netcost.Timeline:
    return kept(GUEST).timeline()


# "  8.604035 [0001]  sh[432/431]      0.000      0.058      8.629 ": when it left, and tid 432.
LINE = re.compile(
    r"\s*(\d+\.\d+) \[\d+\]\s+.*?\[(\d+)[/\d]*\]\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s*$"
)


@pytest.fixture(scope="module")
def timehist(guest: netcost.Timeline) -> pd.DataFrame:
    assert guest.capture.bundle
    text = run(require_tool("perf"), "sched", "timehist", "-f", "-i", guest.capture.bundle.trace)
    rows = [match.groups() for match in map(LINE.match, text.splitlines()) if match]
    assert len(rows) > 3_000
    columns = ["out_s", "tid", "wait_ms", "delay_ms", "run_ms"]
    return pd.DataFrame(rows, columns=columns).astype(float)


# perf counts from sched_waking, when somebody began to wake the task; we from sched_wakeup, when it
# was put on a run queue: what lies between is taken from the events.
def test_wake_up_latency_is_perf_s_sch_delay(
    guest: netcost.Timeline, timehist: pd.DataFrame
) -> None:
    woken = guest.slices[(guest.slices["wake_ns"].notna() & (guest.slices["tid"] != 0))]
    woken = woken.astype({"tid": "int64", "wake_ns": "int64"}).sort_values("wake_ns")
    waking = guest.capture.events("sched:sched_waking")[["time_ns", "pid"]].astype("int64")
    began = pd.merge_asof(
        woken, waking.sort_values("time_ns"), left_on="wake_ns", right_on="time_ns",
        left_by="tid", right_by="pid",
    )  # fmt: skip
    ours = run_queue(guest)
    ours = ours[ours["waited_after"] == "wake-up"]
    assert (len(began), began["wait_ns"].sum()) == (ours["waits"].sum(), ours["ns"].sum())
    # Who is woken for the first time was forked: nobody began to wake it.
    since = began["time_ns"].fillna(began["wake_ns"])
    began["delay_ms"] = (began["in_ns"] - since).astype(float) / 1e6
    began["out_us"] = began["out_ns"] // 1_000
    theirs = timehist.assign(out_us=(timehist["out_s"] * 1e6).round())
    both = began.merge(theirs, on=["tid", "out_us"], suffixes=("", "_perf"))
    assert len(both) > 0.9 * len(began)
    differs = both[(both["delay_ms"] - both["delay_ms_perf"]).abs() > 0.0011]
    # perf forgets a wake-up that came before the task had gone to sleep, or counts from it.
    assert len(differs) <= 0.02 * len(both)


def test_time_on_cpu_is_perf_s_run_time(guest: netcost.Timeline, timehist: pd.DataFrame) -> None:
    perf_ms = timehist.groupby("tid")["run_ms"].sum()
    slices = guest.slices[guest.slices["tid"].fillna(0) != 0]
    ended = slices[slices["prev_state"].notna()]
    ours_ms = (ended["out_ns"] - ended["in_ns"]).groupby(ended["tid"]).sum() / 1e6
    both = pd.concat([perf_ms, ours_ms], axis=1, join="inner", keys=["perf", "ours"])
    assert len(both) > 50
    assert both["perf"].sum() == pytest.approx(both["ours"].sum(), rel=0.01)
    # perf names a slice that began before the recording, or an exec's, differently: a handful.
    count = timehist.groupby("tid").size().reindex(both.index)
    close = (both["perf"] - both["ours"]).abs() < 0.001 * (count + 1)
    assert close.mean() > 0.95


def test_switches_are_those_of_pidstat(local: netcost.Timeline) -> None:
    bundle = local.capture.bundle
    assert bundle
    [began] = [one.start_ns for one in bundle.manifest.companions if one.name == "pidstat"]
    lines = [line.split() for line in (bundle.text("pidstat.txt") or "").splitlines()]
    compared = 0
    for tid in client_and_server(local)["tid"]:
        told = [words for words in lines if words[2:3] == [str(tid)]]
        seconds = range(began, began + (len(told) + 1) * 1_000_000_000, 1_000_000_000)
        own = local.group(
            "slices",
            ["prev_state"],
            edges={"out_ns": list(seconds)},
            where={"tid": (int(tid), int(tid)), "prev_state": (None, None)},
        ).frame
        own["kind"] = kinds_of(own["prev_state"].astype("int64"), LEFT(local))
        for second, words in enumerate(told, 1):
            inside = own[own["out_ns_place"] == second]
            counts = inside.groupby("kind")["slices"].sum()
            for kind, count in (("voluntary", words[-3]), ("involuntary", words[-2])):
                # Its seconds begin some milliseconds later than it did.
                assert counts.get(kind, 0) == pytest.approx(float(count), rel=0.06, abs=5)
                compared += 1
    assert compared >= 12


# Every switch-out of a task, counted from the events themselves.
def test_switches_are_the_events(local: netcost.Timeline) -> None:
    events = local.capture.events("sched:sched_switch")
    events = events[events["prev_pid"] != 0]
    ours = context_switches(local)[["switches", "involuntary", "undecided"]].sum()
    # A switch-out whose switch-in was not recorded ends no slice (and the ledger says so).
    missing = int(local.summary["disagreements"])
    assert abs(len(events) - ours["switches"]) <= missing
    assert abs(events["prev_state"].isin([0, 256]).sum() - ours["involuntary"]) <= missing
    assert ours["undecided"] <= 0.01 * len(events)


# perf script's softirqs, one at a time: entry to exit on a CPU, less the interrupts in between.
def test_softirq_time_is_entry_to_exit(guest: netcost.Timeline) -> None:
    assert guest.capture.bundle
    text = run(require_tool("perf"), "script", "-f", "--ns", "-F", "cpu,time,event,tid", "-i",
               guest.capture.bundle.trace)  # fmt: skip
    begun: dict[str, tuple[float, float, str]] = {}
    total: dict[str, float] = {}
    hardirq: dict[str, float] = {}
    for line in text.splitlines():
        tid, cpu, time, event = line.split()[:4]
        at = float(time.rstrip(":")) * 1e9
        interrupt = re.match(r"irq_(?:handler|vectors:\w+)_(\w+)", event.removeprefix("irq:"))
        if "softirq_entry" in event:
            begun[cpu] = (at, 0.0, tid)
        elif "softirq_exit" in event and cpu in begun:
            start, inside, who = begun.pop(cpu)
            total[who] = total.get(who, 0) + at - start - inside
        elif interrupt and interrupt[1] == "entry":
            hardirq.setdefault(cpu, at)
        elif interrupt and cpu in hardirq:
            spent = at - hardirq.pop(cpu)
            if cpu in begun:
                start, inside, who = begun[cpu]
                begun[cpu] = (start, inside + spent, who)
    rows = softirq_time(guest)
    ours = rows[rows["action"] != "NAPI thread"].groupby("tid")["ns"].sum()
    assert ours.sum() == sum(total.values())
    # perf has no number for a task that is ending; the ledger has it from the event itself.
    ending = total.pop("-1", 0)
    off = sum(abs(ns - total.get(str(tid), 0)) for tid, ns in ours.items())
    assert off == ending < 0.001 * ours.sum()


# iperf3 says which packets there were: each is a softirq's, raised by the client, for the server.
def test_the_client_s_packets_are_those_of_iperf3(local: netcost.Timeline) -> None:
    ends = client_and_server(local).set_index("side")
    pairs = traffic_pairs(local).set_index(["sender_tid", "receiver_tid"])
    between = pairs["units"].get((ends.loc["client", "tid"], ends.loc["server", "tid"]))
    sent = int(ends.loc["client", "sent_packets"])
    # Beside the datagrams there is the control connection.
    assert sent <= between.sum() <= sent + 20
    assert ends.loc["client", "sent_bytes"] == 1400 * sent
    # The server was started first, so its number is the lower one.
    assert ends.loc["server", "tid"] < ends.loc["client", "tid"]
