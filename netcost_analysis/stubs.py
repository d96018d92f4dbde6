"""Lazy imports: a package's names are imported on first use, as its stub lists them."""

import ast
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .accessors import load


def attach(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """A package's __getattr__ and __dir__.

    file: the package's __file__. Its stub has lines `from .MODULE import NAME as NAME`, or
    `from . import MODULE as MODULE` for a module of the package.
    """
    # load() takes module paths relative to netcost_analysis.
    above = "".join(f"{part}." for part in package.split(".")[1:])
    homes: dict[str, str] = {}
    for line in ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8")).body:
        if isinstance(line, ast.ImportFrom):
            for name in (alias.name for alias in line.names):
                homes[name] = f"{above}{line.module}:{name}" if line.module else f"{above}{name}"

    def attribute(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = load(homes[name])
        setattr(sys.modules[package], name, value)
        return value

    return attribute, lambda: sorted(homes)
