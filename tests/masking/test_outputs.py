# What benchmarks print: a masked output has the same figures, and no name.

from pathlib import Path

import pytest

from netcost_analysis.masking.names import Names
from netcost_analysis.masking.texts import Texts
from support.outputs import OUTPUTS, SECRET_OUTPUTS, SECRETS, figures

FAILED = [path.stem for path in OUTPUTS if path.stem.endswith("-none")]


def masked(text: str, path: str = "victim.txt") -> str:
    texts = Texts(Names())
    texts.find_hosts(path, text)
    rule = texts.rule(path)
    assert rule is not None
    return rule(text)


@pytest.mark.parametrize("path", OUTPUTS, ids=[path.stem for path in OUTPUTS])
def test_every_program_keeps_its_figures(path: Path) -> None:
    text = path.read_bytes().decode().replace("127.0.0.1", "203.0.113.77")
    for name in ("victim.txt", "load.txt", "after/work", "files/output"):
        shown = masked(text, name)
        assert "203.0.113.77" not in shown
        assert figures(shown) == figures(text)
    assert figures(text) or path.stem in FAILED


@pytest.mark.parametrize("output", SECRET_OUTPUTS)
def test_what_its_user_typed_goes(output: str) -> None:
    shown = masked(SECRET_OUTPUTS[output])
    assert [secret for secret in SECRETS if secret in shown] == []
    kept = [one for one in figures(SECRET_OUTPUTS[output]) if "hunter2" not in one.test]
    assert figures(shown) == kept != []


def test_a_work_number_stays() -> None:
    assert masked("4711\n", "before/work") == "4711\n"
    assert masked("@ 1 5 6\n4711\n", "samples/work") == "@ 1 5 6\n4711\n"
