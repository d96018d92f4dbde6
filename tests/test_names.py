# The public names, whichever module was imported first.

import importlib
import pkgutil

import netcost_analysis
from netcost_analysis.questions.ledger import ledger
from netcost_analysis.questions.stolen import stolen


def test_every_public_name_is_there() -> None:
    for name in netcost_analysis.__all__:
        assert getattr(netcost_analysis, name) is not None
    assert set(netcost_analysis.__all__) <= set(dir(netcost_analysis))


def test_no_module_takes_the_place_of_a_public_name() -> None:
    modules = {one.name for one in pkgutil.iter_modules(netcost_analysis.__path__)}
    assert not modules & set(netcost_analysis.__all__)
    for module in sorted(modules - {"__main__"}):
        importlib.import_module(f"netcost_analysis.{module}")
    assert callable(ledger)
    assert callable(stolen)


def test_a_wrong_name_is_an_attribute_error() -> None:
    assert not hasattr(netcost_analysis, "nonsense")
