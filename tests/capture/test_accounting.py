from pathlib import Path

import pytest

from netcost_analysis import open_capture
from netcost_analysis.capture.accounting import accounting, measures_interrupts
from netcost_analysis.parsers.settings import parse_kernel_config
from netcost_analysis.questions.stolen import monitor_ends, stolen_from
from support.doctored import doctored
from support.perfdata import recording
from support.perfdata import tracepoints as t
from support.run_cli import Netcost
from support.told import robbed

BUILT_IN = ("IRQ_TIME_ACCOUNTING", "TICK_CPU_ACCOUNTING")
# What is set in the configuration, the command line, the clocksource, and the regime.
REGIMES = [
    (("TICK_CPU_ACCOUNTING",), "", None, "tick"),
    (("VIRT_CPU_ACCOUNTING_GEN",), "", None, "virt_gen"),
    # rq_clock_task leaves interrupts out whichever of the two counts user and system time.
    (("VIRT_CPU_ACCOUNTING_GEN", "IRQ_TIME_ACCOUNTING"), "", None, "irq_time"),
    (("VIRT_CPU_ACCOUNTING_NATIVE",), "", None, "virt_native"),
    ((), "", None, None),
    # Built in, it is off where the command line or the TSC says so.
    (BUILT_IN, "quiet tsc=noirqtime", "tsc", "tick"),
    (BUILT_IN, "tsc=unstable", "hpet", "tick"),
    (BUILT_IN, "tsc=reliable", "tsc", "irq_time"),
    (BUILT_IN, "", "kvm-clock", "irq_time"),
    (BUILT_IN, "", None, "irq_time"),
    (BUILT_IN, "", "hpet", None),
]


def configured(*names: str) -> dict[str, str]:
    return {f"CONFIG_{name}": "y" for name in names}


@pytest.mark.parametrize(("names", "command_line", "clocksource", "regime"), REGIMES)
def test_regime(
    names: tuple[str, ...], command_line: str, clocksource: str | None, regime: str | None
) -> None:
    found = accounting(configured(*names), command_line, clocksource)
    assert (found and found.regime) == regime
    # Only irq_time charges nobody; of virt_native vtime_flush gives interrupts to the task, too.
    charged = regime != "irq_time"
    assert found is None or found[1:] == (charged, charged, True)


# What the counters show goes before all of that, and stands for it where nothing was recorded.
@pytest.mark.parametrize(
    ("irq_ticks", "interrupts", "measures"),
    [
        (0, 100_000, False),
        (0, 99_999, None),
        (5, 10_000, True),
        (4, 10_000, None),
        (5, 10**7, None),
    ],
)
def test_the_counters_show_whether_interrupts_are_measured(
    irq_ticks: int, interrupts: int, measures: bool | None
) -> None:
    assert measures_interrupts(irq_ticks, interrupts) is measures
    found = accounting(configured(*BUILT_IN), "", "hpet", measures)
    assert (found and found.regime) == {True: "irq_time", False: "tick", None: None}[measures]
    assert (accounting({}, measures=measures) is not None) == (measures is False)


def test_an_option_that_is_off_does_not_count() -> None:
    text = "CONFIG_TICK_CPU_ACCOUNTING=y\n# CONFIG_X is not set\nCONFIG_IRQ_TIME_ACCOUNTING=n\n"
    found = accounting(parse_kernel_config(text + 'CONFIG_LOCALVERSION="-lab"\nnonsense\n'))
    assert found is not None
    assert found.regime == "tick"


@pytest.fixture
def built_in(tmp_path: Path) -> Path:
    path = doctored(tmp_path / "b")
    text = "".join(f"{name}=y\n" for name in configured(*BUILT_IN))
    (path / "kernel_config").write_text(text)
    return path


def test_a_bundle_knows_its_command_line(built_in: Path) -> None:
    assert regime(built_in) == "irq_time"
    (built_in / "before" / "settings").mkdir()
    (built_in / "before" / "settings" / "cmdline").write_text("root=/dev/vda tsc=noirqtime\n")
    assert regime(built_in) == "tick"


def test_the_bundles_counters_go_before_its_configuration(built_in: Path) -> None:
    for side, count in (("before", 0), ("after", 200_000)):
        (built_in / side / "stat").write_text("cpu0 1 0 1 1 0 0 9 0 0 0\n")
        (built_in / side / "interrupts").write_text(f"      CPU0\n LOC: {count} Local timer\n")
    assert regime(built_in) == "tick"
    (built_in / "after" / "stat").write_text("cpu0 1 0 1 1 0 20 9 0 0 0\n")
    assert regime(built_in) == "irq_time"


# Where nothing says it, from none to all of the interrupts are charged.
def test_of_an_unknown_kernel_a_monitors_figure_is_a_range(tmp_path: Path) -> None:
    path = doctored(tmp_path / "b")
    (path / "kernel_config").unlink(missing_ok=True)
    line = open_capture(path).timeline()
    row = stolen_from(line, "openssl").row
    taken = row["stolen_max_ns"] + row["synchronous_ns"]
    assert taken > 0
    assert monitor_ends(line, row) == (row["on_cpu_ns"] - taken, row["on_cpu_ns"])


def regime(path: Path) -> str | None:
    bundle = open_capture(path).bundle
    return bundle.accounting.regime if bundle and bundle.accounting else None


# Interrupts that no event shows are in what is charged, as far as the figure knows.
@pytest.mark.parametrize(
    ("option", "vectors", "is_most"),
    [("IRQ_TIME", False, True), ("IRQ_TIME", True, False), ("TICK_CPU", False, False)],
)
def test_what_was_not_recorded_makes_a_monitors_figure_an_upper_end(
    tmp_path: Path, option: str, vectors: bool, is_most: bool, netcost: Netcost
) -> None:
    path = doctored(tmp_path / "b")
    formats = tuple(one for one in t.FORMATS if vectors or one.system != "irq_vectors")
    told = recording(robbed(), known=(robbed().first_task,), formats=formats)
    told.write(path / "trace.perf.data")
    (path / "kernel_config").write_text(f"CONFIG_{option}_ACCOUNTING=y\n")
    line = open_capture(path).timeline()
    row = stolen_from(line, "openssl").row
    assert monitor_ends(line, row) == (0 if is_most else row["monitor_ns"], row["monitor_ns"])
    rows = netcost("stolen", str(path)).out.splitlines()
    assert ("≤" in next(one for one in rows if one.startswith("openssl "))) == is_most
