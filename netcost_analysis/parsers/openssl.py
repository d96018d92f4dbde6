"""What `openssl speed` wrote."""

import re
from typing import NamedTuple

# "Doing AES-256-CBC ops for 3s on 1024 size blocks: 5262498 AES-256-CBC ops in 2.99s"; "'s in"
# before OpenSSL 3. As many digits as a stranger's text may have that is to be a number.
_COUNT, _SECONDS = "[0-9]{1,15}", r"[0-9]{1,9}(?:\.[0-9]{1,9})?"
_DOING = re.compile(
    rf"Doing (?P<algorithm>.+?)(?: ops)? for (?P<asked>[0-9]{{1,9}})s on (?P<size>{_COUNT}) size "
    rf"blocks: ?(?:(?P<blocks>{_COUNT}) .+? in (?P<time>{_SECONDS})s)?"
)
# With -mr: "+DT:aes-256-cbc:3:1024" before and "+R:5262498:aes-256-cbc:2.990000" after.
_MR_ASKED = re.compile(
    rf"\+DT:(?P<algorithm>[^:]+):(?P<asked>[0-9]{{1,9}}):(?P<size>{_COUNT})(?![0-9])"
)
_MR_RESULT = re.compile(rf"\+R:(?P<blocks>{_COUNT}):[^:]+:(?P<time>{_SECONDS})(?![0-9.])")


class SpeedRun(NamedTuple):
    """One result of `openssl speed`.

    Attributes
    ----------
    algorithm : str
        As openssl calls it, in lower case.
    size_bytes, blocks : int
        The size of a block, and how many were done.
    asked_s : float
        The wall time between the alarm and its signal.
    user_s : float
        What times(2) said of it (wall time instead under -elapsed).
    """

    algorithm: str
    size_bytes: int
    blocks: int
    asked_s: float
    user_s: float


def parse_openssl_speed(text: str) -> list[SpeedRun]:
    """The results in an `openssl speed` output, human-readable or -mr; those it finished.

    Parameters
    ----------
    text : str
        Its output.

    Returns
    -------
    list of SpeedRun
        In the order printed, one per algorithm and block size; empty where there are none.

    Notes
    -----
    Source: apps/speed.c of OpenSSL 1.1 and 3 (print_message, print_result).
    """
    runs = []
    asked: re.Match[str] | None = None
    for line in text.splitlines():
        match = _DOING.search(line) or _MR_ASKED.search(line)
        if match:
            # Nothing is done in no time: that is no result of openssl's.
            asked = match if int(match["asked"]) else None
        # The count follows on the same line, or on the next where the output was cut in between.
        result = match if match and match.groupdict().get("blocks") else _MR_RESULT.search(line)
        if result and asked:
            runs.append(_run(asked, result))
            asked = None
    return runs


def _run(asked: re.Match[str], result: re.Match[str]) -> SpeedRun:
    return SpeedRun(
        algorithm=asked["algorithm"].lower(),
        size_bytes=int(asked["size"]),
        blocks=int(result["blocks"]),
        asked_s=float(asked["asked"]),
        user_s=float(result["time"]),
    )
