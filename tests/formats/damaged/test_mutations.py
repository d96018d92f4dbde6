# Whatever was done to a capture, the package and its command line refuse it in a line, or what it
# still gives is conserved. Thousands of them, and what they take: native/tests/bounds/mutants.rs.

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcost_analysis._native import Capture, CaptureError
from support.host import Fresh, examples
from support.mutations import Mutant, lay_out, mutant
from support.native_tables import ALL_TABLES, Answer, assert_conserved
from support.run_cli import Netcost
from support.small_captures import small_captures

# Whatever a damaged one still gives is conserved: CPU time has one owner, whatever the bytes say.


def assert_conserved_or_refused(one: Mutant, folder: Path) -> None:
    try:
        answer = Answer(lay_out(one, folder), ALL_TABLES)
    except CaptureError:
        return
    assert_conserved(answer)


@examples(200)
@given(st.integers(0, 1 << 40))
def test_damage(fresh: Fresh, number: int) -> None:
    assert_conserved_or_refused(mutant(number), fresh() / "perf.data")


@examples(60)
@given(st.sampled_from(sorted(small_captures())), st.floats(0, 1))
def test_truncation(fresh: Fresh, kind: str, share: float) -> None:
    files = dict(small_captures()[kind].files)
    name = max(files, key=lambda name: len(files[name]))
    files[name] = files[name][: int(share * len(files[name]))]
    folder = fresh() / "perf.data"
    assert_conserved_or_refused(Mutant(0, kind, ("cut",), files), folder)


# What the damage is done to is sound.
def test_small_captures_are_read_in_full(tmp_path: Path) -> None:
    for kind, small in small_captures().items():
        capture = Capture(str(lay_out(Mutant(0, kind, (), small.files), tmp_path / kind)))
        scan = capture.scan()
        assert capture.header()["finished"] is (kind != "file-unfinished")
        # Texts have notes of what they lack and lost.
        cut = ["never finished" in note for note in scan["notes"] if not kind.startswith("text-")]
        assert cut == ([True] if kind == "file-unfinished" else []), kind
        assert sum(scan["events"].values()) >= 12, kind


@pytest.mark.parametrize("command", ["info", "events", "ledger", "stolen"])
def test_the_command_line(netcost: Netcost, tmp_path: Path, command: str) -> None:
    sound = [Mutant(0, kind, (), small.files) for kind, small in small_captures().items()]
    for one in [*sound, *map(mutant, range(60))]:
        path = lay_out(one, tmp_path / f"{one.number}-{one.kind}")
        said = netcost(command, str(path), *(["sched:sched_switch"] if command == "events" else []))
        assert said.code in (0, 1)
        assert "(a bug" not in said.err, f"{one}: {said.err}"
        assert said.code == 0 or len(said.err.splitlines()) == 1, f"{one}: {said.err}"
