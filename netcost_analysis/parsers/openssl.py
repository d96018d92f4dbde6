"""Parsers for `openssl speed`, and for a shell's `time` after it."""

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

# "Doing AES-256-CBC ops for 3s on 1024 size blocks: 5262498 AES-256-CBC ops in 2.99s"; "'s in"
# before OpenSSL 3. The text is untrusted, so the number of digits is limited.
_COUNT, _SECONDS = "[0-9]{1,15}", r"[0-9]{1,9}(?:\.[0-9]{1,9})?"
_DOING = re.compile(
    rf"Doing (?P<algorithm>.+?)(?: ops)? for (?P<asked>[0-9]{{1,9}})s on (?P<size>{_COUNT}) size "
    rf"blocks: ?(?:(?P<blocks>{_COUNT}) .+? in (?P<time>{_SECONDS})s)?"
)
# With -mr: "+DT:aes-256-cbc:3:1024" before and "+R:5262498:aes-256-cbc:2.990000" after.
_MR_ASKED = re.compile(
    rf"\+DT:(?P<algorithm>[^:]+):(?P<asked>[0-9]{{1,9}}):(?P<size>{_COUNT})(?![0-9])"
)
_MR_RESULT = re.compile(
    rf"\+R:(?P<blocks>{_COUNT}):(?P<algorithm>[^:]+):(?P<time>{_SECONDS})(?![0-9.])"
)
# "real 4.18" of time -p and POSIX shells, "real\t0m4.180s" of bash.
_TIME = re.compile(
    r"\b(real|user|sys)\s+(?:(?P<minutes>[0-9]{1,7})m)?(?P<seconds>[0-9]{1,9}[.,][0-9]{1,9})s?\b"
)
_FORKED = re.compile(r"^Forked child [0-9]", re.MULTILINE)


class SpeedRun(NamedTuple):
    """One result of `openssl speed`; with -multi, of all processes together.

    Attributes
    ----------
    algorithm : str
        openssl's name for it, in lower case.
    size_bytes, blocks, processes : int
        The size of a block, the number of blocks done, and the number of concurrent processes.
    asked_s, user_s : float
        The wall time until the alarm signal, and the user time by times(2) (wall time under
        -elapsed).
    """

    algorithm: str
    size_bytes: int
    blocks: int
    asked_s: float
    user_s: float
    processes: int = 1

    @property
    def work(self) -> tuple[str, int]:
        """The kind of work, equal for comparable runs: algorithm with processes, and size."""
        several = f" in {self.processes} processes" if self.processes > 1 else ""
        return f"{self.algorithm}{several}", self.size_bytes

    @property
    def per_s(self) -> float:
        """Blocks per second of wall time."""
        return self.blocks / self.asked_s


def parse_openssl_speed(text: str) -> list[SpeedRun]:
    """The finished results in the output of `openssl speed`, human-readable or -mr.

    Source: apps/speed.c of OpenSSL 1.1 and 3 (print_message, print_result, do_multi).

    Parameters
    ----------
    text : str
        The output.

    Returns
    -------
    list of SpeedRun
        In the order printed, one per algorithm and block size; empty if there are none. With -multi
        they are sums over the processes, if all of them have a result.
    """
    runs, processes, is_multi = [], 1, _FORKED.search(text) is not None
    # Measurements under way, by algorithm; each process of -multi has one at a time.
    asked: dict[str, list[re.Match[str]]] = defaultdict(list)
    for line in text.splitlines():
        match = _DOING.search(line) or _MR_ASKED.search(line)
        if match and not is_multi:
            # Any earlier measurement was cut off.
            asked.clear()
        # openssl never measures for 0 s.
        if match and int(match["asked"]):
            begun = asked[match["algorithm"]]
            begun.append(match)
            processes = max(processes, len(begun))
        # The count is on the same line, or on the next one if the output was split in between.
        result = match if match and match.groupdict().get("blocks") else _MR_RESULT.search(line)
        if result and (begun := asked[result["algorithm"]]):
            begin = begun.pop(0)
            runs.append(
                SpeedRun(
                    algorithm=begin["algorithm"].lower(),
                    size_bytes=int(begin["size"]),
                    blocks=int(result["blocks"]),
                    asked_s=float(begin["asked"]),
                    user_s=float(result["time"]),
                )
            )
    return runs if processes == 1 else _of_all(runs, processes)


def _of_all(runs: Sequence[SpeedRun], processes: int) -> list[SpeedRun]:
    # If a process has no result, the sum is not known.
    by_work: dict[tuple[str, int], list[SpeedRun]] = defaultdict(list)
    for run in runs:
        by_work[run.work].append(run)
    return [
        same[0]._replace(
            blocks=sum(run.blocks for run in same),
            user_s=sum(run.user_s for run in same),
            processes=processes,
        )
        for same in by_work.values()
        if len(same) == processes
    ]


class ShellTime(NamedTuple):
    """Seconds of wall time, and of user and system time by times(2)."""

    real_s: float
    user_s: float
    system_s: float


def parse_shell_time(text: str) -> ShellTime | None:
    """The last output of `time` in a text; None unless all three figures are there.

    Source: the reserved word of bash, and time(1p).
    """
    seconds = {
        match[1]: 60 * int(match["minutes"] or 0) + float(match["seconds"].replace(",", "."))
        for match in _TIME.finditer(text)
    }
    if len(seconds) < 3:
        return None
    return ShellTime(seconds["real"], seconds["user"], seconds["sys"])
