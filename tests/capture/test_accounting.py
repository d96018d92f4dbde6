import pytest

from netcost_analysis.capture.accounting import accounting
from netcost_analysis.parsers.settings import parse_kernel_config


def of(*names: str) -> object:
    found = accounting({f"CONFIG_{name}": "y" for name in names})
    return found and found.regime


def test_regime() -> None:
    for names, regime in (
        (("TICK_CPU_ACCOUNTING",), "tick"),
        (("TICK_CPU_ACCOUNTING", "IRQ_TIME_ACCOUNTING"), "irq_time"),
        (("VIRT_CPU_ACCOUNTING_GEN",), "virt_gen"),
        # rq_clock_task leaves interrupts out whichever of the two counts user and system time.
        (("VIRT_CPU_ACCOUNTING_GEN", "IRQ_TIME_ACCOUNTING"), "irq_time"),
        (("VIRT_CPU_ACCOUNTING_NATIVE",), "virt_native"),
        ((), None),
    ):
        assert of(*names) == regime


def test_an_option_that_is_off_does_not_count() -> None:
    text = "CONFIG_TICK_CPU_ACCOUNTING=y\n# CONFIG_X is not set\nCONFIG_IRQ_TIME_ACCOUNTING=n\n"
    found = accounting(parse_kernel_config(text + 'CONFIG_LOCALVERSION="-lab"\nnonsense\n'))
    assert found is not None
    assert found.regime == "tick"


@pytest.mark.parametrize(
    ("option", "charged"),
    [
        # vtime_flush gives interrupts to account_system_index_time: to the task's stime, too.
        ("VIRT_CPU_ACCOUNTING_NATIVE", (True, True, True)),
        ("VIRT_CPU_ACCOUNTING_GEN", (True, True, True)),
        ("TICK_CPU_ACCOUNTING", (True, True, True)),
        ("IRQ_TIME_ACCOUNTING", (False, False, True)),
    ],
)
def test_only_irq_time_charges_nobody(option: str, charged: tuple[bool, bool, bool]) -> None:
    found = accounting({f"CONFIG_{option}": "y"})
    assert found is not None
    assert (found.hardirq, found.softirq, found.ksoftirqd) == charged
