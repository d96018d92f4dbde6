import pytest

from netcost_analysis.accounting import accounting, parse_kernel_config


def of(*names: str) -> object:
    found = accounting({f"CONFIG_{name}": "y" for name in names})
    return found and found.regime


@pytest.mark.parametrize(
    ("names", "regime"),
    [
        (("TICK_CPU_ACCOUNTING",), "tick"),
        (("TICK_CPU_ACCOUNTING", "IRQ_TIME_ACCOUNTING"), "irq_time"),
        (("VIRT_CPU_ACCOUNTING_GEN",), "virt_gen"),
        # rq_clock_task leaves interrupts out whichever of the two counts user and system time.
        (("VIRT_CPU_ACCOUNTING_GEN", "IRQ_TIME_ACCOUNTING"), "irq_time"),
        (("VIRT_CPU_ACCOUNTING_NATIVE",), "virt_native"),
        ((), None),
    ],
)
def test_regime(names: tuple[str, ...], regime: str | None) -> None:
    assert of(*names) == regime


def test_an_option_that_is_off_does_not_count() -> None:
    text = "CONFIG_TICK_CPU_ACCOUNTING=y\n# CONFIG_X is not set\nCONFIG_IRQ_TIME_ACCOUNTING=n\n"
    found = accounting(parse_kernel_config(text + 'CONFIG_LOCALVERSION="-lab"\nnonsense\n'))
    assert found is not None
    assert found.regime == "tick"


def test_only_native_charges_ksoftirqd_for_nothing() -> None:
    native = accounting({"CONFIG_VIRT_CPU_ACCOUNTING_NATIVE": "y"})
    irq_time = accounting({"CONFIG_IRQ_TIME_ACCOUNTING": "y"})
    assert native is not None
    assert irq_time is not None
    assert (native.ksoftirqd, irq_time.ksoftirqd) == (False, True)
