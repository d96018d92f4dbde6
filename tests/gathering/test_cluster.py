# Dask's workers: a real scheduler and two worker processes on loopback, one of them killed.

import os
import re
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cloudpickle
import dask
import pandas as pd
import pytest
from distributed import Client, LocalCluster, WorkerPlugin

import netcost_analysis as netcost
from netcost_analysis import CaptureError
from netcost_analysis.gathering import cluster as cluster_module
from netcost_analysis.gathering.gather import Gathered, gather_fleet
from support.fleets import Told, assert_same, captures, content, gathered, some
from support.run_cli import Netcost

# Workers cannot import a test.
cloudpickle.register_pickle_by_value(sys.modules[__name__])
DEADLY = "deadly"


# What makes a worker end whenever it is to read a capture with this name.
class Deadly(WorkerPlugin):  # type: ignore[misc]
    def setup(self, worker: Any) -> None:
        from netcost_analysis.gathering import cluster

        ask = cluster.ask_capture

        def ask_or_end(source: Any, known: Any = None) -> Any:
            if "deadly" in source.path:
                os._exit(9)
            return ask(source, known)

        cluster.ask_capture = ask_or_end


# How many tasks are left, and which workers have one.
def tasks_left(dask_scheduler: Any) -> tuple[int, list[str]]:
    workers = dask_scheduler.workers
    return len(dask_scheduler.tasks), [name for name, one in workers.items() if one.processing]


METHOD = "distributed.worker.multiprocessing-method"


# Its workers are forked from one process that has imported what each of them would.
@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with (
        dask.config.set({METHOD: "forkserver"}),
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=50
        ) as made,
    ):
        yield made


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("captures")
    captures(folder, some(hosts=2, days=3))
    (folder / "cut.data").write_bytes(b"PERFILE2 and no more")
    return folder


@pytest.fixture(scope="module")
def serial(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return gathered(folder, tmp_path_factory.mktemp("serial") / "out")


# Two workers say what one process says, figure by figure. Nothing is lost with a worker, and
# nothing twice: another reads what it had.
def test_a_killed_worker_loses_nothing(
    cluster: LocalCluster, folder: Path, serial: Path, tmp_path: Path
) -> None:
    killed: list[tuple[int, int]] = []
    watching, ended = threading.Event(), threading.Event()

    def kill() -> None:
        with Client(cluster.scheduler_address, set_as_default=False) as client:
            pids, most = client.run(os.getpid), 0
            watching.set()
            while not killed and not ended.is_set():
                left, busy = client.run_on_scheduler(tasks_left)
                most = max(most, left)
                if 1 < left < most and busy:
                    os.kill(pids[busy[0]], signal.SIGKILL)
                    killed.append((pids[busy[0]], left))
                time.sleep(0.005)

    thread = threading.Thread(target=kill)
    thread.start()
    assert watching.wait(60)
    out = tmp_path / "out"
    try:
        done = gather_fleet([folder], out, scheduler=cluster.scheduler_address)
    finally:
        ended.set()
        thread.join()
    # In mid-run: some were done, and some were left.
    [(pid, left)] = killed
    assert 1 < left < 7
    assert done == Gathered(str(out), 7, 7, 0, 1, 0)
    assert_same(out, serial)
    with Client(cluster) as client:
        client.wait_for_workers(2)
        assert pid not in client.run(os.getpid).values()
        threads = set(client.run(os.getenv, "RAYON_NUM_THREADS").values())
    # A worker that somebody else started; one that is new has read nothing yet.
    assert {"1"} <= threads <= {"1", None}
    assert gather_fleet([folder], out, scheduler="tcp://127.0.0.1:1").asked == 0


# A capture on which worker after worker ends is a row that says so, and is asked again next time.
@pytest.mark.slow
def test_what_ends_workers_is_a_row(cluster: LocalCluster, tmp_path: Path) -> None:
    folder = tmp_path / "captures"
    captures(folder, some(hosts=1, days=2))
    [deadly] = captures(folder / DEADLY, [Told(host="other")])
    out = tmp_path / "out"
    with Client(cluster) as client:
        client.register_plugin(Deadly(), name="deadly")
        done = gather_fleet([folder], out, scheduler=cluster.scheduler_address)
        client.unregister_worker_plugin("deadly")
        client.restart()
    assert (done.asked, done.failed) == (3, 1)
    rows = content(out)["captures"].set_index("path")
    assert rows.loc[str(deadly), "error_kind"] == "killed"
    again = gather_fleet([folder], out, scheduler=cluster.scheduler_address)
    assert (again.asked, again.failed) == (1, 0)


def test_the_command(netcost: Netcost, folder: Path, serial: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    few = [str(folder / "cut.data"), *(str(folder / one.name) for one in some(hosts=2, days=3)[:3])]
    # Started as they are for users.
    with dask.config.set({METHOD: "spawn"}):
        run = netcost("fleet", *few, "-o", str(out), "--workers", "1")
    assert run.err == ""
    assert re.findall(r"\d+ \w+", run.out)[:3] == ["4 captures", "4 asked", "1 cannot"]
    assert run.out.endswith(f"netcost fleet-report {out}\n")
    whole = content(serial)
    for name, frame in content(out).items():
        kept = whole[name][whole[name]["path"].isin(few)].reset_index(drop=True)
        pd.testing.assert_frame_equal(frame, kept)
    again = netcost("fleet", *few, "-o", str(out), "--json").json
    assert again == {
        "folder": str(out), "captures": 4, "asked": 0, "same": 0, "failed": 1, "removed": 0,
    }  # fmt: skip


def test_what_the_command_refuses(
    netcost: Netcost, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_module, "_CONNECT_S", 1)
    out, here = ["-o", str(tmp_path / "out")], str(folder)
    for words, code, says in (
        ([here], 2, "-o"),
        (out, 2, "PATH"),
        ([here, *out, "--workers", "0"], 2, "1 or more"),
        ([here, *out, "--workers", "1", "--scheduler", "tcp://x:1"], 2, "scheduler"),
        ([str(tmp_path / "none"), *out], 2, "there is no capture"),
        ([here, "-o", here], 2, "no fleet.json"),
        ([here, *out, "--scheduler", "nowhere"], 1, " at nowhere"),
        ([here, *out, "--scheduler", "tcp://127.0.0.1:1"], 1, " at tcp://127.0.0.1:1"),
    ):
        run = netcost("fleet", *words)
        assert (run.code, run.out) == (code, ""), words
        assert says in run.err
        assert code == 2 or run.err.count("\n") == 1


def test_without_dask(
    netcost: Netcost, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    run = netcost("fleet", str(folder), "-o", str(tmp_path / "out"))
    assert (run.code, run.out) == (1, "")
    assert "'netcost-analysis[fleet]'" in run.err
    assert "distributed" in run.err
    assert run.err.count("\n") == 1


def test_workers_of_another_version(
    cluster: LocalCluster, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_module, "__version__", "99")
    with pytest.raises(CaptureError, match=f"{re.escape(netcost.__version__)}, .* 99"):
        gather_fleet([folder], tmp_path / "out", scheduler=cluster.scheduler_address)


# A terminal sends it to all of them, and each worker would say where it was.
def test_workers_hear_no_interrupt() -> None:
    def masked() -> bool:
        return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])

    before = signal.getsignal(signal.SIGINT)
    spawned = dask.config.set({METHOD: "spawn"})
    with spawned, cluster_module.connected(workers=1) as client:
        assert [*client.run(masked).values()] == [True]
        assert not masked()
    assert signal.getsignal(signal.SIGINT) == before


def test_an_interrupt_while_workers_begin_is_heard_once_they_have() -> None:
    begun = []

    def begin() -> None:
        with cluster_module._without_interrupts():
            os.kill(os.getpid(), signal.SIGINT)
            begun.append("all")

    with pytest.raises(KeyboardInterrupt):
        begin()
    assert begun == ["all"]
