# What a command of the kit must leave as it was. Others may use the host meanwhile: what is theirs
# is told by its process, and settings of the whole host are looked at in tests that run alone.

import hashlib
import json
import os
import re
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

TRACING = Path("/sys/kernel/tracing")
RUN = Path("/run")

# Of a device that iproute2 shows, what changes by itself.
COUNTS = {"stats", "stats64", "operstate", "ifindex", "link_index", "link_netnsid"}


def snapshot(*folders: Path, buffer: bool = False, whole: bool = False) -> dict[str, str]:
    """The host as it is: what (`"sysctl net/core/skb_defer_max"`) and how (`"64"`).

    :param folders: are told with all that is in them; processes are told that name the first in
        their command, their environment or as the folder they are in
    :param buffer: the kernel's own trace buffer, too, which others may be using meanwhile
    :param whole: sysctls, interfaces, modules and all mounts, too, of which any are others'
    """
    found: dict[str, str] = {}
    if buffer:
        found.update(own_buffer())
    for part in (instances, *((sysctls, devices, links, modules) if whole else ())):
        found.update(part())
    found.update(names(whole))
    found.update(mounts(folders, whole))
    for folder in folders:
        found.update(files(folder))
    if folders:
        found.update(processes(folders[0]))
    return found


def within(*folders: Path) -> dict[str, str]:
    """Of the host, only what is in folders, and the processes that have to do with the first."""
    return dict(one for folder in folders for one in files(folder)) | dict(processes(folders[0]))


def differences(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """What is not as it was, a line each; empty where all is."""
    said = []
    for name in sorted(before.keys() | after.keys()):
        was, now = before.get(name), after.get(name)
        if was is None:
            said.append(f"{name}: new ({now})")
        elif now is None:
            said.append(f"{name}: gone (was {was})")
        elif was != now:
            said.append(f"{name}: {now} (was {was})")
    return said


def lasting_differences(
    before: dict[str, str], *folders: Path, seconds: float = 10, **parts: bool
) -> list[str]:
    """What is still not as it was after so many seconds: what others do comes and goes."""
    deadline = time.monotonic() + seconds
    # What was left of one that was killed before may go.
    left = {name for name in before if name.startswith(("tracing instance", "namespace"))}
    while True:
        now = snapshot(*folders, **parts)
        lasting = {name: was for name, was in before.items() if name in now or name not in left}
        said = differences(lasting, now)
        if not said or time.monotonic() > deadline:
            return said
        time.sleep(0.2)


def files(folder: Path) -> Iterator[tuple[str, str]]:
    for path in [folder, *folder.rglob("*")]:
        try:
            status = path.lstat()
            head = f"{stat.filemode(status.st_mode)} {status.st_uid}:{status.st_gid}"
            if path.is_symlink():
                head += f" to {path.readlink()}"
            elif path.is_file():
                digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
                head += f" {status.st_size} bytes {digest}"
        except OSError:
            continue
        yield f"file {path}", head


def own_buffer() -> Iterator[tuple[str, str]]:
    names = ["current_tracer", "tracing_on", "trace_clock", "tracing_cpumask", "trace_options"]
    names += ["set_event", "set_event_pid", "set_ftrace_filter", "kprobe_events", "uprobe_events"]
    paths = [TRACING / name for name in [*names, "buffer_percent"]]
    for path in [*paths, *TRACING.glob("per_cpu/cpu*/buffer_size_kb")]:
        if (text := text_of(path)) is not None:
            # A buffer that was not used yet has a size it will have.
            value = re.sub(r"^\d+ \(expanded: (\d+)\)", r"\1", text)
            yield f"tracing {path.relative_to(TRACING)}", " ".join(value.split())


def instances() -> Iterator[tuple[str, str]]:
    if (TRACING / "instances").is_dir():
        for path in (TRACING / "instances").iterdir():
            # netcost-record calls its instance by its pid, and may end while this looks.
            ours = path.name.startswith("netcost-")
            if ours and not of_a_process(path.name) and path.exists():
                yield f"tracing instance {path.name}", "there"


def sysctls() -> Iterator[tuple[str, str]]:
    """Of networks, all that may be written; and what recorders could switch."""
    root = Path("/proc/sys")
    paths = [Path(folder, name) for folder, _, names in os.walk(root / "net") for name in names]
    for path in [*paths, root / "kernel" / "ftrace_enabled"]:
        short = str(path.relative_to(root))
        if "nf_conntrack" in short or not os.access(path, os.W_OK):
            continue
        if (text := text_of(path)) is not None:
            yield f"sysctl {short}", " ".join(text.split())


def devices() -> Iterator[tuple[str, str]]:
    """Whose CPU interrupts and packets come to."""
    paths = [*Path("/proc/irq").glob("*/smp_affinity_list"), Path("/proc/irq/default_smp_affinity")]
    paths += Path("/sys/class/net").glob("*/queues/*/[rx]ps_cpus")
    for path in paths:
        if (text := text_of(path)) is not None:
            yield f"setting {path}", text.strip()


def links() -> Iterator[tuple[str, str]]:
    done = subprocess.run(["ip", "-d", "-j", "link"], capture_output=True, text=True)
    for link in json.loads(done.stdout or "[]"):
        kept = {name: value for name, value in link.items() if name not in COUNTS}
        kept.pop("linkinfo", None)
        yield f"interface {link.get('ifname')}", json.dumps(kept, sort_keys=True)


def names(whole: bool) -> Iterator[tuple[str, str]]:
    """The namespaces that have a name, and what recorders, or the whole kit, keep under /run."""
    if (RUN / "netns").is_dir():
        for path in (RUN / "netns").iterdir():
            ours = path.name.startswith("netcost-")
            if ours and not of_a_process(path.name) and path.exists():
                yield f"namespace {path.name}", "there"
    for top in RUN.glob("netcost*" if whole else "netcost-trace*"):
        for path in [top, *top.rglob("*")]:
            # A folder comes and goes with what is in it, which may be another's.
            if path.is_file() and not of_a_process(str(path.relative_to(RUN))) and not is_held(top):
                yield f"file {path}", (text_of(path) or "").strip()


def mounts(folders: Sequence[Path], whole: bool) -> Iterator[tuple[str, str]]:
    for line in (text_of(Path("/proc/self/mountinfo")) or "").splitlines():
        here, _, there = line.partition(" - ")
        _, _, _, root, point, options, *_ = here.split()
        # iproute2 makes it one, once, and it stays.
        if point.startswith("/run/netns"):
            continue
        # What else is mounted among what is temporary is of other tests.
        inside = any(point.startswith(str(folder)) for folder in folders)
        if point.startswith(tempfile.gettempdir()) and not inside:
            continue
        if not (whole or inside or there.startswith("tracefs ")):
            continue
        yield f"mount {point}", f"{root} {options} {there}"


def modules() -> Iterator[tuple[str, str]]:
    """What the lab loads: others' come and go."""
    if Path("/sys/module/openvswitch").is_dir():
        yield "module openvswitch", "loaded"


def processes(folder: Path) -> Iterator[tuple[str, str]]:
    word = os.fsencode(folder)
    for path in Path("/proc").glob("[0-9]*"):
        if path.name == str(os.getpid()):
            continue
        try:
            command = (path / "cmdline").read_bytes()
            inside = word in os.fsencode(os.readlink(path / "cwd"))
            if word in command or inside or word in (path / "environ").read_bytes():
                said = command.replace(b"\0", b" ").decode(errors="replace").strip()
                yield f"process {path.name}", said[:200]
        except OSError:
            continue


def text_of(path: Path) -> str | None:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return None


def of_a_process(name: str) -> bool:
    """Is it called by a process that is still there: netcost-PID, netcost-lab-PID-START-WORD?"""
    found = re.search(r"(\d+)(?:-(\d+))?", name)
    return found is not None and lives(found[1], found[2])


def lives(pid: str, began: str | None = None) -> bool:
    """Is there a process of that number, which began then, in ticks since boot?"""
    status = text_of(Path("/proc", pid, "stat"))
    return status is not None and began in (None, status.rpartition(") ")[2].split()[19])


def is_held(lock: Path) -> bool:
    """Has a lock of the kit an owner that is still there?"""
    owner = text_of(lock / "owner")
    return owner is not None and lives(*owner.split("\t")[:2])
