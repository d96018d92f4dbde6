"""Names of a package that are imported on first use, as the stub beside it lists them."""

import ast
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .accessors import load


def attach(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """A package's __getattr__ and __dir__.

    file: the package's own. Its stub holds `from .MODULE import NAME as NAME`, or a dot alone for
    a module of the package.
    """
    # As load() takes them: from netcost_analysis on.
    above = "".join(f"{part}." for part in package.split(".")[1:])
    homes: dict[str, str] = {}
    for line in ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8")).body:
        if isinstance(line, ast.ImportFrom):
            for name in (one.name for one in line.names):
                homes[name] = f"{above}{line.module}:{name}" if line.module else f"{above}{name}"

    def found(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = load(homes[name])
        setattr(sys.modules[package], name, value)
        return value

    return found, lambda: sorted(homes)
