# A line's device is the one that was polled in most of the NET_RX softirqs that this line raised:
# each softirq speaks once per device, however often it polls it, and for the lines that raised it.

from pathlib import Path

import pytest

from support.drawn import happenings, ledger_of, rounds

IRQ25 = "0 irq 25 virtio0-input.0, 1 raise NET_RX, 2 end irq 25, "
IRQ26 = "10 irq 26 virtio1-input.0, 11 raise NET_RX, 12 end irq 26, "
ETH0, ETH1 = "poll eth0 1 64 0x10", "poll eth1 1 64 0x20"


def softirq(at: int, *polls: str) -> str:
    told = "".join(f"{at + 5 * place} {poll}, " for place, poll in enumerate(polls, 1))
    return f"{at} NET_RX, {told}{at + 5 * len(polls) + 1} end NET_RX, "


@pytest.mark.parametrize(
    ("five_times", "then", "devices"),
    [
        # The poll after irq 26 is still of the softirq that irq 25 had raised.
        (
            f"{IRQ25} 5 NET_RX, 8 {ETH0}, {IRQ26} 40 {ETH0}, 41 end NET_RX, {softirq(50, ETH1)}",
            *("", {25: "eth0", 26: "eth1"}),
        ),
        # By polls line 26 would be eth0's, 15 to 6; by softirqs it is eth1's, 6 to 5.
        (
            IRQ25 + IRQ26 + softirq(100, ETH0, ETH0, ETH0, ETH1),
            f"{IRQ25} {softirq(100, ETH0)} 1010 irq 26 virtio1-input.0, 1011 raise NET_RX, "
            f"1012 end irq 26, {softirq(1100, ETH1)}",
            {25: "eth0", 26: "eth1"},
        ),
        # ksoftirqd or the loop in handle_softirqs ran NET_RX again for what was raised meanwhile,
        # by nobody's line.
        (
            f"{IRQ25} {softirq(100, ETH0)} 200 raise NET_RX, {softirq(210, ETH1)} "
            f"300 raise NET_RX, {softirq(310, ETH1)}",
            *("", {25: "eth0"}),
        ),
        # A tie says network, and not which.
        (
            IRQ25 + IRQ26 + softirq(100, ETH0, ETH1),
            IRQ25 + softirq(100, ETH0, ETH0, ETH0),
            {25: "eth0", 26: None},
        ),
    ],
    ids=["raised in a softirq", "polled often", "raised by no line", "tie"],
)
def test_a_lines_device_is_what_most_of_its_softirqs_polled(
    tmp_path: Path, five_times: str, then: str, devices: dict[int, str | None]
) -> None:
    last = happenings(f"{then} 90_000 waking udpsink", [7000])
    got = ledger_of(tmp_path, rounds(five_times, 5, *last))
    assert {row["irq"]: row["device"] for row in got.irqs} == devices
    assert {row["is_network"] for row in got.irqs} == {"yes"}
