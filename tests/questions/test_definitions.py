# Every column and figure that an answer has is declared in columns.toml, and has the type declared.

from typing import Any

import pandas as pd
import pytest

from netcost_analysis.questions.answer import Answer, parts
from netcost_analysis.questions.ask import questions
from netcost_analysis.schema import column
from support.kept import kept, kept_experiment
from support.typed import assert_whole

# The modules of questions, and a sample that each can answer them for.
QUESTIONS = {
    "questions.batches.rate_curve": "nic-guest",
    "questions.batches": "veth-stolen-time",
    "questions.accounting.hidden": "hidden-cost",
    "questions.accounting": "stolen-time-tcp.netcost.tar.zst",
    "questions.migration": "local-migrations.netcost.tar.zst",
    "questions.processes": "local-migrations.netcost.tar.zst",
    "questions.devices": "quiet-interface.netcost.tar.zst",
    "questions.tracing_overhead": "stolen-time-top.netcost.tar.zst",
    "questions.losses": "veth-stolen-time",
    "questions.stolen_time": "stolen-time-top.netcost.tar.zst",
}


def sample_for(name: str) -> str:
    home = questions()[name].function.__module__.removeprefix("netcost_analysis.")
    return next(
        (sample for module, sample in QUESTIONS.items() if home.startswith(module)),
        "veth-stolen-time",
    )


def names_in(answer: Any) -> set[str]:
    if isinstance(answer, pd.DataFrame | pd.Series):
        frame = answer.to_frame() if isinstance(answer, pd.Series) else answer
        assert not isinstance(frame.columns, pd.MultiIndex)
        # A matrix has a column for each of what its columns are named for.
        columns = [frame.columns.name] if frame.columns.name else list(frame.columns)
        return {str(name) for name in [*columns, *frame.index.names] if name is not None}
    if list(parts(answer)) == [""]:
        return set()
    return set(parts(answer)).union(*(names_in(part) for part in parts(answer).values()))


def answered(name: str) -> Answer[Any]:
    of_experiment = questions()[name].sources == ("Experiment",)
    return (kept_experiment if of_experiment else kept)(sample_for(name)).ask(name)


@pytest.mark.parametrize("name", questions())
def test_every_column_is_defined(name: str) -> None:
    answer = answered(name)
    assert_whole(answer)
    found = names_in(answer.result) | names_in(answer.parts) - {""}
    unknown = {one for one in found if column(one) is None}
    assert not unknown, f"columns.toml has no {', '.join(sorted(unknown))}"
    # What a narrow terminal shows first is there; the keys of another by are not always.
    declared = {*questions()[name].main_columns, *questions()[name].shares}
    assert declared <= found | {"comm", "tid", "cpu"}


@pytest.mark.parametrize("name", questions())
def test_every_question_says_what_it_is(name: str) -> None:
    assert questions()[name].summary.endswith(".")
