# What a shell's `time` wrote.

import re
from typing import NamedTuple

# "real 4.18" of time -p and POSIX shells, "real\t0m4.180s" of bash.
_TIME = re.compile(
    r"\b(real|user|sys)\s+(?:(?P<minutes>[0-9]{1,7})m)?(?P<seconds>[0-9]{1,9}[.,][0-9]{1,9})s?\b"
)


class ShellTime(NamedTuple):
    """Seconds of wall time, and of user and system time by times(2)."""

    real_s: float
    user_s: float
    system_s: float


def parse_shell_time(text: str) -> ShellTime | None:
    """The last `time` in a text; None where not all three of its figures are there.

    Source: the reserved word of bash, and time(1p).
    """
    found = {
        match[1]: 60 * int(match["minutes"] or 0) + float(match["seconds"].replace(",", "."))
        for match in _TIME.finditer(text)
    }
    if len(found) < 3:
        return None
    return ShellTime(found["real"], found["user"], found["sys"])
