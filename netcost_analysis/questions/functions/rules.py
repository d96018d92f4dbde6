# Which component a function belongs to: the rules of components.toml, before them those of a user's
# own file.

import re
import tomllib
from dataclasses import dataclass, field
from fnmatch import translate
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from ..._native import CaptureError
from ...errors import ArgumentError

OWN = Path(__file__).with_name("components.toml")
# What no rule names, and what rules do not name.
UNCLASSIFIED, APPLICATION = "unclassified", "application"
_LISTS = ("functions", "modules", "under", "until")
_FIELDS = {"component", "timer", *_LISTS}
_ENDINGS = re.compile(
    r"(?:\.(?:isra|constprop|part|cold|llvm|lto_priv|localalias|clone|cfi_jt|cfi)(?:\.\d+)*)+$"
)
# In front of a function whose address is called for: room that the kernel has there to patch.
_PREFIX = "__pfx_"


def folded(symbol: str) -> str:
    # A symbol's function: what the compiler parted from it or made a variant of is it, too.
    return _ENDINGS.sub("", symbol.removeprefix(_PREFIX)) or symbol


@dataclass(frozen=True)
class Rule:
    # A part of the file. functions, modules, under, until: patterns as in a shell.
    component: str
    functions: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    under: tuple[str, ...] = ()
    until: tuple[str, ...] = ()
    timer: str = ""
    place: str = field(default="", compare=False)

    @cached_property
    def _names(self) -> "list[re.Pattern[str]]":
        return [_any_of(one) for one in (self.functions, self.modules, self.under, self.until)]

    def names(self, function: str, module: str) -> bool:
        functions, modules, _, _ = self._names
        return bool(functions.fullmatch(function) or (module and modules.fullmatch(module)))

    def is_under(self, function: str) -> bool:
        return bool(self._names[2].fullmatch(function))

    def ends_at(self, function: str) -> bool:
        return bool(self._names[3].fullmatch(function))


def _any_of(patterns: tuple[str, ...]) -> "re.Pattern[str]":
    # Of no pattern one that nothing is.
    return re.compile("|".join(map(translate, patterns)) if patterns else r"(?!)")


def read(path: Path) -> list[Rule]:
    # The rules of a file. Raises CaptureError, in a line, for one that has none.
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


def rules(own: str | Path | None = None) -> list[Rule]:
    # Those of a user's file, which count before ours, and ours.
    if own is None:
        return list(_ours())
    path = Path(own)
    if not path.is_file():
        raise ArgumentError(f"no file of rules {own}")
    return [*read(path), *_ours()]
