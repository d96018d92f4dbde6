# What a bundle knows of its victim's loss beyond the trace.

import json
from pathlib import Path
from typing import Any

import pytest

from netcost_analysis import open_capture
from netcost_analysis.questions.beyond_trace import beyond_trace, beyond_words
from support.doctored import doctored, speed
from support.host import SAMPLES
from support.kept import kept
from support.run_cli import Netcost


def found(path: Path, victim: Any = None) -> Any:
    return beyond_trace(open_capture(path).timeline(), victim)


# doctored: work 600 of 1000, of a baseline that had 0.95 of its CPU. By its segments openssl ran
# 986 us of 1160 us, and all of the time has an owner.
def test_by_hand(tmp_path: Path) -> None:
    bundle = doctored(tmp_path / "b")
    own = sum(
        row.ns
        for row in open_capture(bundle).timeline().owned_by()
        if row.comm == "openssl" and row.context == "task"
    )
    traced = own / 1_160_000
    told = found(bundle)
    assert told.lost_share == pytest.approx(0.4)
    assert told.noise_share == 0.012
    assert told.traced_lost_share == pytest.approx(1 - traced)
    assert told.hidden_share == pytest.approx(traced - 0.6)
    assert told.hidden_ns == round((traced - 0.6) * 1_160_000)
    assert told.hidden_low_share == pytest.approx(traced - 0.6 * 1.012)
    assert told.hidden_high_share == pytest.approx(traced - 0.6 * 0.95 * 0.988)
    # Its baseline was disturbed: no price is given, and what it would have done is.
    words = " ".join(beyond_words(told))
    assert told.baseline_share == pytest.approx(0.95)
    assert "57.0 %" in words
    assert "hidden cost" not in words
    undisturbed = told._replace(baseline_share=None)
    words = " ".join(beyond_words(undisturbed))
    for fact in ("40.0 % less", "hidden cost"):
        assert fact in words


def test_sizes_that_differ_widen_it(tmp_path: Path) -> None:
    bundle = doctored(tmp_path / "b")
    second = speed(500, 1.5).replace("1024", "64")
    (bundle / "victim.txt").write_text(speed(600, 1.5) + second)
    (bundle / "baseline" / "victim.txt").write_text(
        speed(1000, 2) + speed(1000, 2).replace("1024", "64")
    )
    told = found(bundle)
    assert told.lost_share == pytest.approx(0.45)
    assert told.noise_share == pytest.approx(0.05 / 0.55)


def test_what_does_not_differ_is_no_hidden_cost(tmp_path: Path) -> None:
    bundle = doctored(tmp_path / "b")
    (bundle / "victim.txt").write_text(speed(870, 1.5))
    told = found(bundle)
    assert told.hidden_low_share < 0 < told.hidden_high_share
    undisturbed = told._replace(baseline_share=None)
    assert "from 0" in " ".join(beyond_words(undisturbed))
    (bundle / "victim.txt").write_text(speed(1003, 1.9))
    assert "as much work" in beyond_words(found(bundle)._replace(baseline_share=None))[0]


def test_it_is_of_the_whole_of_the_bundles_victim(tmp_path: Path) -> None:
    bundle = doctored(tmp_path / "b")
    capture = open_capture(bundle)
    assert beyond_trace(capture.timeline(cpus=[0]), None) is None
    assert beyond_trace(capture.timeline(), "another") is None
    assert found(bundle, "openssl") == found(bundle)
    # A part of its run, or one that nobody knows when it was.
    manifest = json.loads((bundle / "manifest.json").read_text())
    manifest["window"] = {"start_ns": 2000, "end_ns": 900_000}
    (bundle / "manifest.json").write_text(json.dumps(manifest))
    assert found(bundle).hidden_share is None
    assert found(bundle).untraced in beyond_words(found(bundle))[-1]
    (bundle / "baseline" / "victim.txt").unlink()
    assert found(bundle) is None


@pytest.mark.parametrize("name", ["veth-stolen-time", "stolen-time-tcp.netcost.tar.zst"])
def test_it_is_what_the_estimates_say(name: str, netcost: Netcost) -> None:
    path = SAMPLES / name
    capture = kept(path)
    lost = capture.ask.accounting.estimates().frame["lost_share"]
    told = netcost("stolen", str(path), "--json").json["beyond_trace"]
    assert told["lost_share"] == pytest.approx(lost["work"])
    # Those are of the victim's CPU, from its start to its end.
    assert told["traced_lost_share"] == pytest.approx(lost["traced"], abs=0.003)
    assert told["hidden_low_share"] <= told["hidden_share"] <= told["hidden_high_share"]
    words = capture.ask.stolen_time.headline().words
    assert f"{100 * told['lost_share']:.1f} %" in words
    text, run = netcost("stolen", str(path)).out, capture.timeline(window="auto")
    assert " ".join(beyond_words(beyond_trace(run, None))) in " ".join(text.split())  # type: ignore[arg-type]
