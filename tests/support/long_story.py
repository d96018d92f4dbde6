# A timeline of many softirqs on two CPUs: more than fits one of anything.

from typing import Any

from support.perfdata import cpu, recording
from support.perfdata import happenings as h
from support.perfdata.timeline import Recording
from support.told import NET_RX, OPENSSL, TIMER, UDPSINK

S = 1_000_000_000


def story(**settings: Any) -> Recording:
    told: list[h.Happening] = []
    for number in range(400):
        now = S + 10_000 * number
        told += (
            h.IrqEntry(now, 32, "virtio2-input.0"),
            h.SoftirqRaise(now + 100, NET_RX),
            h.IrqExit(now + 200, 32),
            h.SoftirqEntry(now + 300, NET_RX),
            h.NapiPoll(now + 2_000, "eth0", number % 65),
            h.SoftirqExit(now + 2_100, NET_RX),
            h.Switch(now + 5_000, UDPSINK if number % 2 else OPENSSL),
        )
    return recording(
        cpu(0, *told, task=UDPSINK),
        cpu(1, h.SoftirqEntry(S + 50, TIMER), h.SoftirqExit(S + 70, TIMER)),
        known=(OPENSSL, UDPSINK),
        **settings,
    )
