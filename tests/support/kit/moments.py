# Killing a command of the kit before and after each command of its own that changes the host, and
# each of its writes; and what it has left after the recovery that the documentation names.

import itertools
import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from support.host import require_tool
from support.kit.host_snapshot import processes
from support.kit.record import started

CHANGES = (
    *("mkdir", "mktemp", "mkfifo", "mv", "rm", "rmdir", "ln", "cp", "dd", "chmod", "tar", "gzip"),
    *("zstd", "mount", "umount", "modprobe", "ip", "tc", "bridge", "ethtool", "nsenter", "setsid"),
    *("perf", "trace-cmd"),
)
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
# A tenth of all is in the ordinary lane.
every_tenth = pytest.mark.parametrize(
    "tenth", [pytest.param(n, marks=[pytest.mark.slow] * (n > 0)) for n in range(10)]
)

ROW = 6

# In the place of a command, for the shell that is looked at. A session that was started goes on; it
# has been started when it leads itself.
SHIM = """#!/bin/sh
[ "$PPID" = "$MOMENTS_OF" ] || exec @real "$@"
n=1
set -C
while ! { true >"$MOMENTS/@name $n"; } 2>/dev/null; do n=$((n + 1)); done
set +C
echo "@name $n" >>"$MOMENTS/order"
begun() {
    read -r stat <"/proc/$1/stat" && set -- "$1" ${stat##*) } && [ "$5" = "$1" ]
}
case $MOMENT,@name in
"before @name $n",*)
    kill "-$MOMENT_SIGNAL" "$PPID"
    # What ignores a signal goes on, and so does what it starts.
    ignored=$(sed -n 's/^SigIgn:[[:blank:]]*/0x/p' "/proc/$PPID/status" 2>/dev/null)
    [ "$((${ignored:-0} >> (MOMENT_SIGNAL - 1) & 1))" = 1 ] || exit 1
    ;;
"after @name $n",setsid)
    { until begun $$; do true; done; kill "-$MOMENT_SIGNAL" "$PPID"; } 2>/dev/null &
    ;;
"after @name $n",*)
    @real "$@"
    status=$?
    kill "-$MOMENT_SIGNAL" "$PPID"
    exit "$status"
    ;;
esac
exec @real "$@"
"""


class Kill(NamedTuple):
    moment: str
    number: signal.Signals


class Killer:
    # folder: for what it takes, none of the command's business; writes: where the command's own
    # writes are looked at; path: where its commands are.
    def __init__(self, folder: Path, writes: str = "", path: str | None = None) -> None:
        self.folder, self.writes = folder, writes
        # How often a moment did not come: what waits does not always do as much.
        self.missed = 0
        (folder / "bin").mkdir(parents=True)
        for name in CHANGES:
            if found := shutil.which(name, path=path):
                shim = folder / "bin" / name
                shim.write_text(SHIM.replace("@real", found).replace("@name", name))
                shim.chmod(0o755)
        source = Path(__file__).with_suffix(".c")
        build = [require_tool("cc"), "-shared", "-fPIC", "-o", folder / "moments.so", source]
        subprocess.run([*build, "-ldl"], check=True)

    def run(
        self,
        command: Sequence[object],
        kill: Kill | None = None,
        **options: Any,
    ) -> int:
        """What the command ends with, killed or not."""
        seen = self.folder / "seen"
        shutil.rmtree(seen, ignore_errors=True)
        seen.mkdir()
        (seen / "order").touch()
        environment = {**os.environ, **options.pop("env", {})}
        environment |= {
            "PATH": f"{self.folder / 'bin'}{os.pathsep}{environment['PATH']}",
            "MOMENTS": str(seen),
            "MOMENTS_WRITES": self.writes,
            "MOMENT": kill.moment if kill else "",
            "MOMENT_SIGNAL": str(int(kill.number)) if kill else "",
            "LD_PRELOAD": str(self.folder / "moments.so"),
        }
        here = ["sh", "-c", 'export MOMENTS_OF=$$; exec "$@"', "sh", *command]
        quiet = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        # One that puts its host back takes its time.
        status = started(here, env=environment, **quiet, **options).wait(timeout=240)
        self.missed += kill is not None and kill.moment.partition(" ")[2] not in self.order()
        return status

    def order(self) -> list[str]:
        return (self.folder / "seen" / "order").read_text().splitlines()

    def kills(self, command: Sequence[object], tenth: int, **options: Any) -> list[Kill]:
        """A tenth of the moments before and after all that it does, with a signal for each."""
        assert self.run(command, **options) == 0
        looked_at = []
        for _, row in itertools.groupby(self.order(), lambda what: what.split()[0]):
            # Of many of one kind in a row the ends.
            what = list(row)
            looked_at += what if len(what) < ROW else [*what[:2], *what[-2:]]
        moments = [f"{when} {what}" for what in looked_at for when in ("before", "after")]
        assert len(moments) > 10
        dice = random.Random(len(moments))
        dice.shuffle(moments)
        return [Kill(moment, dice.choice(SIGNALS)) for moment in moments][tenth::10]


def none_runs(folder: Path, seconds: float) -> list[str]:
    """The processes that still have to do with the folder after so long."""
    deadline = time.monotonic() + seconds
    while (left := [said for _, said in processes(folder)]) and time.monotonic() < deadline:
        time.sleep(0.1)
    return left
