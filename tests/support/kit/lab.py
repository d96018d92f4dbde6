# Running the lab's experiments from tests: as a user would, with nothing of them left afterwards.

import csv
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.host import ROOT, missing, require_alone, require_root_tracing, require_tool
from support.kit.host_snapshot import lasting_differences, snapshot
from support.kit.record import ended, lasting_processes, started

LAB = ROOT / "capture" / "lab"
EXPERIMENTS = (
    "stolen-time",
    "datapath-sweep",
    "local-regression",
    "io-sizes",
    "quiet-interface",
    "hidden-cost",
    "nic-guest",
)
DEFER = Path("/proc/sys/net/core/skb_defer_max")


def lab(script: str, *words: object) -> str:
    """What a script prints that has sourced the lab's libraries as an experiment does."""
    sourced = f'experiment=probe typed=probe; . "{LAB}/lib/lab.sh"; trap - EXIT; {script}'
    command = ["sh", "-c", sourced, LAB / "probe", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def namespaces(left: bool = False) -> set[str]:
    """The lab's, by name; with left those of experiments that are gone."""
    folder = Path("/run/netns")
    found = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    ours = {name for name in found if name.startswith("netcost-lab-")}
    return {name for name in ours if not left or not Path("/proc", name.split("-")[2]).exists()}


def require_lab(*tools: str) -> None:
    require_alone()
    for tool in ("ip", "nsenter", "taskset", "setsid", *tools):
        require_tool(tool)
    require_root_tracing()
    if (os.cpu_count() or 1) < 2:
        missing("needs two CPUs")
    probe = subprocess.run(["ip", "netns", "add", "netcost-probe"], capture_output=True, text=True)
    if probe.returncode != 0:
        missing(f"needs to make network namespaces: {probe.stderr.strip()}")
    subprocess.run(["ip", "netns", "delete", "netcost-probe"], check=True)


@contextmanager
def nothing_of_the_lab_left(folder: Path) -> Iterator[dict[str, str]]:
    """An environment whose TMPDIR must be empty again, with the host and its networks as before."""
    temporary = folder / "tmp"
    temporary.mkdir()
    left, host = namespaces(left=True), snapshot(temporary, whole=True)
    yield {**os.environ, "TMPDIR": str(temporary)}
    # What an earlier one had left is gone, which is no harm.
    gone = {f"namespace {name}" for name in left - namespaces(left=True)}
    before = {what: value for what, value in host.items() if what not in gone}
    assert lasting_differences(before, temporary, seconds=3, whole=True) == []
    assert lasting_processes(str(folder)) == []


def ran(name: str, folder: Path, *options: str) -> Path:
    """The experiment, run to its end: what it wrote."""
    with nothing_of_the_lab_left(folder) as environment:
        done = ended([LAB / name, "-o", folder / name, *options], env=environment)
        assert done.returncode == 0, done.stderr
    return folder / name


def interrupted(
    name: str,
    folder: Path,
    awaited: str,
    *options: str,
    wait: Callable[[], object] = lambda: time.sleep(0.5),
) -> None:
    """Ctrl-C once the experiment has said what is awaited and wait has returned: nothing stays."""
    with nothing_of_the_lab_left(folder) as environment:
        process = started(
            [LAB / name, "-o", folder / name, *options], env=environment, stderr=subprocess.PIPE
        )
        try:
            said = ""
            for line in process.stderr:
                said += line
                if awaited in line:
                    break
            assert awaited in said
            assert namespaces()
            wait()
        finally:
            # One that runs on would fail the tests after this one.
            os.killpg(process.pid, signal.SIGINT)
            _, rest = process.communicate(timeout=40)
        assert process.returncode == 128 + signal.SIGINT, rest
    assert {path.name for path in folder.iterdir()} == {"tmp"}


def series(folder: Path) -> tuple[dict[str, Any], list[dict[str, str]]]:
    experiment = json.loads((folder / "experiment.json").read_text(encoding="ascii"))
    assert experiment["netcost_experiment"] == 1
    with (folder / experiment["table"]).open(encoding="ascii") as table:
        rows = list(csv.DictReader(table, delimiter="\t"))
    for row in rows:
        empty = {name for name, value in row.items() if value in (None, "")}
        # To a CPU of one's own no frees are deferred: that has no control.
        freed = {name for name in row if name.startswith("control_freed_")}
        if row.get("cpus") == "one":
            assert freed <= empty
            empty -= freed
        # sockperf reports no CPU time, and pidstat runs beside what is not traced.
        if row.get("program") == "sockperf" and row["bundle"]:
            empty -= {"client_cpu_percent", "server_cpu_percent"}
        # A repeat has a trace or not.
        assert empty in ([set()] if {"bundle", "folder"} - set(row) else [{"bundle"}, {"folder"}])
    return experiment, rows


# In QEMU's place: a guest that asks for packets like guest/ask, and leaves the bundles that its
# plan names, but for those of the path "bridge".
QEMU = r"""#!/bin/sh
case "$*" in
*--version*) echo "QEMU emulator version @version@.0.2"; exit ;;
*"-device help"*) echo 'name "virtio-net-pci", bus PCI'; exit ;;
esac
[ -z "$NETCOST_TEST_HANGS" ] || exec sleep 60
for word; do
	case $word in local,path=*) share=${word#local,path=} share=${share%%,*} ;; esac
	case $word in */initrd) grep -q "the root and a kernel" "$word" || exit 1 ;; esac
done
. "$share/plan"
echo "1 $guest_address $port $pps $size 1 $burst 30" >"$share/request.new"
mv "$share/request.new" "$share/request"
sleep 0.5
echo "1 stop" >"$share/request.new"
mv "$share/request.new" "$share/request"
while [ ! -e "$share/answer" ]; do sleep 0.1; done
for path in $paths; do
	for count in $flows; do
		[ "$path" != bridge ] || continue
		bundle=$share/bundles/$path-$count-flows
		mkdir -p "$bundle/before" "$bundle/after"
		cp "$share/sender" "$bundle/manifest.json"
		# CPU 0 has worked on 4,096 packets meanwhile; with 2 flows on none, where that is told.
		echo "00000000 0 0 0 0 0 0 0 0 0 0 0 0" >"$bundle/before/net_softnet_stat"
		packets=00001000
		[ -z "$NETCOST_TEST_ELSEWHERE" ] || [ "$count" != 2 ] || packets=00000000
		echo "$packets 0 0 0 0 0 0 0 0 0 0 0 0" >"$bundle/after/net_softnet_stat"
	done
done
echo "guest: a word of the guest's" >"$share/guest.log"
echo 0 >"$share/status"
"""


def guest(folder: Path, version: int = 10) -> dict[str, str]:
    """An environment with the program above for QEMU, and a folder of kernels for --work."""
    programs, work = folder / "programs", folder / "work"
    programs.mkdir()
    work.mkdir()
    (programs / "qemu-system-x86_64").write_text(QEMU.replace("@version@", str(version)))
    (programs / "debootstrap").write_text("#!/bin/sh\nexit 1\n")
    for program in programs.iterdir():
        program.chmod(0o755)
    (work / "root.cpio").write_text("the root and ")
    (work / "6.1.cpio").write_text("a kernel")
    (work / "6.1.linux").write_text("")
    return {"PATH": f"{programs}:{os.environ['PATH']}"}
