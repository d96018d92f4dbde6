"""Runs cells with IPython in this process. Their outputs go into a notebook."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import TextIOBase
from tempfile import TemporaryDirectory
from typing import Any

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.pylabtools import select_figure_formats
from traitlets import Type
from traitlets.config import Config


class _Publisher(DisplayPublisher):
    def publish(self, data: Any, metadata: Any = None, *_: Any, **__: Any) -> None:
        self.shell.add("display_data", data, metadata=metadata or {})

    def clear_output(self, wait: bool = False) -> None:
        self.shell.outputs.clear()


class _Hook(DisplayHook):
    def write_output_prompt(self) -> None:
        pass

    def write_format_data(self, format_dict: Any, md_dict: Any = None) -> None:
        count = self.prompt_count
        self.shell.add("execute_result", format_dict, metadata=md_dict or {}, execution_count=count)

    def finish_displayhook(self) -> None:
        self._is_active = False


class Shell(InteractiveShell):
    """A shell without history, profile and prompt."""

    display_pub_class = Type(_Publisher)
    displayhook_class = Type(_Hook)
    # Outputs of the running cell.
    outputs: list[Any]
    # An exception raised by showing an answer, which IPython only prints.
    raised: BaseException | None = None

    def add(self, kind: str, data: dict[str, Any], **about: Any) -> None:
        """Add an output to the running cell."""
        self.outputs.append({"output_type": kind, "data": data, **about})

    def showtraceback(self, *args: Any, **options: Any) -> None:
        """Print the exception, and keep it."""
        self.raised = sys.exc_info()[1]
        super().showtraceback(*args, **options)

    def enable_gui(self, gui: Any = None) -> None:
        """Do nothing: pictures go into the page, not a window."""

    def show_pictures(self) -> None:
        """Make pictures outputs of their cells, as in a notebook."""
        self.enable_matplotlib("inline")  # type: ignore[no-untyped-call]
        # enable_matplotlib sets formats only for the first shell of a process.
        select_figure_formats(self, {"png"})  # type: ignore[no-untyped-call]

    def run(self, cell: Any) -> BaseException | None:
        """Run a cell, and return its exception."""
        self.outputs, self.raised = [], None
        cell.outputs = self.outputs
        with redirect_stdout(_Stream(self, "stdout")), redirect_stderr(_Stream(self, "stderr")):
            result = self.run_cell(cell.source, store_history=True)  # type: ignore[no-untyped-call]
        cell.execution_count = result.execution_count
        error = result.error_before_exec or result.error_in_exec or self.raised
        return error if isinstance(error, BaseException) else None


class _Stream(TextIOBase):
    def __init__(self, shell: "Shell", name: str) -> None:
        self._shell, self._name = shell, name

    def write(self, text: str) -> int:
        outputs = self._shell.outputs
        if not outputs or outputs[-1].get("name") != self._name:
            outputs.append({"output_type": "stream", "name": self._name, "text": ""})
        outputs[-1]["text"] += text
        return len(text)


@contextmanager
def shell() -> Iterator[Shell]:
    """A shell for the cells of a notebook. There is only one at a time."""
    quiet = Config(
        {"HistoryManager": {"enabled": False}, "InteractiveShell": {"colors": "nocolor"}}
    )
    with TemporaryDirectory() as folder, open(os.devnull) as nothing:
        made, stdin = Shell.instance(ipython_dir=folder, config=quiet), sys.stdin
        # No user can answer the prompt of a cell.
        sys.stdin = nothing
        made.show_pictures()
        try:
            yield made
        finally:
            sys.stdin = stdin
            made.restore_sys_module_state()
            Shell.clear_instance()
