# Which component a function belongs to: the rules of a user's file, then those of components.toml;
# where interrupts enter the kernel and end; and groups of components.

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..._native import CaptureError, matching
from ...errors import ArgumentError

if TYPE_CHECKING:
    import pandas as pd

    from ..._native import NativeRules

# The component of time that a timer cannot sample.
HIDDEN = "interrupts off"
# Where an interrupt enters the kernel: x86 (asm_* since 5.8), arm64 and other architectures.
VECTOR = (
    *("asm_sysvec_*", "sysvec_*", "__sysvec_*", "*apic_timer_interrupt", "*reschedule_interrupt"),
    *("*call_function_interrupt", "*call_function_single_interrupt", "*irq_work_interrupt"),
    *("xen_hvm_callback_vector", "hyperv_callback_vector", "xen_evtchn_do_upcall"),
)
HARDIRQ = (
    *("asm_common_interrupt", "common_interrupt", "do_IRQ", "ret_from_intr"),
    *("el1_interrupt", "el0_interrupt", "el1h_64_irq*", "el1t_64_irq*"),
    *("el0t_64_irq*", "el0t_32_irq*", "el1_irq", "el0_irq*", "gic_handle_irq", "handle_irq_event*"),
    *("hardware_interrupt_common*", "do_interrupt*", "timer_interrupt", "io_int_handler"),
    *("ext_int_handler", "do_io_irq", "do_ext_irq", "handle_riscv_irq", "do_irq"),
)
# The end of an interrupt, where softirqs run. On some paths the entry is missing.
EXIT = ("__irq_exit_rcu", "irq_exit_rcu", "irq_exit")
SOFTIRQ = ("handle_softirqs", "__do_softirq", "do_softirq", "do_softirq_own_stack")
# Where an interrupt has done its own work: its end, and what runs there with interrupts on again.
# Before 5.8 irqentry_exit was part of each entry.
ENDS = (
    *(*EXIT, *SOFTIRQ, "irqentry_exit", "irqentry_exit_to_user_mode", "exit_to_user_mode_loop"),
    "exit_to_user_mode_prepare",
)
# x86 names interrupts after their vectors; these entries are shared by all devices.
_DEVICE = ("asm_common_interrupt", "common_interrupt", "do_IRQ", "ret_from_intr")
_AROUND = re.compile(r"^(?:asm_|__|smp_|trace_)*(?:sysvec_)?|(?:_interrupt|_ipi)$")
_VECTORS = {"apic_timer": "local_timer"}


def off_in(ended: str | None, beneath: str) -> str:
    # What ran with interrupts off: an interrupt that has just ended, named like its vector in the
    # ledger (on a virtual machine with its delivery), else the component of the path. ended: the
    # entry function of that interrupt.
    return beneath if ended is None else interrupt_of(ended)


def interrupt_of(function: str) -> str:
    # sysvec_call_function_single -> "call_function_single interrupt".
    if function in _DEVICE:
        return "device interrupt"
    if not re.search(r"sysvec_|_interrupt$", function) or re.match(r"el\d|do_", function):
        return "interrupt"
    name = _AROUND.sub("", function)
    return f"{_VECTORS.get(name, name)} interrupt"


def is_interrupt(name: object) -> bool:
    # name: what ran with interrupts off.
    return isinstance(name, str) and name.endswith("interrupt")


OWN = Path(__file__).parents[1] / "functions" / "components.toml"
# Kernel functions that no rule names; user mode, which rules do not name.
UNCLASSIFIED, APPLICATION = "unclassified", "application"
IDLE = "idle"
_LISTS = ("functions", "modules", "under", "until")
_FIELDS = {"component", "timer", *_LISTS}


@dataclass(frozen=True)
class Rule:
    # A [[rule]] of the file. functions, modules, under, until: patterns as in a shell.
    component: str
    functions: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    under: tuple[str, ...] = ()
    until: tuple[str, ...] = ()
    timer: str = ""
    place: str = field(default="", compare=False)

    def names(self, functions: Sequence[str], modules: Sequence[str]) -> list[bool]:
        # Whether it names each function. modules: of the functions, "" for the kernel itself.
        by_name, by_module = matching(self.functions, functions), matching(self.modules, modules)
        both = zip(by_name, by_module, modules, strict=True)
        return [name or bool(module and known) for name, known, module in both]


def read(path: Path) -> list[Rule]:
    # Raises CaptureError, in one line, for a file that is not valid.
    try:
        text = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CaptureError(f"{path.name} is not a rules file: {error}") from None
    found = text.get("rule")
    if not isinstance(found, list) or set(text) != {"rule"}:
        raise CaptureError(f"{path.name} is not a rules file: each rule begins with [[rule]]")
    return [_rule(one, f"{path.name}, rule {at}") for at, one in enumerate(found, 1)]


def _rule(given: Any, place: str) -> Rule:
    if not isinstance(given, dict) or not isinstance(given.get("component"), str):
        raise CaptureError(f"{place}: component must be a name")
    unknown = set(given) - _FIELDS
    if unknown:
        known = ", ".join(sorted(_FIELDS))
        raise CaptureError(
            f"{place}: no field {', '.join(sorted(unknown))}; the fields are {known}"
        )
    lists = {name: given.get(name, []) for name in _LISTS}
    for name, of in lists.items():
        if not isinstance(of, list) or not all(isinstance(one, str) for one in of):
            raise CaptureError(f"{place}: {name} must be a list of names")
    if not lists["functions"] and not lists["modules"]:
        raise CaptureError(f"{place}: it names neither functions nor modules")
    if lists["until"] and not lists["under"]:
        raise CaptureError(f"{place}: until needs under")
    timer = given.get("timer", "")
    if timer not in ("", "function", "address"):
        raise CaptureError(f'{place}: timer must be "function" or "address"')
    if given["component"] in (UNCLASSIFIED, APPLICATION):
        raise CaptureError(f"{place}: {given['component']} is reserved for what no rule names")
    parts = {name: tuple(of) for name, of in lists.items()}
    return Rule(given["component"], timer=timer, place=place, **parts)


@cache
def _ours() -> tuple[Rule, ...]:
    return tuple(read(OWN))


def rules(given: str | Path | None = None) -> list[Rule]:
    # The rules of a user's file take precedence over ours.
    if given is None:
        return list(_ours())
    if not Path(given).is_file():
        raise ArgumentError(f"no rules file {given}")
    return [*read(Path(given)), *_ours()]


def components_of(given: list[Rule]) -> list[str]:
    # Their names. Native returns places in this list.
    return [UNCLASSIFIED, APPLICATION, *dict.fromkeys(rule.component for rule in given)]


def native_rules(given: list[Rule]) -> "NativeRules":
    # As native takes them, with the functions that show where an interrupt ended.
    code = {name: at for at, name in enumerate(components_of(given))}
    rules = [
        (code[rule.component], rule.functions, rule.modules, rule.under, rule.until, rule.timer)
        for rule in given
    ]
    return rules, ENDS, (*VECTOR, *HARDIRQ)


# G. Liao, L. Bhuyan, J. Parallel Distrib. Comput. 72 (2012); and groups of the rest.
GROUPS = {
    "driver": ("driver rx", "driver tx"),
    "buffer release": ("buffer release",),
    "copy": ("copy",),
    "allocation": ("allocation",),
    "protocol": ("TCP", "UDP", "IP and routing"),
    "socket and calls": ("socket", "poll and epoll", "system call entry", "file descriptors"),
    "softirq and interrupts": (
        *("NAPI and softirq", "GRO", "interrupt entry", "interrupts to other CPUs"),
        *("qdisc", "timers"),
    ),
    HIDDEN: (HIDDEN,),
    "application": ("application",),
}
OTHER = "other"
# Not on a packet's way: what else runs on the host, the recorder's own programs among it.
ASIDE = ("file system", "block devices", "memory management", "processes", "tracing")
# What they found to be the largest, those of a NIC first.
NIC = ("driver", "buffer release")
MAJOR = (*NIC, "copy")
# How interrupts off are drawn: by what ran without them.
IPI, INTERRUPT, PATH = "another CPU's interrupt", "other interrupts", "the path's own"
_IPIS = ("call_function_single interrupt", "call_function interrupt", "reschedule interrupt")


def group_of(component: str) -> str:
    return next((name for name, of in GROUPS.items() if component in of), OTHER)


def is_aside(rows: "pd.DataFrame") -> "pd.Series[bool]":
    # Whether a component is beside a packet's way; of interrupts off by what they were off in.
    return rows["component"].isin(ASIDE) | rows["interrupts_off_in"].isin(ASIDE)


def off_part(name: Any) -> str:
    # The part of interrupts off that a name in interrupts_off_in belongs to.
    if name in _IPIS:
        return IPI
    return INTERRUPT if is_interrupt(name) else PATH
