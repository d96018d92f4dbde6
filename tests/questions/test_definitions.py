# Every column and figure that an answer has is declared in columns.toml, and has the type declared.

from functools import cache
from typing import Any

import pandas as pd
import pytest
from pyarrow import table

from netcost_analysis import open_capture
from netcost_analysis.capture.experiment import is_experiment
from netcost_analysis.export.dataset import TABLES
from netcost_analysis.questions.answer import Answer, parts
from netcost_analysis.questions.ask import questions
from netcost_analysis.schema import column, columns
from support.cgroup_bundles import kept_cgroups
from support.counter_captures import kept_counters
from support.energy_bundles import kept_energy
from support.host import ROOT
from support.kept import kept_experiment, kept_for
from support.load_captures import kept_loads
from support.typed import assert_typed, assert_whole

SAMPLES = ROOT / "sample-data"
# The modules of questions, and a sample that each can answer them for.
REGRESSION, PACKED = "local-regression-traced", ".netcost.tar.zst"
QUESTIONS = {
    "questions.batches.rate_curve": "datapath-sweep",
    "questions.sweep": "datapath-sweep",
    "questions.batches": "veth-stolen-time",
    "questions.accounting.hidden": "hidden-cost",
    "questions.accounting": "stolen-time-tcp.netcost.tar.zst",
    "questions.migration": "local-migrations.netcost.tar.zst",
    "questions.processes.skb_frees": f"{REGRESSION}/loopback-udp-defer64-rpsoff-twocpu-1{PACKED}",
    "questions.processes": f"local-migrations{PACKED}",
    "questions.devices": "quiet-interface.netcost.tar.zst",
    "questions.tracing_overhead": "stolen-time-top.netcost.tar.zst",
    "questions.functions.components_by_size": "io-sizes",
    "questions.functions.findings": "io-sizes",
    "questions.functions.interrupt_components": f"stolen-time-functions{PACKED}",
    "questions.functions": f"io-sizes/tcp-64{PACKED}",
    "questions.comparison": "local-regression",
    "questions.stolen": "veth-stolen-time",
    "questions.stolen_time": "stolen-time-top.netcost.tar.zst",
}
METERED = ("questions.energy", "questions.counters")
# And none was made where a processor counts, or with a list of the host's tasks.
MADE = {
    "questions.stolen_time.cgroups": kept_cgroups,
    "questions.functions.counters_by_component": kept_counters,
    "questions.functions.memory_loads": kept_loads,
}


def sample_for(name: str) -> str:
    home = questions()[name].function.__module__.removeprefix("netcost_analysis.")
    if home.startswith(METERED):
        # No sample has an energy meter.
        bundle, experiment = kept_energy()
        return experiment if questions()[name].asked_of == "experiment" else bundle
    if home in MADE:
        return MADE[home]()
    return next(
        (sample for module, sample in QUESTIONS.items() if home.startswith(module)),
        "veth-stolen-time",
    )


def names_in(question: str, result: Any) -> set[str]:
    # Its columns and figures; its tables, where it has several, by QUESTION.TABLE.
    found: set[str] = set()
    for name, part in parts(result).items():
        frame = part.to_frame(part.name or name) if isinstance(part, pd.Series) else part
        if isinstance(frame, pd.DataFrame):
            assert not isinstance(frame.columns, pd.MultiIndex)
            # A matrix has a column for each of what its columns are named for.
            columns = [frame.columns.name] if frame.columns.name else list(frame.columns)
            found |= {str(one) for one in [*columns, *frame.index.names] if one is not None}
            found |= {f"{question}.{name}"} if name else set()
        elif part is None and column(f"{question}.{name}"):
            found.add(f"{question}.{name}")
        elif list(named := parts(part)) == [""]:
            found.add(name)
        else:
            found |= {f"{question}.{name}", *named}
            found |= {
                one for of in named.values() if hasattr(of, "_asdict") for one in of._asdict()
            }
    return found


@cache
def answered(name: str) -> Answer[Any]:
    sample = sample_for(name)
    return kept_for(name, sample, sample).ask(name)


@pytest.mark.parametrize("name", questions())
def test_every_column_is_defined(name: str) -> None:
    answer = answered(name)
    assert_whole(answer)
    # Frames are long: of things that stand across, only thieves, and only in the ledger.
    across = {frame.columns.name for frame in answer.tables.values()} - {None}
    assert across == ({"thief"} if name == "ledger" else set())
    found = names_in(name, answer.parts)
    unknown = {one for one in found if column(one) is None}
    assert not unknown, f"columns.toml has no {', '.join(sorted(unknown))}"
    # What a narrow terminal shows first is there; the keys of another by are not always.
    declared = {*questions()[name].main_columns, *questions()[name].shares}
    assert declared <= found | {"comm", "tid", "cpu"}


# What no answer has is not declared, nor a table of the timeline as TABLE.COLUMN.
def test_what_is_declared_is_in_an_answer() -> None:
    found = {one for name in questions() for one in names_in(name, answered(name).parts)}
    timeline = open_capture(SAMPLES / "veth-stolen-time").timeline()
    found |= {
        f"{name}.{one}"
        for name in TABLES
        for one in table(timeline.table(name)).column_names
        if column(f"{name}.{one}")
    }
    assert {one.name for one in map(column, found) if one} == set(columns())


# So a column has one type whatever was recorded.
@pytest.mark.slow
@pytest.mark.parametrize("sample", sorted(set(QUESTIONS.values())))
def test_a_column_has_one_type_in_every_sample(sample: str) -> None:
    # Tables of all samples at once would fill the memory.
    path = SAMPLES / sample
    ask = (kept_experiment(sample) if is_experiment(path) else open_capture(path)).ask
    for name in questions():
        answer = ask(name)
        if answer.refusal is None:
            assert_typed(answer)
