# Which component a function belongs to: the rules of a user's file, then those of components.toml.

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..._native import CaptureError, matching
from ...errors import ArgumentError
from .interrupts import ENDS, HARDIRQ, VECTOR

if TYPE_CHECKING:
    from ..._native import NativeRules

OWN = Path(__file__).parents[1] / "functions" / "components.toml"
# Kernel functions that no rule names; user mode, which rules do not name.
UNCLASSIFIED, APPLICATION = "unclassified", "application"
IDLE = "idle"
_LISTS = ("functions", "modules", "under", "until")
_FIELDS = {"component", "timer", *_LISTS}


@dataclass(frozen=True)
class Rule:
    # A [[rule]] of the file. functions, modules, under, until: patterns as in a shell.
    component: str
    functions: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    under: tuple[str, ...] = ()
    until: tuple[str, ...] = ()
    timer: str = ""
    place: str = field(default="", compare=False)

    def names(self, functions: Sequence[str], modules: Sequence[str]) -> list[bool]:
        # Whether it names each function. modules: of the functions, "" for the kernel itself.
        by_name, by_module = matching(self.functions, functions), matching(self.modules, modules)
        both = zip(by_name, by_module, modules, strict=True)
        return [name or bool(module and known) for name, known, module in both]


def read(path: Path) -> list[Rule]:
    # Raises CaptureError, in one line, for a file that is not valid.
    try:
        text = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CaptureError(f"{path.name} is no file of rules: {error}") from None
    found = text.get("rule")
    if not isinstance(found, list) or set(text) != {"rule"}:
        raise CaptureError(f"{path.name} is no file of rules: [[rule]] begins each")
    return [_rule(one, f"{path.name}, rule {at}") for at, one in enumerate(found, 1)]


def _rule(given: Any, place: str) -> Rule:
    if not isinstance(given, dict) or not isinstance(given.get("component"), str):
        raise CaptureError(f"{place}: component has to be a name")
    unknown = set(given) - _FIELDS
    if unknown:
        known = ", ".join(sorted(_FIELDS))
        raise CaptureError(f"{place}: no field {', '.join(sorted(unknown))}; there are {known}")
    lists = {name: given.get(name, []) for name in _LISTS}
    for name, of in lists.items():
        if not isinstance(of, list) or not all(isinstance(one, str) for one in of):
            raise CaptureError(f"{place}: {name} has to be a list of names")
    if not lists["functions"] and not lists["modules"]:
        raise CaptureError(f"{place}: it names neither functions nor modules")
    if lists["until"] and not lists["under"]:
        raise CaptureError(f"{place}: until takes under")
    timer = given.get("timer", "")
    if timer not in ("", "function", "address"):
        raise CaptureError(f'{place}: timer has to be "function" or "address"')
    if given["component"] in (UNCLASSIFIED, APPLICATION):
        raise CaptureError(f"{place}: {given['component']} is what no rule names")
    parts = {name: tuple(of) for name, of in lists.items()}
    return Rule(given["component"], timer=timer, place=place, **parts)


@cache
def _ours() -> tuple[Rule, ...]:
    return tuple(read(OWN))


def rules(given: str | Path | None = None) -> list[Rule]:
    # The rules of a user's file take precedence over ours.
    if given is None:
        return list(_ours())
    if not Path(given).is_file():
        raise ArgumentError(f"no file of rules {given}")
    return [*read(Path(given)), *_ours()]


def components_of(given: list[Rule]) -> list[str]:
    # Their names. Native returns places in this list.
    return [UNCLASSIFIED, APPLICATION, *dict.fromkeys(rule.component for rule in given)]


def native_rules(given: list[Rule]) -> "NativeRules":
    # As native takes them, with the functions that show where an interrupt ended.
    code = {name: at for at, name in enumerate(components_of(given))}
    rules = [
        (code[rule.component], rule.functions, rule.modules, rule.under, rule.until, rule.timer)
        for rule in given
    ]
    return rules, ENDS, (*VECTOR, *HARDIRQ)
