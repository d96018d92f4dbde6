"""Runs ask_capture() on Dask workers, in a local cluster or an existing one.

Dask comes with the extra `fleet`, not with the package. It deploys on one machine, Kubernetes,
Slurm or YARN, and gives a killed worker's tasks to other workers, all without code of ours.
"""

import os
import signal
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from multiprocessing import resource_tracker
from threading import current_thread, main_thread
from typing import TYPE_CHECKING, Any

from .._native import CaptureError, __version__
from .ask_capture import Answered, ask_capture, failed
from .sources import Source

if TYPE_CHECKING:
    from distributed import Client

# Limits native to one thread per worker: each reads one capture, and there is a worker per core.
_THREADS = "RAYON_NUM_THREADS"
_CONNECT_S = 20
# The most futures at the scheduler, which keeps a kilobyte or two for each.
_IN_FLIGHT = 5_000
# A capture is given up when more workers than this have died reading it.
_DEATHS = 2
_KILLED = "several workers died while reading it, perhaps because memory ran out"


@contextmanager
def connected(scheduler: str | None = None, workers: int | None = None) -> "Iterator[Client]":
    """Yield a client of a cluster.

    scheduler: its address, tcp://HOST:8786. Unless given, a local cluster of single-threaded
    workers is started, which ends with the block. workers: of the local cluster; one per core
    unless given. Raises CaptureError if no scheduler answers or workers have another netcost.
    """
    import dask
    from distributed import Client, LocalCluster

    settings = {
        "distributed.scheduler.allowed-failures": _DEATHS,
        # One capture per worker, so that no other capture is blamed when the worker dies.
        "distributed.scheduler.worker-saturation": 1.0,
        # A capture is one long task: do not warn that it holds the GIL.
        "distributed.admin.tick.limit": "1h",
        "distributed.comm.timeouts.connect": f"{_CONNECT_S}s",
    }
    with dask.config.set(settings):
        if scheduler is None:
            with ExitStack() as opened:
                with _without_interrupts():
                    cluster = LocalCluster(
                        n_workers=workers or len(os.sched_getaffinity(0)),
                        threads_per_worker=1,
                        dashboard_address="127.0.0.1:0",
                        silence_logs=50,
                        env={_THREADS: "1"},
                    )
                    opened.enter_context(cluster)
                yield opened.enter_context(Client(cluster))
            return
        try:
            client = Client(scheduler, timeout=_CONNECT_S, set_as_default=False)
        except Exception as error:
            # Dask raises ValueError, KeyError or AssertionError for an invalid address.
            why = _line(error) or type(error).__name__
            raise CaptureError(f"no scheduler answers at {scheduler}: {why}") from None
        with client:
            _require_netcost(client, scheduler)
            yield client


@contextmanager
def _without_interrupts() -> Iterator[None]:
    # A terminal sends Ctrl-C to the workers too, and each would print a traceback although this
    # process ends them. So threads started here, and the workers that they start, block SIGINT.
    # This thread raises KeyboardInterrupt once all have started: before, a Dask callback could
    # swallow it.
    heard: list[int] = []
    # Started later, the resource tracker would unblock SIGINT.
    resource_tracker.ensure_running()
    handler = signal.getsignal(signal.SIGINT)
    if current_thread() is main_thread():
        signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if current_thread() is main_thread():
            signal.signal(signal.SIGINT, handler)
    if heard:
        raise KeyboardInterrupt


def _line(error: BaseException) -> str:
    return str(error).partition("\n")[0]


def _require_netcost(client: "Client", scheduler: str) -> None:
    # Workers that join later are not checked; their rows have their version.
    try:
        versions: Mapping[str, Any] = client.run(_version)
    except Exception as error:
        raise CaptureError(
            f"the workers of {scheduler} cannot run netcost {__version__}: {_line(error)}"
        ) from None
    for worker, version in versions.items():
        if version != __version__:
            raise CaptureError(
                f"worker {worker} of {scheduler} has netcost {version}, but this is {__version__}"
            )


def _version() -> str:
    return __version__


def ask_one(source: Source, known: str | None) -> Answered:
    """What a worker runs: ask_capture(), with native on one thread."""
    # For workers that we did not start. Native reads the variable on first use.
    os.environ.setdefault(_THREADS, "1")
    return ask_capture(source, known)


def ask_all(client: "Client", todo: Iterable[tuple[Source, str | None]]) -> Iterator[Answered]:
    """Yield the result for each capture as workers finish.

    client: of the cluster. todo: captures, each with its checksum if its answers are known. A
    killed worker's captures go to other workers; one that kills worker after worker gets a row that
    says so. Raises CaptureError if the scheduler is gone.
    """
    from distributed import CancelledError, as_completed
    from distributed.scheduler import KilledWorker

    left = iter(todo)
    waiting: dict[Any, Source] = {}
    done = as_completed([], loop=client.loop)

    def submit() -> None:
        for source, known in left:
            future = client.submit(ask_one, source, known, pure=False)
            waiting[future.key] = source
            done.add(future)
            if len(waiting) >= _IN_FLIGHT:
                return

    submit()
    while waiting:
        future = next(done)
        source = waiting.pop(future.key)
        try:
            result: Answered = future.result()
        except KilledWorker:
            result = Answered(source.path, failed(source, "killed", _KILLED))
        except (CancelledError, OSError) as error:
            raise CaptureError(
                f"the scheduler is gone ({type(error).__name__}): the answers so far are kept, and "
                "the same command continues from there"
            ) from None
        future.release()
        yield result
        if len(waiting) < _IN_FLIGHT // 2:
            submit()


def ask_here(todo: Iterable[tuple[Source, str | None]]) -> Iterator[Answered]:
    """Like ask_all(), but in this process, one capture after the other, without Dask."""
    for source, known in todo:
        yield ask_capture(source, known)
