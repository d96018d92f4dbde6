# ledger() and stolen() on sums written by hand: every figure below can be added up on paper.

from types import SimpleNamespace as Bare
from typing import Any, get_args

import pandas as pd
import pytest

from netcost_analysis.capture.accounting import accounting
from netcost_analysis.capture.manifest import Manifest, RecordedVerdict
from netcost_analysis.errors import ArgumentError
from netcost_analysis.questions import ledger_tables, stolen_sums, stolen_time
from netcost_analysis.questions.ledger import ledger_of
from netcost_analysis.timeline.by import By, victim_keys
from netcost_analysis.timeline.owners import owned, thief_label
from netcost_analysis.timeline.window import Window


class SimpleNamespace(Bare):
    # Which a table may have as a key.
    __hash__ = object.__hash__


COLUMNS = (
    *("cpu", "tid", "comm", "context", "id", "name", "device", "cost_class", "is_network", "ns"),
    "segments",
)
DISPLACED = {"cpu": [0, 0], "tid": [100, 300], "comm": ["openssl", "cron"], "ns": [41, 6]}
LIVES = {"tid": [100], "comm": ["openssl"], "unseen_ns": [9]}
LINE = "irq 26 virtio2-input.0 (eth0)"

STOLEN, DOUBTFUL = "stolen", "stolen_or_synchronous"
SSL, SSHD, KSOFTIRQD = (100, "openssl"), (200, "sshd"), (15, "ksoftirqd/0")


def row(cpu: int, task: tuple[int | None, str | None], context: str, ns: int,
        id_: int | None = None, name: str | None = None, device: str | None = None,
        cost_class: str | None = None,
        network: str | None = None) -> tuple[Any, ...]:  # fmt: skip
    return (cpu, *task, context, id_, name, device, cost_class, network, ns, 1)


ROWS = [
    row(0, SSL, "task", 600),
    row(0, SSL, "poll", 250, 3, None, "eth0", STOLEN, "yes"),
    row(0, SSL, "softirq", 50, 3, "NET_RX", None, STOLEN, "yes"),
    row(0, SSL, "softirq", 10, 3, "NET_RX", None, DOUBTFUL, "yes"),
    row(0, SSL, "softirq", 7, 3, "RPS dispatch", None, STOLEN, "yes"),
    row(0, SSL, "softirq", 5, 1, "TIMER", None, STOLEN, "no"),
    row(0, SSL, "hardirq", 20, 26, "virtio2-input.0", "eth0", STOLEN, "yes"),
    row(0, SSL, "vector", 2, 236, "local_timer", None, STOLEN, "no"),
    row(0, SSL, "vector", 4, 251, "call_function_single", None, STOLEN, "unknown"),
    row(0, SSL, "nmi", 1, None, None, None, STOLEN, "no"),
    row(0, SSL, "unknown", 3),
    row(0, SSL, "softirq", 8, 3, "NET_RX", None, "synchronous", "yes"),
    row(0, KSOFTIRQD, "task", 1),
    row(0, KSOFTIRQD, "softirq", 40, 3, "NET_RX", None, "scheduled", "yes"),
    row(0, KSOFTIRQD, "hardirq", 2, 26, "virtio2-input.0", "eth0", "scheduled", "yes"),
    row(1, SSHD, "task", 9),
    row(1, SSHD, "poll", 1, 3, None, "eth0", STOLEN, "yes"),
    row(1, SSL, "task", 11),
    row(0, (0, "swapper/0"), "idle", 500),
    row(1, (0, "swapper/1"), "poll", 60, 3, None, "eth0", "from_idle", "yes"),
    row(1, (None, None), "unknown", 30),
]
ON_CPU = 600 + 250 + 50 + 10 + 7 + 5 + 20 + 2 + 4 + 1 + 3 + 8 + 11


COMPLETE = RecordedVerdict("complete", "complete", lost_events=0, rows=())


class Recorded:  # no packets, no sockets
    def __init__(self, config: dict[str, str] | None) -> None:
        of, verdict = accounting(config or {}), Manifest(completeness=COMPLETE)
        beside = SimpleNamespace(accounting=of, manifest=verdict)
        self.bundle = None if config is None else beside
        self.info: dict[str, Any] = {"events": {}}


def timeline(
    rows: list[tuple[Any, ...]] = ROWS, switches: bool = True, config: dict[str, str] | None = None
) -> Any:
    sums = {name: [row[place] for row in rows] for place, name in enumerate(COLUMNS)}
    return SimpleNamespace(
        owned_by=lambda by: owned(sums, by),
        load=lambda *_: None,
        columns={"displaced": DISPLACED}.__getitem__,
        nobodys_ns=0,
        summary={"cpus": [0, 1]},
        missing=dict.fromkeys(("on_cpu", "displaced"), "" if switches else "not recorded"),
        duration_ns=800,
        recorded=1.0,
        owned=0.98,
        notes=["a note"],
        capture=Recorded(config),
        window=Window(),
    )


# Nobody knows a life here but by the sums.
@pytest.fixture(autouse=True)
def lives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stolen_sums, "lives_columns", lambda *_: LIVES)


# The parts of their answers.
def ledger(line: Any, by: By = "comm") -> Any:
    return Bare(**stolen_time.ledger(line, by).parts)


def stolen(line: Any, by: By = "comm") -> Any:
    return Bare(**stolen_time.stolen(line, by).parts)


def text(line: Any) -> str:
    matrix = ledger_of(line, "comm")
    footer = ledger_tables.ledger_footer(matrix, line, None)
    return ledger_tables.ledger_table(matrix).text() + footer


def test_each_cell_is_one_thief_on_one_victim() -> None:
    matrix = ledger(timeline())
    found = matrix.ns.loc["openssl"].to_dict()
    assert found.pop(LINE) == 20
    assert found == {
        "eth0 poll": 250, "NET_RX": 50, "RPS dispatch": 7,
        "TIMER": 5, "call_function_single": 4, "local_timer": 2, "NMI": 1,
    }  # fmt: skip
    assert matrix.ns.loc["sshd", "eth0 poll"] == 1
    assert matrix.max_ns.loc["openssl", "NET_RX"] == 60
    assert matrix.ns.dtypes.map(str).unique().tolist() == ["int64"]


def test_shares_are_of_the_victims_time_on_cpu() -> None:
    matrix = ledger(timeline())
    assert matrix.on_cpu_ns["openssl"] == ON_CPU
    thieves, [openssl, *_] = ledger_of(timeline(), "comm").gathered(4)
    cells = dict(zip(thieves, openssl.thieves, strict=True))
    assert cells["eth0 poll"].share == pytest.approx(250 / ON_CPU)
    assert cells["NET_RX"].max_share == pytest.approx(60 / ON_CPU)


def test_nothing_of_the_interrupts_is_dropped() -> None:
    matrix = ledger(timeline())
    interrupts = [one for one in ROWS if one[3] in ("hardirq", "vector", "softirq", "poll", "nmi")]
    total = sum(one[9] for one in interrupts)
    assert int(matrix.max_ns.sum().sum() + matrix.elsewhere.sum().sum()) == total
    assert matrix.elsewhere.loc["from_idle", "eth0 poll"] == 60
    assert matrix.elsewhere.loc["scheduled"].sum() == 42


def test_by_tid_and_cpu_and_device() -> None:
    assert (100, "openssl") in ledger(timeline(), by="tid").ns.index
    by_cpu = ledger(timeline(), by="cpu")
    assert by_cpu.on_cpu_ns.to_dict() == {0: ON_CPU - 11 + 43, 1: 21}
    by_device = ledger(timeline(), by="device")
    assert by_device.ns.loc["openssl", "eth0"] == 270
    assert by_device.ns.loc["openssl", "TIMER"] == 5
    with pytest.raises(ArgumentError, match=r"comm, tid,.* device"):
        ledger(timeline(), by="task")  # type: ignore[arg-type]


def test_without_switches_there_are_victims_but_no_shares() -> None:
    line = timeline(switches=False)
    matrix = ledger(line)
    assert matrix.ns.loc["openssl", "eth0 poll"] == 250
    assert matrix.on_cpu_ns.isna().all()
    assert "the task itself" not in text(line)
    assert "250 ns" in text(line)
    assert "%" not in text(line)
    frame = stolen(timeline(switches=False)).victims
    assert frame["on_cpu_ns"].isna().all()
    assert frame.loc["openssl", "stolen_ns"] == 339


def test_names_from_a_capture_do_not_steer_the_terminal() -> None:
    rows = [row(0, (7, "\x1b[2J\n"), "softirq", 5, 3, "\x9bX", None, STOLEN, "yes")]
    rows.append(row(0, (0, "swapper/0"), "softirq", 5, 3, "\x07", None, "from_idle", "yes"))
    shown = text(timeline(rows))
    assert all(line.isprintable() for line in shown.split("\n"))
    assert "\\x1b[2J\\x0a" in shown


# The network's part is a range where an interrupt may be either, a task that only waited has a row,
# and scheduled work is not stolen.
FIGURES = {
    "openssl": {
        "on_cpu_ns": ON_CPU,
        "task_ns": 611,
        "stolen_ns": 339,
        "stolen_or_synchronous_ns": 10,
        "stolen_max_ns": 349,
        "stolen_network_ns": 250 + 50 + 7 + 20,
        "stolen_network_max_ns": 250 + 50 + 7 + 20 + 10 + 4,
        "displaced_ns": 41,
    },
    "cron": {"on_cpu_ns": 0, "displaced_ns": 6},
    "ksoftirqd/0": {"stolen_max_ns": 0, "scheduled_ns": 42},
}


def test_stolen_adds_up() -> None:
    found = stolen(timeline())
    for victim, figures in FIGURES.items():
        assert found.victims.loc[victim, [*figures]].to_dict() == figures
    assert found.by_softirq.to_numpy().tolist() == [
        ["openssl", "NET_RX", 250 + 50, 250 + 50 + 10],
        ["openssl", "RPS dispatch", 7, 7],
        ["openssl", "TIMER", 5, 5],
        ["sshd", "NET_RX", 1, 1],
    ]
    assert found.by_device.to_numpy().tolist() == [
        ["openssl", "eth0", 270, 270],
        ["sshd", "eth0", 1, 1],
    ]
    parts = ["task_ns", "stolen_max_ns", "synchronous_ns", "unknown_ns"]
    assert found.victims.loc["openssl", parts].sum() == ON_CPU


def test_what_each_lost_is_the_sum_of_its_parts() -> None:
    names = [f"stolen_{kind}_ns" for kind in ("hardirq", "vector", "nmi")]
    for by in get_args(By):
        found = stolen(timeline(), by)
        parts = found.victims[names].sum(axis=1)
        softirqs = found.by_softirq.groupby(victim_keys(by))["stolen_max_ns"].sum()
        whole = parts.add(softirqs, fill_value=0)
        assert whole.to_dict() == found.victims["stolen_max_ns"].to_dict()
        assert found.victims["stolen_max_ns"].max() > 0


HARD, SOFT = 20 + 2 + 4, 250 + 50 + 10 + 7 + 5 + 8


@pytest.mark.parametrize(
    ("config", "openssl", "ksoftirqd"),
    [
        ("TICK_CPU_ACCOUNTING", ON_CPU, 43),
        ("VIRT_CPU_ACCOUNTING_GEN", ON_CPU, 43),
        ("IRQ_TIME_ACCOUNTING", ON_CPU - HARD - SOFT, 41),
        ("VIRT_CPU_ACCOUNTING_NATIVE", ON_CPU, 43),
    ],
)
def test_what_a_monitor_says(config: str, openssl: int, ksoftirqd: int) -> None:
    # Polls of NAPI threads are charged to them.
    polls = row(0, (9, "napi/eth0-5"), "poll", 70, 3, None, "eth0", "scheduled", "yes")
    line = timeline([*ROWS, polls], config={f"CONFIG_{config}": "y"})
    told = stolen(line).victims["monitor_ns"]
    assert told[["openssl", "ksoftirqd/0", "napi/eth0-5"]].tolist() == [openssl, ksoftirqd, 70]
    # Unknown where the accounting is.
    for unknown in (None, {}):
        assert stolen(timeline(config=unknown)).victims["monitor_ns"].isna().all()


def test_a_window_without_anything() -> None:
    empty = timeline([])
    assert ledger(empty).ns.empty
    assert "No task was" in stolen_time.ledger(empty).words
    assert list(stolen(empty).victims.index) == ["openssl", "cron"]


def test_thief_label() -> None:
    for context, id_, name, device, label in (
        ("hardirq", 26, "virtio2-input.0", "eth0", LINE),
        ("hardirq", 9, "acpi", None, "irq 9 acpi"),
        ("vector", 236, "local_timer", None, "local_timer"),
        ("vector", 236, None, None, "vector 236"),
        ("softirq", 3, "NET_RX", None, "NET_RX"),
        ("softirq", 42, None, pd.NA, "softirq 42"),
        ("poll", 3, None, "eth0", "eth0 poll"),
        ("poll", 3, None, None, "backlog poll (RPS, veth, lo)"),
        ("nmi", pd.NA, None, None, "NMI"),
    ):
        assert thief_label(context, id_, name, device) == label
