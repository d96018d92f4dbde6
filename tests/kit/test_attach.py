# netcost-record --attach: a service that runs already is the victim, and takes no notice.

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from netcost_analysis import compare, open_capture
from support.kit.record import SHORT, Recorder, manifest_of, require_recorder, samples
from support.kit.service import Service, cgroup, service
from support.run_cli import Netcost

pytestmark = pytest.mark.live

QUICK = ("--duration", "1", "--sidecars", "none", "--tool", "tracefs")
CPU = 1
# Datagrams to the loopback device, whose softirqs run on the CPU that sends them.
LOAD = f"""taskset -c {CPU} python3 -c '
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("127.0.0.1", 0))
s.connect(s.getsockname())
s.setblocking(False)
while True:
    for _ in range(50): s.send(b"x")
    try:
        while True: s.recv(9)
    except BlockingIOError: pass
'"""


def state_of(pid: int) -> list[str]:
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    return [line for line in status if line.startswith(("Cpus_allowed", "SigIgn", "Uid"))]


@pytest.fixture(scope="module")
def attached(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[tuple[Path, Service]]":
    require_recorder("tracefs")
    folder = tmp_path_factory.mktemp("attach")
    with service(folder, CPU) as one:
        before = state_of(one.pid)
        options = ["--attach", one.pid, "--work", one.work, "--load", LOAD]
        Recorder(folder, dict(os.environ))(*QUICK, *options)
        # It runs on as it did.
        assert one.process.poll() is None
        assert state_of(one.pid) == before
        yield folder / "b", one


def test_the_manifest_says_who_and_when(attached: "tuple[Path, Service]") -> None:
    bundle, one = attached
    manifest = manifest_of(bundle)
    victim, of = manifest["victim"], manifest["victim"]["attached"]
    assert (victim["pid"], victim["cpu"], victim["output"]) == (one.pid, CPU, None)
    assert (of["to"], of["comm"], of["ended"], of["work"]) == ("process", "svc", False, one.work)
    born = Path(f"/proc/{one.pid}/stat").read_text().rpartition(") ")[2].split()[19]
    assert of["start_ticks"] == int(born)
    window = manifest["window"]
    assert window["start_ns"] < victim["start_ns"] < victim["end_ns"] < window["end_ns"]
    assert victim["wall_s"] > 0.9
    assert victim["user_s"] + victim["system_s"] > 0
    assert (manifest["baseline"], manifest["afterwards"]) == ("baseline/", "afterwards/")


def test_every_thread_and_child_is_read_each_time(attached: "tuple[Path, Service]") -> None:
    bundle, one = attached
    tids = one.tids()
    assert len(tids) == 3
    texts = [(bundle / side / "victim").read_text() for side in ("before", "after")]
    texts += ["\n".join(lines) for *_, lines in samples(bundle, "victim")]
    for text in texts:
        for tid in tids:
            assert f"task/{tid}/stat {tid} (svc" in text
            assert f"task/{tid}/schedstat " in text
    work = [int(lines[0]) for *_, lines in samples(bundle, "work")]
    ends = [int((bundle / side / "work").read_text()) for side in ("before", "after")]
    assert ends[0] <= min(work) <= max(work)
    assert ends[0] < ends[1] <= one.done()


@pytest.mark.measures
def test_the_accounts_of_it_agree(attached: "tuple[Path, Service]") -> None:
    bundle, _ = attached
    victim = manifest_of(bundle)["victim"]
    # Three tasks on one CPU; ticks of 10 ms.
    assert victim["wall_s"] < 4
    assert victim["user_s"] + victim["system_s"] < victim["wall_s"] * 1.1 + 0.05
    capture = open_capture(bundle)
    answer = capture.ask.accounting.accounts()
    frame = answer.frame
    assert "cpu_stat" not in frame.index
    # Of the same threads and the same time; the scheduler charges interrupts to them.
    assert frame["got_share"]["schedstat"] == pytest.approx(frame["got_share"]["traced"], abs=0.15)
    assert frame["got_share"]["traced"] < frame["got_share"]["schedstat"] + 0.03
    service = answer.parts["in_all"]["service"]
    assert service["with_load"]
    assert frame["lost_share"]["work"] == pytest.approx(1 - service["work_share"])
    # By hand.
    rates = []
    for of in (bundle, bundle / "baseline", bundle / "afterwards"):
        grown, at = [], []
        for side in ("before", "after"):
            grown.append(int((of / side / "work").read_text()))
            stamp = (of / side / "stamp").read_text()
            line = next(line for line in stamp.splitlines() if line.startswith("work "))
            at.append(sum(map(int, line.split()[1:])) / 2)
        rates.append((grown[1] - grown[0]) / (at[1] - at[0]))
    assert service["work_share"] == pytest.approx(rates[0] / rates[1])
    assert service["afterwards_share"] == pytest.approx(rates[2] / rates[1])


def test_it_is_one_victim_of_several_names(
    attached: "tuple[Path, Service]", netcost: Netcost
) -> None:
    bundle, one = attached
    capture = open_capture(bundle)
    timeline = capture.timeline()
    assert timeline.victim == f"process:{one.pid}"
    sums = timeline.sums()
    own = sums[sums["tid"].isin(one.tids()).fillna(False).astype(bool)]
    assert set(own["comm"]) >= {"svc", "svc-thread", "svc-child"}
    words = ("--victim", f"process:{one.pid}", "--window", "trace", "--json")
    told = netcost("stolen", str(bundle), *words).json
    assert sum(row["on_cpu_ns"] for row in told["victims"]) == int(own["ns"].sum())
    headline = capture.ask.stolen_time.headline()
    assert int(headline.frame["ns"].sum()) == int(own["ns"].sum())
    assert "svc" in headline.words


@pytest.mark.slow
@pytest.mark.measures
def test_two_recordings_are_compared_by_its_work(
    attached: "tuple[Path, Service]", tmp_path: Path, recorder: Recorder
) -> None:
    bundle, one = attached
    recorder(*QUICK, "--attach", one.pid, "--work", one.work)
    changes = compare(tmp_path / "b", bundle, per="work").ask.comparison.changes().frame
    rows = changes.set_index("metric")
    assert "busy_ns_per_work" in rows.index
    for side, path in (("base", tmp_path / "b"), ("new", bundle)):
        capture = open_capture(path)
        shares = capture.ask.accounting.accounts().frame["got_share"]
        # Of blocks of its run, that of its run on all CPUs.
        assert rows[side]["victim_share"] == pytest.approx(shares["traced"], abs=0.02)


@pytest.mark.parametrize(
    "absolute",
    [pytest.param(True, marks=(pytest.mark.slow, pytest.mark.measures)), False],
    ids=["path", "name"],
)
def test_a_cgroup_is_attached_to(absolute: bool, tmp_path: Path, recorder: Recorder) -> None:
    with (
        service(tmp_path, CPU) as one,
        cgroup(f"netcost-{os.getpid()}", one.pid, *one.children()) as group,
    ):
        name = str(group) if absolute else group.name
        recorder(*SHORT, "--duration", "0.5", "--attach", name, "--baseline")
        of = manifest_of(tmp_path / "b")["victim"]
        assert of["pid"] is None
        assert (of["attached"]["to"], of["attached"]["cgroup"]) == ("cgroup", f"/{group.name}")
        capture = open_capture(tmp_path / "b")
        assert capture.timeline().victim == f"cgroup:/{group.name}"
        shares = capture.ask.accounting.accounts().frame["got_share"]
        assert {"schedstat", "traced"} <= set(shares.index)
        counted = (group / "cpu.stat").exists()
        assert counted == ("cgroup_stat" in shares.index)
        if absolute:
            assert shares["schedstat"] == pytest.approx(shares["traced"], abs=0.15)
            assert not counted or shares["cgroup_stat"] == pytest.approx(
                shares["schedstat"], abs=0.1
            )


def test_a_service_that_ends_meanwhile_is_noted(tmp_path: Path, recorder: Recorder) -> None:
    with service(tmp_path, CPU) as one:
        process = recorder.begun(*SHORT, "--duration", "20", "--attach", one.pid)
        partial = tmp_path / "b.partial" / "before" / "victim"
        deadline = time.monotonic() + 30
        while not partial.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        time.sleep(0.5)
        os.kill(one.pid, signal.SIGKILL)
        one.process.wait()
        _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    manifest = manifest_of(tmp_path / "b")
    assert manifest["victim"]["attached"]["ended"]
    assert manifest["victim"]["wall_s"] < 19
