# Figures for a reader: three significant digits and a suitable unit.

from collections.abc import Iterable
from typing import Any

_UNITS = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"), (1, "ns"))
# Decimal prefixes for rates, as in ethtool and iperf3.
_MULTIPLES = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def duration(ns: Any) -> str:
    # 1_234_567 -> "1.23 ms"; None and NA -> "unknown".
    if absent(ns):
        return "unknown"
    ns = int(ns)
    if ns == 0:
        return "0"
    for factor, unit in _UNITS:
        # 999_600 ns rounds to 1 ms at three digits.
        if abs(ns) >= factor * 0.9995:
            value = abs(ns) / factor
            digits = 0 if value >= 99.95 else 1 if value >= 9.995 else 2
            return f"{ns / factor:.{digits}f} {unit}"
    return f"{ns} ns"


def last_digit(ns: Any) -> int:
    # The weight in ns of the last digit that duration() prints: 1_234_567 -> 10_000.
    return int(10 ** max(len(str(int(ns))) - 3, 0))


def are_near(low: Any, high: Any, digit: float) -> bool:
    return bool(high - low < digit)


def fine_duration(ns: Any) -> str:
    # Like duration(), but keeps fractions below 100 ns, for means; less than half a ps is 0.
    if absent(ns) or abs(ns) >= 100:
        return duration(ns)
    return f"{ns if abs(ns) >= 0.0005 else 0:.3g} ns"


def share(fraction: Any) -> str:
    # 0.1234 -> "12.3 %", 2.271 -> "227 %"; None, NA and NaN -> "".
    if absent(fraction):
        return ""
    percent = 100 * float(fraction)
    if 0 < percent < 0.05:
        return "<0.1 %"
    # Never round up to "100 %".
    if 99.95 <= percent < 100:
        return ">99.9 %"
    return f"{percent:.1f} %" if percent < 99.95 else f"{percent:,.0f} %"


def signed_share(fraction: Any) -> str:
    # -0.0512 -> "-5.1 %", 0.0512 -> "+5.1 %"; -0.0002 -> "-0.02 %", since "-<0.1 %" reads badly.
    # Less than 0.0005 % is 0.
    percent = 100 * abs(fraction)
    if percent < 0.0005:
        return share(0)
    sign = "-" if fraction < 0 else "+"
    if 0 < percent < 0.05:
        return f"{sign}{percent:.1g} %"
    if 99.95 <= percent < 100:
        return f"{sign}{min(percent, 99.9999):.6g} %"
    return sign + share(abs(fraction))


def points(fraction: Any, digits: int = 1, sign: bool = False) -> str:
    # A difference of shares in percentage points: -0.0512 -> "5.1", signed "-5.1". 0 has no sign.
    value = round(100 * float(fraction), digits)
    return f"{value:+.{digits}f}" if sign and value else f"{abs(value):.{digits}f}"


def figure(value: Any) -> str:
    # A number for a table: three significant digits, but every digit before the decimal point.
    return f"{value:,.0f}" if abs(value) >= 99.95 else f"{value:.3g}"


def since(time_ns: Any, origin_ns: int, digits: int = 6) -> str:
    # A moment in seconds from an origin.
    return f"{(int(time_ns) - origin_ns) / 1e9:.{digits}f}"


def elapsed(start_ns: int, end_ns: int) -> str:
    return duration(end_ns - start_ns)


def multiple(value: Any, digits: int = 3) -> str:
    # A large number with the prefix of a decimal multiple: 3_824_000_000 -> "3.82 G".
    factor, prefix = next((pair for pair in _MULTIPLES if abs(value) >= pair[0]), (1, ""))
    return f"{value / factor:.{digits}g} {prefix}"


def thousands(value: Any) -> str:
    # 98_765.4 -> "99 thousand", 178 -> "178".
    return f"{value:,.0f}" if abs(value) < 1e4 else f"{value / 1e3:,.0f} thousand"


def significant(value: float, digits: int = 3) -> str:
    """`digits` significant digits, but every digit before the point: "1.25", "19,351"."""
    return f"{value:,.0f}" if abs(value) >= 10**digits else f"{value:,.{digits}g}"


def mbit(bytes_per_s: Any) -> str:
    return f"{8 * float(bytes_per_s) / 1e6:,.0f} Mbit/s"


def round_width(span_ns: int, about: int = 120) -> int:
    # A bin width: the least 1, 2 or 5 times a power of ten ns that needs at most `about` bins.
    wanted = max(-(-span_ns // about), 1)
    power = int(10 ** (len(str(wanted)) - 1))
    return int(next(step * power for step in (1, 2, 5, 10) if step * power >= wanted))


def ranges(cpus: Iterable[int]) -> str:
    # CPU numbers as taskset and the kernel write them: [0, 1, 2, 5] -> "0-2,5".
    runs: list[list[int]] = []
    for cpu in sorted(cpus):
        if runs and cpu == runs[-1][-1] + 1:
            runs[-1] = [runs[-1][0], cpu]
        else:
            runs.append([cpu])
    return ",".join("-".join(map(str, run)) for run in runs)


def plural(number: int, one: str, many: str | None = None) -> str:
    """A number with its noun: "1 poll", "2,939 polls"."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def were(number: int) -> str:
    return "was" if number == 1 else "were"


def not_recorded(cpu: int, recorded: Iterable[int]) -> str:
    return f"CPU {cpu} was not recorded; the capture has {ranges(recorded) or 'none'}"


def printable(text: str) -> str:
    # Names in a capture are untrusted: escape control characters that would reach the terminal.
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in text)


def absent(value: Any) -> bool:
    # True for None, NA and NaN, without importing pandas: NA != NA is NA, which has no truth value.
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:
        return True
