# A line's device is the one that was polled in most of the NET_RX softirqs that this line raised:
# each softirq speaks once per device, however often it polls it, and for the lines that raised it.

from pathlib import Path

from support.perfdata import cpu
from support.perfdata import happenings as h
from support.told import NET_RX, OPENSSL, UDPSINK, answer

NAPI = {"eth0": 0x10, "eth1": 0x20}


def interrupt(at: int, irq: int) -> list[h.Happening]:
    name = f"virtio{irq - 25}-input.0"
    return [h.IrqEntry(at, irq, name), h.SoftirqRaise(at + 1, NET_RX), h.IrqExit(at + 2, irq)]


def softirq(at: int, *devices: str) -> list[h.Happening]:
    polls = [
        h.NapiPoll(at + 5 * place, device, 1, 64, NAPI[device])
        for place, device in enumerate(devices, 1)
    ]
    return [h.SoftirqEntry(at, NET_RX), *polls, h.SoftirqExit(at + 5 * len(polls) + 1, NET_RX)]


def devices(path: Path, told: list[h.Happening]) -> dict[int, tuple[str | None, str]]:
    last = h.Waking(100_000, UDPSINK)
    got = answer(path, cpu(0, *told, last, task=OPENSSL), known=(OPENSSL,))
    return {row["irq"]: (row["device"], row["is_network"]) for row in got.irqs}


# Five times:
#
# |irq 25|NET_RX: eth0 ... |irq 26| ... eth0|NET_RX: eth1|
#         raised by 25      raises the next  raised by 26
#
# The poll after irq 26 is still of the softirq that irq 25 had raised.
def test_a_line_that_interrupts_a_softirq_raises_the_next(tmp_path: Path) -> None:
    told: list[h.Happening] = []
    for start in range(1000, 6000, 1000):
        told += interrupt(start, 25)
        told += [h.SoftirqEntry(start + 100, NET_RX), h.NapiPoll(start + 120, "eth0", 64, 64, 0x10)]
        told += interrupt(start + 125, 26)
        told += [h.NapiPoll(start + 140, "eth0", 5, 64, 0x10), h.SoftirqExit(start + 141, NET_RX)]
        told += softirq(start + 150, "eth1")
    assert devices(tmp_path, told) == {25: ("eth0", "yes"), 26: ("eth1", "yes")}


# Five times both lines raise a NET_RX that polls eth0 three times and eth1 once; and each line has
# one softirq of its own. By polls line 26 would be eth0's, 15 to 6; by softirqs it is eth1's, 6 to
# 5.
def test_a_softirq_counts_once_per_device(tmp_path: Path) -> None:
    told: list[h.Happening] = []
    for start in range(1000, 6000, 1000):
        told += [*interrupt(start, 25), *interrupt(start + 10, 26)]
        told += softirq(start + 100, "eth0", "eth0", "eth0", "eth1")
    told += [*interrupt(7000, 25), *softirq(7100, "eth0")]
    told += [*interrupt(8000, 26), *softirq(8100, "eth1")]
    assert devices(tmp_path, told) == {25: ("eth0", "yes"), 26: ("eth1", "yes")}


# One interrupt, then two softirqs: ksoftirqd or the loop in handle_softirqs ran NET_RX again for
# what was raised meanwhile, by nobody's line.
def test_a_line_is_not_told_by_softirqs_that_it_did_not_raise(tmp_path: Path) -> None:
    told: list[h.Happening] = []
    for start in range(1000, 6000, 1000):
        told += [*interrupt(start, 25), *softirq(start + 100, "eth0")]
        told += [h.SoftirqRaise(start + 200, NET_RX), *softirq(start + 210, "eth1")]
        told += [h.SoftirqRaise(start + 300, NET_RX), *softirq(start + 310, "eth1")]
    assert devices(tmp_path, told) == {25: ("eth0", "yes")}


# Every softirq of line 26 polled both devices, which says network, and not which; line 25 had one
# more of eth0.
def test_a_tie_names_no_device(tmp_path: Path) -> None:
    told: list[h.Happening] = []
    for start in range(1000, 6000, 1000):
        told += [*interrupt(start, 25), *interrupt(start + 10, 26)]
        told += softirq(start + 100, "eth0", "eth1")
    told += [*interrupt(9000, 25), *softirq(9100, "eth0", "eth0", "eth0")]
    assert devices(tmp_path, told) == {25: ("eth0", "yes"), 26: (None, "yes")}
