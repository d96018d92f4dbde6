# What the small captures tell: an interface's receive path over four interrupts, and what the
# scheduler and the rings do.

from support.perfdata import X86_64, Machine, Recording, cpu, recording
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.told import IDLE, NET_RX, OPENSSL, TIMER, UDPSINK

S = 1_000_000_000
FORMATS = (
    *t.IRQ_FORMATS,
    *(t.NAPI_POLL, t.SCHED_SWITCH, t.SCHED_WAKEUP, t.SCHED_MIGRATE_TASK, t.SCHED_PROCESS_FORK),
    *(t.VECTOR_ENTRY["local_timer"], t.VECTOR_EXIT["local_timer"]),
)


def networking(machine: Machine = X86_64, **settings: int) -> Recording:
    told: list[h.Happening] = []
    for number in range(4):
        # A ring's time stamps need more bits for the pauses than fit a record's header.
        now = S + 10_000 * number + (number << 28)
        told += (
            *(h.IrqEntry(now, 32, "virtio2-input.0"), h.SoftirqRaise(now + 100, NET_RX)),
            *(h.IrqExit(now + 200, 32), h.SoftirqEntry(now + 300, NET_RX)),
            *(h.NapiPoll(now + 900, "eth0", number, 64, 0x8000_0000 + number),),
            *(h.Wakeup(now + 950, UDPSINK), h.SoftirqExit(now + 1000, NET_RX)),
            *(h.VectorEntry(now + 1100), h.VectorExit(now + 1200)),
            h.Switch(now + 2000, UDPSINK if number % 2 else OPENSSL),
            h.Flush(now + 2000, repeat=number % 2),
        )
    now = S + 50_000 + (4 << 28)
    told += (
        *(h.MigrateTask(now, OPENSSL, 0, 1), h.Fork(now + 1, h.Task(700, "child"))),
        *(h.Lost(now + 100, 7), h.Switch(now + 500, IDLE)),
    )
    return recording(
        cpu(0, *told, task=UDPSINK),
        cpu(1, h.SoftirqEntry(S + 50, TIMER), h.SoftirqExit(S + 70, TIMER)),
        known=(OPENSSL, UDPSINK),
        formats=FORMATS,
        machine=machine,
        **settings,
    )
