# notebooks/03-local-traffic-processes-and-migrations: the figures of its functions on a sample, and
# a line instead of each part that a capture cannot answer.

import re
from html import unescape
from pathlib import Path

import pytest

import netcost_analysis as netcost
from netcost_analysis.questions.migration import migration_verdict, migrations
from netcost_analysis.questions.processes import client_and_server, softirq_time, traffic_pairs
from netcost_analysis.units import duration, share
from support.host import ROOT, SAMPLES
from support.kept import kept
from support.perfdata import cpu, recording
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.robbed import robbed, written
from support.talk import talk
from support.told import IDLE, OPENSSL, RCU, UDPSINK
from support.told_notebook import Told, tell, told_by

SCRIPT = ROOT / "notebooks" / "03-local-traffic-processes-and-migrations.py"
SAMPLE = "local-migrations.netcost.tar.zst"


@pytest.fixture(scope="module")
def page() -> str:
    with pytest.MonkeyPatch.context() as patch:
        shown = told_by(SCRIPT, patch, path=str(SAMPLES / SAMPLE))
    assert len(shown.pictures) >= 5
    assert all(shown.pictures)
    return shown.text


@pytest.fixture(scope="module")
def timeline() -> netcost.Timeline:
    return kept(SAMPLE).timeline()


def words(page: str) -> str:
    return unescape(re.sub(r"<[^>]+>", "", page))


def test_the_figures_are_the_functions(page: str, timeline: netcost.Timeline) -> None:
    text = words(page)
    ends = client_and_server(timeline).frame.set_index("side")
    for side, row in ends.iterrows():
        assert f"{side}, iperf3 ({row['tid']})" in text
        assert f"for {duration(row['on_cpu_ns'])}" in text
        assert f"slept {duration(row['asleep_between_ns'])}" in text
    assert f"{ends.loc['client', 'sent_packets']:,} packets went" in text
    rows = softirq_time(timeline).frame
    assert f"had {duration(rows['ns'].sum())}" in text
    assert f"{share(rows['softirq_share'][rows['action'] == 'NET_RX'].sum())} of it" in text
    assert f"{len(migrations(timeline).frame):,} migrations in" in text
    assert duration(timeline.duration_ns) in text


def test_the_verdicts_are_the_package_s(page: str, timeline: netcost.Timeline) -> None:
    text = words(page)
    for row in client_and_server(timeline).frame.itertuples():
        [found] = migration_verdict(timeline, int(row.tid)).frame.itertuples()
        said = text.partition(f"{row.side} (iperf3 {row.tid}) got?")[2].lstrip()
        assert said.startswith(f"{found.explains.capitalize()}. {found.why}")


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.setattr("support.told_notebook.SCRIPT", SCRIPT)
    return lambda path, **given: tell(path, monkeypatch, **given)


def test_two_that_talk(tmp_path: Path, told: object) -> None:
    path = recording(*talk(), known=(OPENSSL, UDPSINK)).write(tmp_path / "perf.data")
    shown: Told = told(path)  # type: ignore[operator]
    # A tenth more softirq time makes it 1 % longer.
    for figure in (
        *("<strong>client</strong>, udpsink (600),", "for 20.0 µs", "2.00 µs, 10.0 %"),
        *("1.0 % longer", "1.0 % less", "nothing was migrated", "<strong>No</strong>"),
    ):
        assert figure in shown.text, figure


@pytest.mark.parametrize(
    ("kept", "needs"),
    [
        (
            (*t.IRQ_FORMATS, t.NAPI_POLL),
            (
                "context_switches needs sched:sched_switch",
                "migrations needs sched:sched_migrate_task",
            ),
        ),
        (t.SCHED_FORMATS, ("softirq_time needs irq:softirq_entry", "<strong>No</strong>")),
        (
            tuple(one for one in t.FORMATS if "migrate" not in one.name),
            ("migrations needs sched:sched_migrate_task", "Softirqs had"),
        ),
    ],
    ids=["no scheduler", "no softirqs", "no migrations"],
)
def test_what_was_not_recorded(
    tmp_path: Path, told: object, kept: tuple[object, ...], needs: tuple[str, ...]
) -> None:
    shown: Told = told(written(tmp_path, robbed(), formats=kept))  # type: ignore[operator]
    for one in needs:
        assert one in shown.text


# A letter that the font has not is nothing to warn a reader of.
@pytest.mark.filterwarnings("error:Glyph")
def test_names_from_strangers(tmp_path: Path, told: object) -> None:
    task = h.Task(500, "<script>$x{\n网")
    shown: Told = told(written(tmp_path, robbed(victim=task)))  # type: ignore[operator]
    assert "<script" not in shown.text
    assert "no two tasks" in shown.text


def test_nothing_to_see(tmp_path: Path, told: object) -> None:
    for number, one in enumerate(
        (cpu(0, h.SoftirqRaise(5, RCU), task=OPENSSL), robbed(victim=IDLE), robbed(rounds=1))
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        shown: Told = told(written(folder, one))  # type: ignore[operator]
        assert "nothing was migrated" in shown.text


def test_losses(tmp_path: Path, told: object) -> None:
    whole = robbed()
    happenings = (*whole.happenings[:24], h.Lost(380_000, 7), *whole.happenings[24:])
    shown: Told = told(written(tmp_path, cpu(0, *happenings, task=OPENSSL)))  # type: ignore[operator]
    assert "7 events were" in shown.text


def test_a_victim_is_asked_about(tmp_path: Path, told: object) -> None:
    path = written(tmp_path, robbed())
    shown: Told = told(path, victim="openssl")  # type: ignore[operator]
    assert "openssl got? <strong>No</strong>" in shown.text
    with pytest.raises(ValueError, match=r"'opensl' .* openssl"):
        told(path, victim="opensl")  # type: ignore[operator]


def test_what_the_table_and_the_lines_are(page: str, timeline: netcost.Timeline) -> None:
    text = words(page)
    pairs = traffic_pairs(timeline).frame
    named = (pairs["by_packet_share"] * pairs["units"]).sum() / pairs["units"].sum()
    assert f"Of {share(named)} the" in text
    assert "95 % interval" in text
