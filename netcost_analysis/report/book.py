# Notebook files, and the parameters that a report sets in them.

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from .execution import NotebookError

# Parameters of a notebook that name recordings besides the capture.
FURTHER = ("experiment", "traced", "base")


class Cell(Struct):
    """A cell. outputs: in Jupyter's format, with joined texts and pictures in base64."""

    cell_type: Literal["code", "markdown", "raw"]
    # A text, or in a file a list of its lines.
    source: Any
    metadata: dict[str, Any] = {}
    attachments: dict[str, dict[str, str]] = {}
    execution_count: int | None = None
    outputs: list[dict[str, Any]] = []

    def __post_init__(self) -> None:
        self.source = "".join(self.source)

    @property
    def tags(self) -> list[str]:
        """Jupyter's tags of the cell."""
        tags: list[str] = self.metadata.get("tags", [])
        return tags


class Book(Struct):
    """A notebook in the format that Jupyter has written since 2015."""

    nbformat: Literal[4]
    cells: list[Cell]

    def title(self, otherwise: str) -> str:
        """The first heading."""
        texts = (cell.source for cell in self.cells if cell.cell_type == "markdown")
        lines = (line for text in texts for line in text.splitlines())
        return next((line[2:].strip() for line in lines if line.startswith("# ")), otherwise)

    def set_parameters(self, values: Mapping[str, Any], notebook: str) -> None:
        """Add a cell that sets parameters, like papermill, which runs the same notebooks.

        Raises NotebookError for a parameter that the notebook lacks.
        """
        tagged = [at for at, cell in enumerate(self.cells) if "parameters" in cell.tags]
        known = "\n".join(self.cells[at].source for at in tagged)
        # Unset further recordings: the defaults go with the notebook's own capture.
        further = [name for name in FURTHER if re.search(rf"^{name}\s*=", known, re.MULTILINE)]
        values = dict.fromkeys(further) | dict(values)
        for name in values:
            if (tagged or name != "path") and not re.search(rf"^{name}\s*=", known, re.MULTILINE):
                raise NotebookError(f"{notebook} has no parameter {name}")
        source = "\n".join(f"{name} = {value!r}" for name, value in values.items())
        cell = Cell("code", source, {"tags": ["injected-parameters"]})
        self.cells.insert(tagged[-1] + 1 if tagged else 0, cell)


def read_book(notebook: Path) -> Book:
    """Read a notebook. Raises NotebookError for any other file."""
    try:
        return msgspec.json.decode(notebook.read_bytes(), type=Book)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise NotebookError(f"{notebook} is no notebook that can be read: {error}") from None
