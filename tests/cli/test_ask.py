# netcost ask: every question of the package from the shell.

import shutil
from pathlib import Path

import pandas as pd
import pytest

import netcost_analysis as package
from netcost_analysis.answers.ask import Ask
from netcost_analysis.answers.registry import questions
from netcost_analysis.display.tables import figures
from netcost_analysis.errors import no_such
from netcost_analysis.questions.accounting import estimates
from support.asked import stolen
from support.host import ROOT
from support.perfdata import tracepoints as t
from support.run_cli import Netcost
from support.told import robbed, written

NIC = str(ROOT / "sample-data" / "nic-stolen-time")
BARE = f"{NIC}/trace.perf.data"
WITHOUT_VECTORS = tuple(one for one in t.FORMATS if one.system != "irq_vectors")


@pytest.mark.parametrize(
    ("words", "given"),
    [
        (("packet_costs", "--sizes", "1,16"), {"sizes": (1, 16)}),
        (("assumed_rates", "--interval-s", "0.5"), {"interval_s": 0.5}),
        (("device_traffic", "--no-sides", "--folder", "x"), {"sides": False, "folder": "x"}),
        (("migration_verdict", "--victim", "7"), {"victim": 7}),
        (("migration_verdict", "--victim", "7z"), {"victim": "7z"}),
        (("migration_verdict", "--victim", "7²"), {"victim": "7²"}),
        (("rolling_stolen", "--by", "tid"), {"by": "tid"}),
        (("episodes", "--victim", "7"), {"victim": 7}),
        (("device_totals", "--folder", "7"), {"folder": "7"}),
        (("thieves", "--victim", "-1"), {"victim": package.ALL}),
        (("stolen",), {}),
    ],
)
def test_options_have_the_types_of_the_declaration(
    monkeypatch: pytest.MonkeyPatch,
    netcost: Netcost,
    words: tuple[str, ...],
    given: dict[str, object],
) -> None:
    asked: list[dict[str, object]] = []

    def ask(_: object, name: str, **options: object) -> None:
        asked.append(options)
        raise package.CaptureError(name)

    monkeypatch.setattr(Ask, "__call__", ask)
    assert netcost("ask", *words, NIC).code == 1
    assert asked == [given]


def test_every_question_is_listed_and_has_its_options(netcost: Netcost) -> None:
    listed = netcost("ask", "--list").out
    for one in questions().values():
        assert f"{one.name} " in listed
        assert one.summary in listed
        told = netcost("ask", one.name, "--help").out
        assert all(f"--{name.replace('_', '-')}" in told for name in one.options), one.name


def test_json_and_files_have_the_functions_figures(netcost: Netcost, tmp_path: Path) -> None:
    window = ("--start", "3.5", "--end", "3.6", "--cpu", "0")
    words = ("ask", "stolen", NIC, "--by", "tid", *window)
    told = netcost(*words, "--json").json
    found = stolen(package.open_capture(NIC).timeline(3.5, 3.6, [0]), by="tid")
    assert set(told) == set(vars(found))
    for name, frame in vars(found).items():
        frame = frame.reset_index(drop=name != "victims")
        assert [row["stolen_ns"] for row in told[name]] == list(frame["stolen_ns"])
        assert set(told[name][0]) == set(frame.columns)
    for suffix, read in ((".csv", pd.read_csv), (".parquet", pd.read_parquet)):
        kept = tmp_path / f"stolen{suffix}"
        assert "rows in" in netcost(*words, "-o", str(kept)).out
        frame = read(kept)  # type: ignore[operator]
        assert frame["stolen_ns"].tolist() == found.victims["stolen_ns"].tolist()


@pytest.mark.parametrize(
    ("words", "column"),
    [
        (("caveats",), "notes"),
        (("kernel_limits",), "netdev_budget"),
        (("ledger", "--table", "on_cpu_ns"), "on_cpu_ns"),
    ],
)
def test_parts_that_are_no_tables_are_kept_and_chosen(
    netcost: Netcost, tmp_path: Path, words: tuple[str, ...], column: str
) -> None:
    kept = tmp_path / "kept.csv"
    assert netcost("ask", words[0], NIC, *words[1:], "-o", str(kept)).code == 0
    assert str(pd.read_csv(kept)[column].iloc[0])
    told = netcost("ask", words[0], NIC, *words[1:], "--columns", column, "--json").json
    rows = told.get("on_cpu_ns", told) if isinstance(told, dict) else told
    assert list(rows[0]) == [column]


# Of a bare recording nothing is known of them.
def test_a_part_of_several_parts_is_in_words(netcost: Netcost) -> None:
    for path, wanted in ((NIC, ["300", "8,000", "64", "250"]), (BARE, ["unknown"] * 4)):
        lines = netcost("ask", "squeezes", path, "--cpu", "0").out.splitlines()
        at = lines.index("limits:") + 1
        assert [line.split()[-1] for line in lines[at : at + 4]] == wanted


# What takes no window says so: of a capture, of what lies beside it, of a pair of readings.
@pytest.mark.parametrize(
    ("name", "window"),
    [
        ("accounts", ("--cpu", "1")),
        ("kernel_limits", ("--start", "0.1")),
        ("completeness", ("--cpu", "1")),
    ],
)
def test_what_takes_no_window_says_so(netcost: Netcost, name: str, window: tuple[str, ...]) -> None:
    plain, said = (netcost("ask", name, NIC, *more).out.splitlines() for more in ((), window))
    [note] = [line for line in said if line.startswith("note: ") and line not in plain]
    beside = netcost("ask", name, NIC, *window, "--json")
    assert beside.err == f"{note}\n"
    assert beside.json == netcost("ask", name, NIC, "--json").json


def test_the_main_table_comes_first(netcost: Netcost, tmp_path: Path) -> None:
    whole = ROOT / "sample-data" / "hidden-cost"
    for path in (whole / "experiment.json", *whole.glob("*-1.netcost.tar.zst")):
        shutil.copy(path, tmp_path)
    # Fewer of its steps have the same tables.
    steps = (whole / "steps.tsv").read_text().splitlines(keepends=True)
    (tmp_path / "steps.tsv").write_text("".join(steps[:4]))
    told = netcost("ask", "hidden_cost", str(tmp_path)).out
    assert told.strip().startswith("coefficients:")


def test_what_is_asked_of_a_bundle_is_asked_of_its_victims_run(netcost: Netcost) -> None:
    path = str(ROOT / "sample-data" / "stolen-time-top.netcost.tar.zst")
    told = netcost("ask", "estimates", path, "--json").json
    capture = package.open_capture(path)
    assert capture.bundle
    rows = estimates(capture.bundle, capture.victim_timeline()).frame
    assert [row["got_share"] for row in told] == list(rows["got_share"])


def test_a_reader_is_told_what_the_figures_lack(netcost: Netcost, tmp_path: Path) -> None:
    path = str(written(tmp_path, robbed(), formats=WITHOUT_VECTORS))
    notes = [line for line in netcost("ask", "stolen", path).out.splitlines() if "note: " in line]
    assert any("irq_vectors" in line for line in notes)


# Of few names all are told: one that is near leaves no other out.
def test_few_names_are_told_all() -> None:
    assert no_such("label", "flow", ["rps", "flows"]).endswith(" flows, rps")
    many = [f"eth{number}" for number in range(40)]
    assert no_such("device", "eth41", many).endswith(" 37 more")


def test_figures_have_units() -> None:
    frame = pd.DataFrame(
        {
            "start_ns": [1_500_000_000],
            "self_ns": [1234],
            "slope_ns": [1.5],
            "stolen_share": [0.5],
            "polls_per_s": [12345.6],
            "napi": pd.array([0xFFFF888000000000], dtype="UInt64"),
            "wait_ns": pd.array([None], dtype="Int64"),
            "is_full": [True],
            "polls": [9625],
            "episode": [1234],
        }
    )
    table = figures(frame, start_ns=1_000_000_000)
    assert list(table.header) == [
        "start, s", "self", "slope", "stolen share", "polls/s", "napi", "wait", "is full",
        "polls", "episode",
    ]  # fmt: skip
    assert list(table.rows[0]) == [
        "0.500000", "1.23 µs", "1.5 ns", "50.0 %", "12,346", "0xffff888000000000", "", "yes",
        "9,625", "1234",
    ]  # fmt: skip


def test_nan_is_no_amount(netcost: Netcost) -> None:
    assert netcost("ask", "accounts", NIC, "--hidden-ns", "nan").code == 2
