"""Names of a package that are imported on first use, as the stub beside it lists them."""

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def attach(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """A package's __getattr__ and __dir__.

    file: the package's own. Its stub holds `from .MODULE import NAME as NAME`, or a dot alone for
    a module of the package.
    """
    homes: dict[str, str | None] = {}
    for line in ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8")).body:
        if isinstance(line, ast.ImportFrom):
            homes |= {one.name: line.module for one in line.names}

    def found(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(f".{homes[name] or name}", package)
        value = getattr(module, name) if homes[name] else module
        setattr(sys.modules[package], name, value)
        return value

    return found, lambda: sorted(homes)
