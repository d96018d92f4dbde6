# One story told by everything that is no perf.data: trace.dat, a copy of tracefs, a text.

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from support.perfdata import Recording, cpu, recording
from support.perfdata import happenings as h
from support.told import NET_RX, OPENSSL, TIMER, UDPSINK, irq, raised, softirq
from support.tracedat import Dress, write_trace_dat, write_tracefs

INTERRUPT = (
    *irq(1_000, 2_000, h.SoftirqRaise(1_200, NET_RX)),
    *softirq(3_000, 8_000, h.NapiPoll(7_000, "eth0", 8)),
)
TOLD = recording(
    cpu(0, *INTERRUPT, h.Switch(20_000, UDPSINK), h.Switch(30_000, OPENSSL), task=OPENSSL)
)
# The same, as texts show it: in microseconds.
TEXT = """\
 openssl-500 [000] d.h1. 1.000001: irq_handler_entry: irq=32 name=eth0
 openssl-500 [000] d.h1. 1.000001: softirq_raise: vec=3 [action=NET_RX]
 openssl-500 [000] d.h1. 1.000002: irq_handler_exit: irq=32 ret=handled
 openssl-500 [000] ..s1. 1.000003: softirq_entry: vec=3 [action=NET_RX]
 openssl-500 [000] ..s1. 1.000007: napi_poll: napi poll on napi struct 0000000000000001 for device \
eth0 work 8 budget 64
 openssl-500 [000] ..s1. 1.000008: softirq_exit: vec=3 [action=NET_RX]
 openssl-500 [000] d.... 1.000020: sched_switch: prev_comm=openssl prev_pid=500 prev_prio=120 \
prev_state=S ==> next_comm=udpsink next_pid=600 next_prio=120
 udpsink-600 [000] d.... 1.000030: sched_switch: prev_comm=udpsink prev_pid=600 prev_prio=120 \
prev_state=S ==> next_comm=openssl next_pid=500 next_prio=120
 udpsink-600 [000] ..... 1.000031: strange_event: anything=1
"""


def trace_dat(folder: Path, told: Recording = TOLD, **dress: object) -> str:
    return str(write_trace_dat(told, folder / "trace.dat", Dress(**dress)))  # type: ignore[arg-type]


def tracefs(folder: Path) -> str:
    told = replace(TOLD, known=(OPENSSL, UDPSINK))
    return str(write_tracefs(told, folder / "trace.tracefs"))


def text(folder: Path) -> str:
    path = folder / "trace.txt"
    path.write_text(TEXT)
    return str(path)


DOORS: dict[str, Callable[[Path], str]] = {
    "trace.dat 6": lambda folder: trace_dat(folder, version=6),
    "trace.dat 7": trace_dat,
    "tracefs": tracefs,
    "text": text,
}


# The capture that the command line's tests ask about: a task, an interrupt on top of it with its
# softirq and poll, a timer's softirq, another task for a while.
def one_interrupt(folder: Path) -> str:
    told = recording(
        cpu(
            0,
            *INTERRUPT,
            *raised(9_000, 9_500, 10_000, vec=TIMER),
            h.Waking(19_000, UDPSINK),
            h.Switch(20_000, UDPSINK),
            h.Switch(30_000, OPENSSL),
            task=OPENSSL,
        )
    )
    return str(told.write(folder / "perf.data"))
