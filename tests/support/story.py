# A story of two CPUs in which a little of everything happens, and what a reader saw of it.

from support.oracle import Seen
from support.perfdata import cpu, recording
from support.perfdata import happenings as h
from support.perfdata.timeline import Recording

S = 1_000_000_000
OPENSSL, KSOFTIRQD = h.Task(500, "openssl"), h.Task(20, "ksoftirqd/0")


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
