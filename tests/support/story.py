# A story of two CPUs in which a little of everything happens, and what a reader saw of it.

from support.oracle import Seen
from support.perfdata import X86_64, Machine, Recording, cpu, recording
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.told import IDLE, KSOFTIRQD, NET_RX, OPENSSL, TIMER, UDPSINK

S = 1_000_000_000


def story(**settings: object) -> Recording:
    return recording(
        cpu(
            0,
            h.IrqEntry(S + 1000, 32, "virtio2-input.0"),
            h.SoftirqRaise(S + 1100, 3),
            h.IrqExit(S + 1200, 32),
            h.SoftirqEntry(S + 1300, 3),
            h.VectorEntry(S + 1400),
            h.VectorExit(S + 1500),
            h.NapiPoll(S + 5000, "eth0", 8),
            h.NapiPoll(S + 6000, "eth1", 2, 64, 0xFFFF888012345678),
            h.SoftirqExit(S + 6500, 3),
            h.Waking(S + 7000, KSOFTIRQD),
            h.Flush(S + 7050),
            h.Wakeup(S + 7100, KSOFTIRQD),
            h.Switch(S + 7200, KSOFTIRQD, 1),
            h.SoftirqEntry(S + 7300, 1),
            h.SoftirqExit(S + 7400, 1),
            h.Switch(S + 8000, OPENSSL, 1),
            h.Exec(S + 8600, "/usr/bin/openssl", "speed"),
            h.Exit(S + 9000),
            task=OPENSSL,
        ),
        cpu(
            1,
            h.MigrateTask(S + 1900, OPENSSL, 0, 1),
            h.Fork(S + 2000, OPENSSL),
            h.WakeupNew(S + 2100, OPENSSL, 1),
        ),
        known=(OPENSSL, KSOFTIRQD),
        **settings,
    )


def described(told: Recording) -> list[tuple[object, ...]]:
    return sorted(
        (
            one.format.event,
            one.at,
            one.cpu,
            one.common.pid,
            one.common.flags,
            sorted(one.values.items()),
        )
        for one in told.events()
    )


def seen(events: list[Seen]) -> list[tuple[object, ...]]:
    return sorted(
        (
            *(one.event, one.time, one.cpu, one.pid, one.fields["common_flags"]),
            sorted((k, v) for k, v in one.fields.items() if not k.startswith("common_")),
        )
        for one in events
    )


# What the small captures tell: an interface's receive path over four interrupts, and what the
# scheduler and the rings do.
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
