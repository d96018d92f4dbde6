# More than two sides: a planted case is found under its load, and nothing else is.

import numpy as np
import pytest

from netcost_analysis import Run, RunSet
from netcost_analysis.errors import ArgumentError
from netcost_analysis.questions.comparison.cases import cases
from netcost_analysis.report.case_table import CaseTable
from netcost_analysis.units import signed_share

METRIC = "received_bits_per_second"


def runs(planted: tuple[str, str] = ("64", "udp"), times: float = 0.5) -> RunSet:
    draw = np.random.default_rng(1)
    made = []
    for defer in ("0", "64", "128"):
        for protocol in ("udp", "tcp"):
            for at in range(7):
                value = 1e9 * (1 + 0.01 * draw.standard_normal())
                value *= times if (defer, protocol) == planted else 1.0
                labels = {"skb_defer_max": defer, "protocol": protocol, "repeat": str(at)}
                made.append(Run(f"{defer}/{protocol}/{at}", labels, {METRIC: value}))
    return RunSet(made)


def test_a_planted_case_differs_under_its_load() -> None:
    frame = cases(runs(), "skb_defer_max", 0)
    assert len(frame) == 4
    told = frame[frame["differs"] == "yes"]
    assert told[["case", "load"]].values.tolist() == [["64", "protocol udp"]]
    assert told["change"].iloc[0] == pytest.approx(-0.5, abs=0.02)
    # One correction over all.
    assert (frame["p_adjusted"] >= frame["p_value"]).all()


def test_a_base_may_be_any_case() -> None:
    frame = cases(runs(), "skb_defer_max", "64")
    assert set(frame["case"]) == {"0", "128"}
    assert set(frame.loc[frame["differs"] == "yes", "load"]) == {"protocol udp"}


@pytest.mark.parametrize(
    ("by", "base", "said"),
    [("skb_defer", "0", "skb_defer_max"), ("skb_defer_max", "1", "64"), ("repeat", "0", "repeat")],
)
def test_what_there_is_not_is_refused(by: str, base: str, said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        cases(runs(), by, base)


def test_the_table_has_a_row_a_case_and_a_column_a_load() -> None:
    table = CaseTable(cases(runs(), "skb_defer_max", 0), "skb_defer_max", "0", ["netcost"])
    lines = table.text().splitlines()
    assert max(map(len, lines)) <= 72
    change = signed_share(table.rows.loc[table.rows["differs"] == "yes", "change"].iloc[0])
    assert ["64", "~", *change.split()] in [line.split() for line in lines]
    assert ["128", "~", "~"] in [line.split() for line in lines]
    assert f"<title>{table.title}</title>" in table.html()
    assert change in table.markdown()
