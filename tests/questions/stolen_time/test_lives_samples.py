# Lives in samples: a partition of each, and what shares of wall time are of.

import re
from itertools import cycle

import pytest

from netcost_analysis.questions.lifetimes import KNOWN, parts_of_life
from support.asked import accounts, effective_share, lifetimes, run_queue, stolen, waited_for
from support.host import SAMPLES
from support.kept import kept
from support.run_cli import Netcost
from support.subjects import ALL


# Waits are the same time as in a life: but for those under another name and those that go on.
@pytest.mark.parametrize("name", ALL[::2])
def test_holders_add_up_to_the_waits(name: str) -> None:
    line = kept(name).timeline()
    got = waited_for(line, "tid").groupby("tid")["ns"].sum()
    lived = lifetimes(line, "tid").groupby("tid")
    waited = lived[["displaced_ns", "waited_others_ns"]].sum().sum(axis=1)
    # A task that a recording without some switches has on two CPUs at once cannot have waited then.
    stays = line.slices.sort_values(["tid", "in_ns"])
    twice = stays["in_ns"] < stays.groupby("tid")["out_ns"].shift()
    sure = waited.drop(index=stays.loc[twice, "tid"].unique(), errors="ignore")
    assert len(sure) > 0.9 * len(waited)
    assert (got.reindex(sure.index, fill_value=0) <= sure).all()
    # Those that are over, as the ledger has them, each before the stay that ended it.
    over = line.slices.groupby("tid")["wait_ns"].sum()
    assert got.sum() >= 0.9 * over.sum() > 0.7 * waited.sum()
    for by, keys in (("comm", ["comm"]), ("tid", ["tid", "comm"])):
        shares = waited_for(line, by).groupby(keys)["lifetime_share"].sum()
        assert shares.max() <= 1 + 1e-9
        shares = run_queue(line, by).groupby(keys)["wait_share"].sum()
        assert shares.max() <= 1 + 1e-9


@pytest.mark.parametrize(("name", "by"), list(zip(ALL[::2], cycle(("comm", "tid")), strict=False)))
def test_a_life_closes(name: str, by: str) -> None:
    line = kept(name).timeline()
    got, losses = (
        lifetimes(line, by),
        stolen(line, by).victims,
    )
    assert (got >= 0).all().all()
    assert (got[[*KNOWN, "unaccounted_ns"]].sum(axis=1) == got["lifetime_max_ns"]).all()
    assert (got["lifetime_ns"] <= got["lifetime_max_ns"]).all()
    # Of a time in which nobody knows whether it was there nothing is known.
    assert (got[list(KNOWN)].sum(axis=1) <= got["lifetime_ns"]).all()
    # Time on CPU is that of the sums, to the nanosecond, but for what a task is shown on two CPUs
    # at once: no life is longer than the window.
    twice = line.lives.groupby(list(got.index.names))["twice_ns"].sum().reindex(got.index)
    assert twice.sum() <= 0.001 * got["lifetime_max_ns"].sum()
    on_cpu = got[list(KNOWN[:6])].sum(axis=1) + twice
    losses = losses.loc[got.index]
    assert (on_cpu == losses["on_cpu_ns"] - losses["unknown_ns"]).all()
    assert (got["lifetime_ns"] >= losses["on_cpu_ns"] - twice).all()
    assert (losses["unknown_max_ns"] >= losses["unknown_ns"]).all()
    for _, row in got.iterrows():
        assert sum(share for *_, share in parts_of_life(row)) == pytest.approx(1)


@pytest.mark.parametrize(("name", "is_first"), [*zip(ALL[1::2], cycle((True, False)))])
def test_windows_close_too(name: str, is_first: bool) -> None:
    capture = kept(name)
    half = capture.info["duration_ns"] / 2e9
    got = lifetimes(capture.timeline(*((None, half) if is_first else (half, None))))
    assert (got >= 0).all().all()
    assert (got[[*KNOWN, "unaccounted_ns"]].sum(axis=1) == got["lifetime_max_ns"]).all()
    assert (got[list(KNOWN)].sum(axis=1) <= got["lifetime_ns"]).all()


# What top shows is one figure: the kernel's own count of the bundle's victim.
@pytest.mark.parametrize("name", [one for one in ALL if "stolen-time" in one])
def test_what_top_shows_is_one_figure(name: str) -> None:
    capture = kept(name)
    shown = accounts(capture).loc["task_stat", "got_share"]
    row = effective_share(capture.timeline()).loc["openssl"]
    assert row["monitor_share"] == row["monitor_max_share"] == shown
    # And it is what the trace says of its lifetime, under all of its names, to what its counter
    # resolves.
    assert capture.bundle is not None
    assert capture.bundle.victim is not None
    pid = capture.bundle.victim.pid
    on_cpu_ns = stolen(capture.timeline(), "tid").victims.loc[pid, "monitor_ns"].sum()
    lifetime_ns = lifetimes(capture.timeline(), "tid").loc[pid, "lifetime_ns"].sum()
    assert on_cpu_ns / lifetime_ns == pytest.approx(shown, abs=0.03)


def test_the_command_line_shows_it(netcost: Netcost) -> None:
    path = SAMPLES / "stolen-time-tcp.netcost.tar.zst"
    out = netcost("stolen", str(path), "--victim", "openssl").out
    own = r"^ran itself{} +([\d.]+) m?s +([\d.]+) %$"
    assert "2.02 s; absent" in out
    assert re.findall(own.format(""), out, re.MULTILINE) == [("1.32", "65.6")]
    # What is stolen is a range here (181 NET_RX and 188 IPIs are missing), and what it ran itself
    # is the one that goes with it.
    stolen = own.format(" or stolen, not recorded")
    assert re.findall(stolen, out, re.MULTILINE) == [("36.7", "1.8")]


# Recorded on CPU 1 alone of a host of two: who was elsewhere may have ended there.
def test_one_cpu_of_a_host_is_not_all_of_it() -> None:
    capture = kept("hidden-cost/40000-pps-1.netcost.tar.zst")
    assert (capture.info["cpus"], capture.info["nr_cpus"]) == ([1], 2)
    lived = lifetimes(capture.timeline()).loc["netcost-record"]
    assert lived["lifetime_ns"] < lived["lifetime_max_ns"]
