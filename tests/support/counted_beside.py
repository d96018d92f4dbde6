# Counters beside a described recording, as netcost-record leaves them: what /proc said before and
# after, and when each file was read.

from typing import Any

# When each file was read, in ns: all of them at once, which no host does and no test minds.
BEFORE, AFTER = (1_000, 2_000), (90_000, 91_000)
_SOFTIRQS = ("HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "RCU")
_FILES = ("softirqs", "interrupts", "net_softnet_stat", "stat")


def beside(
    cpus: int,
    softirqs: dict[tuple[str, int], int] | None = None,
    interrupts: dict[tuple[str, int], int] | None = None,
    packets: dict[int, int] | None = None,
    switches: int | None = None,
    names: dict[str, str] | None = None,
    read: tuple[tuple[int, int], tuple[int, int]] = (BEFORE, AFTER),
) -> dict[str, Any]:
    # Files by name. softirqs, interrupts, packets: growth by (counter and) CPU; None for a file
    # that is not there. names: what stands behind an interrupt line's counts.
    files: dict[str, Any] = {}
    for side, at, share in (("before", read[0], 0), ("after", read[1], 1)):
        texts = {
            "softirqs": softirqs and _by_cpu(cpus, softirqs, share, dict.fromkeys(_SOFTIRQS, "")),
            "interrupts": interrupts and _by_cpu(cpus, interrupts, share, names or {}),
            "net_softnet_stat": packets and _softnet(cpus, packets, share),
            "stat": _stat(cpus, switches, share),
        }
        stamp = [f"{name} {at[0]} {at[1]}\n" for name in _FILES if texts[name]]
        files |= {f"{side}/{name}": text for name, text in texts.items() if text}
        files[f"{side}/stamp"] = f"monotonic_ns {at[0]}\n{''.join(stamp)}"
    return files


def _by_cpu(
    cpus: int, growth: dict[tuple[str, int], int], share: int, names: dict[str, str]
) -> str:
    # Since boot there were 1,000 of each.
    lines = ["".join(f"{f'CPU{number}':>11}" for number in range(cpus))]
    for line in dict.fromkeys([*names, *(line for line, _ in growth)]):
        counts = [1_000 + share * growth.get((line, number), 0) for number in range(cpus)]
        shown = "".join(f"{count:>11}" for count in counts)
        lines.append(f"{line + ':':>12}{shown}  {names.get(line, '')}".rstrip())
    return "\n".join(lines) + "\n"


def _softnet(cpus: int, packets: dict[int, int], share: int) -> str:
    lines = []
    for number in range(cpus):
        columns = [1_000 + share * packets.get(number, 0), *[0] * 11, number]
        lines.append(" ".join(f"{column:08x}" for column in columns))
    return "\n".join(lines) + "\n"


def _stat(cpus: int, switches: int | None, share: int) -> str:
    lines = [f"cpu{number} {' '.join(['100'] * 10)}" for number in range(cpus)]
    lines += [] if switches is None else [f"ctxt {1_000 + share * switches}"]
    return "\n".join(["cpu  100 100 100 100 100 100 100 100 100 100", *lines]) + "\n"
