# A digest selects: its figures and sentences are those of the answers.

import json
import shlex
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from netcost_analysis.display.export import json_schema
from netcost_analysis.display.templates import as_text
from netcost_analysis.report import digest
from netcost_analysis.report.digest import Digest
from netcost_analysis.report.digest_findings import LEAST_SHARE, MOST, comparing, sentences
from support.host import ROOT
from support.kept import kept
from support.run_cli import Netcost
from support.story import networking
from support.sweeps import Told, sweep

SAMPLES = ROOT / "sample-data"
NIC = SAMPLES / "nic-stolen-time"
# A device that serves nobody, and no victim.
QUIET = SAMPLES / "quiet-interface.netcost.tar.zst"
# Functions alone.
SAMPLED = SAMPLES / "io-sizes" / "tcp-1024.netcost.tar.zst"
PATHS = SAMPLES / "nic-guest-paths"
FLEET = SAMPLES / "fleet"
LINES = 50


# A digest asks most questions: each is made once, and read as JSON and as a screen.
@pytest.fixture(autouse=True, scope="module")
def made_once() -> Iterator[None]:
    made: dict[str, Digest] = {}

    def once(make: Callable[[Any], Digest], of: Any) -> Digest:
        path = str(of.path)
        return made.get(path) or made.setdefault(path, make(of))

    with pytest.MonkeyPatch.context() as patch:
        for name in ("of_recording", "of_experiment", "of_fleet"):
            patch.setattr(digest, name, partial(once, getattr(digest, name)))
        yield


@pytest.mark.parametrize("path", [QUIET, SAMPLED, PATHS, FLEET], ids=lambda path: path.name)
def test_each_kind_fits_the_schema_and_a_screen(netcost: Netcost, path: Path) -> None:
    declared = json.loads((ROOT / "docs" / "digest.schema.json").read_text())
    assert declared == json.loads(json_schema(Digest))
    made = netcost("digest", str(path), "--json").json
    jsonschema.validate(made, declared)
    assert made["netcost_digest"] == 1
    shares = [one["share"] for one in made["findings"] if one["share"] is not None]
    assert 0 < len(made["findings"]) <= MOST
    assert shares == sorted(shares, reverse=True)
    assert all(share >= LEAST_SHARE for share in shares)
    shown = netcost("digest", str(path)).out.splitlines()
    assert len(shown) <= LINES
    # A word is never broken, so that it can be copied.
    assert all(len(line) <= 100 or " " not in line.strip() for line in shown)
    told = " ".join(" ".join(shown).split())
    assert all(f"  {one['question']}" in "\n".join(shown) for one in made["findings"])
    assert all(" ".join(one["says"].split()) in told for one in made["findings"])


def test_what_it_says_is_what_the_questions_answer(netcost: Netcost) -> None:
    made = netcost("digest", str(NIC), "--json").json
    capture = kept(str(NIC))
    ask = capture.timeline(window="auto").ask
    for one in made["findings"]:
        words = " ".join(as_text(ask(one["question"]).words).split())
        assert one["says"] in words
    named = {one["question"]: one["share"] for one in made["findings"]}
    assert named["remedies"] == ask("remedies").frame["gain_max_share"].max()
    assert named["device_summary"] == ask("device_summary").frame["cpu_share"].max()
    headline = ask("headline")
    assert (made["victim"], made["window"]["duration_ns"]) == ("openssl", headline["window_ns"])
    assert [*made["summary"], headline["lines"][-1]] == list(headline["lines"])
    cover = ask("coverages")
    assert made["certainty"]["owned_share"] == cover["owned_share"]
    stolen, matrix = ask("stolen")["victims"], ask("ledger")["ns"]
    for loss in made["losses"]:
        assert loss["stolen_ns"] == stolen.loc[loss["victim"], "stolen_ns"]
        taken = matrix.loc[loss["victim"]]
        assert all(taken[one["thief"]] == one["ns"] for one in loss["thieves"])
        assert loss["thieves"][0]["ns"] == taken.max()
    lacking = ask("unanswered")
    untold = {name for one in made["untold"] if one["lacks"] != "certainty"
              for name in one["questions"]}  # fmt: skip
    assert (untold, made["next_command"]) == (
        set(lacking.frame["question"]),
        lacking["next_command"],
    )


def test_a_warning_comes_first(netcost: Netcost) -> None:
    first, *others = netcost("digest", str(QUIET), "--json").json["findings"]
    assert (first["question"], first["share"]) == ("device_flags", None)
    assert all(one["question"] != "device_flags" for one in others)
    [flag] = [row for row in kept(str(QUIET)).timeline(window="auto").ask("device_flags").frame
              .to_dict("records") if row["flag"] == "no-address"]  # fmt: skip
    assert first["says"] == flag["why"]


def test_without_a_ledger_it_says_why(netcost: Netcost) -> None:
    made = netcost("digest", str(SAMPLED), "--json").json
    assert (made["losses"], made["victim"], made["certainty"]["owned_share"]) == ([], None, None)
    [untold] = made["untold"]
    assert (untold["lacks"], untold["why"][:9]) == ("ledger", "no ledger")
    assert {one["question"] for one in made["findings"]} == {"components", "packet_components"}


def test_a_bare_recording_has_a_digest(netcost: Netcost, tmp_path: Path) -> None:
    path = tmp_path / "bare.data"
    networking().write(path)
    made = netcost("digest", str(path), "--json").json
    # It lost events, and says so.
    certainty = made["certainty"]
    assert (made["recording"]["bundle"], certainty["state"]) == (False, "incomplete")
    assert certainty["lost_events"] == 7
    assert netcost("digest", str(path)).out.split()[:4] == ["netcost", "digest", "1:", str(path)]


def test_an_experiment_says_what_its_steps_differ_by(netcost: Netcost, tmp_path: Path) -> None:
    path = tmp_path / "s p"
    sweep(path, *(Told(rate=rate) for rate in (9_000, 10_000)))
    labels = {"offered_pps": ["9000", "10000"]}
    assert netcost("digest", str(path), "--json").json["experiment"]["labels"] == labels
    assert "offered_pps (9000, 10000)" in netcost("digest", str(path)).out
    _, *words = shlex.split(comparing(path, {"data_path": ["bridge"], **labels}))
    made = netcost(*words)
    assert (made.code, "10000" in made.out) == (0, True), made.err


def test_sentences_are_whole() -> None:
    one = "It took 1.5 ms of 2.0 s."
    kept = sentences(" ".join([one] * 20))
    assert (len(kept) <= 300, kept.replace(one, "").strip()) == (True, "")
    leading = "The command:"
    assert sentences(f"{one} {leading}") == one
    # The first is never cut.
    assert sentences("x" * 400) == "x" * 400


def test_a_path_that_is_none_is_one_line(netcost: Netcost, tmp_path: Path) -> None:
    run = netcost("digest", str(tmp_path / "none"))
    assert (run.code, run.out, run.err.count("\n")) == (1, "", 1)
