# A notebook's cells, executed in a kernel: a process of its own.

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import Empty
from tempfile import TemporaryDirectory
from time import monotonic
from typing import TYPE_CHECKING, Any

from .._native import CaptureError
from ..errors import REFUSALS, bug, line_of
from ..progress import progress

if TYPE_CHECKING:
    from jupyter_client.asynchronous.client import AsyncKernelClient
    from jupyter_client.manager import AsyncKernelManager

_START_TIMEOUT_S = 60
_CELL_TIMEOUT_S = 1800


class NotebookError(Exception):
    """A cell of the notebook raised, or it cannot do what was asked; the message is one line."""


@contextmanager
def started(folder: str | Path) -> "Iterator[AsyncKernelManager]":
    """A kernel for execute(), whose process starts at once and ends with the block.

    folder: its working directory.
    """
    from jupyter_client.manager import AsyncKernelManager
    from jupyter_core.utils import run_sync

    with TemporaryDirectory() as own:
        # Sockets in a folder of our own: over TCP others on this host could reach the kernel.
        manager = AsyncKernelManager(kernel_name="python3", transport="ipc", ip=f"{own}/kernel")
        run_sync(manager.start_kernel)(
            cwd=str(folder),
            # A progress bar in a kernel's output would stay in the page; and what a kernel that is
            # ended leaves unpacked would stay where it is.
            env={**os.environ, "NETCOST_PROGRESS": "0", "TMPDIR": own},
            # What cells were executed is nothing to remember.
            extra_arguments=["--HistoryManager.hist_file=:memory:"],
        )
        try:
            yield manager
        finally:
            alive = run_sync(manager.is_alive)()
            run_sync(manager.shutdown_kernel if alive else manager.cleanup_resources)()


def execute(book: Any, kernel: "AsyncKernelManager", ours: bool = True) -> None:
    """Execute a notebook's cells in a kernel, outputs into the notebook.

    book: as nbformat reads it. kernel: of started(). ours: the notebook is one of the project's,
    and what it did not mean to raise is a bug. Raises NotebookError when a cell does; CaptureError,
    in its own words, where a cell asked for what netcost refuses.
    """
    from jupyter_core.utils import run_sync
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    cells = sum(cell.cell_type == "code" for cell in book.cells) or 1
    done = 0
    # In a thread: else nbclient handles signals itself, and calls an end by one a dead kernel.
    with progress("executing the notebook") as advance, ThreadPoolExecutor(1) as thread:

        def count(**_: Any) -> None:
            nonlocal done
            done += 1
            if advance:
                advance(min(done / cells, 1.0))

        client = NotebookClient(
            book,
            km=kernel,
            timeout=_CELL_TIMEOUT_S,
            on_cell_executed=count,
            # Times of execution would make every run another file.
            record_timing=False,
        )

        def run() -> None:
            client.kc = run_sync(_connected)(kernel)
            try:
                client.execute()
            finally:
                client.kc.stop_channels()

        try:
            thread.submit(run).result()
        except CellExecutionError as error:
            if os.environ.get("NETCOST_TRACEBACK"):
                raise
            if error.ename in REFUSALS:
                raise CaptureError(str(error.evalue)) from None
            raise NotebookError(f"the notebook stopped: {_said(error, ours)}") from None
        except (DeadKernelError, CellTimeoutError) as error:
            raise NotebookError(f"the notebook stopped: {line_of(error)}") from None
        except BaseException:
            # What the thread waits for.
            run_sync(kernel.shutdown_kernel)(now=True)
            raise


async def _connected(kernel: "AsyncKernelManager") -> "AsyncKernelClient":
    # KernelClient.wait_for_ready listens for 0.2 s more, for messages that nbclient passes over.
    from nbclient.exceptions import DeadKernelError

    client = kernel.client()
    # No cell can ask anybody; and the process itself tells whether it is alive.
    client.start_channels(stdin=False, hb=False)
    until = monotonic() + _START_TIMEOUT_S
    while monotonic() < until and await kernel.is_alive():
        client.kernel_info()
        try:
            await client.get_shell_msg(timeout=1)
            # What it published of the request: that socket is connected too.
            await client.get_iopub_msg(timeout=0.1)
        except Empty:
            continue
        return client
    client.stop_channels()
    raise DeadKernelError("the kernel did not start")


def _said(error: Any, ours: bool) -> str:
    # What one of the project's own notebooks runs into is a bug, and what a cell of another's does
    # nobody knows.
    name, message = str(error.ename), str(error.evalue)
    return bug(name, message) if ours else f"{name}: {message}"
