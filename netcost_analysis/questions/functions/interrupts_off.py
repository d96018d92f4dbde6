# What ran with interrupts off, where a timer found them on again: an interrupt, or the path's work.

import re
from typing import TYPE_CHECKING

import numpy as np

from .contexts import EXIT, HARDIRQ, SOFTIRQ, VECTOR, first_of, named
from .profile import Classified, Profile

if TYPE_CHECKING:
    from numpy.typing import NDArray

HIDDEN = "interrupts off"
# What an interrupt comes to when it has done its own work: its end, and there, interrupts on again,
# its softirqs or its task's; before 5.8 irqentry_exit was part of each entry.
_ENDS = (
    *(*EXIT, *SOFTIRQ, "irqentry_exit", "irqentry_exit_to_user_mode", "exit_to_user_mode_loop"),
    "exit_to_user_mode_prepare",
)
# Interrupts of x86 are called like their vectors; through the others any device's come.
_DEVICE = ("asm_common_interrupt", "common_interrupt", "do_IRQ", "ret_from_intr")
_AROUND = re.compile(r"^(?:asm_|__|smp_|trace_)*(?:sysvec_)?|(?:_interrupt|_ipi)$")
_VECTORS = {"apic_timer": "local_timer"}


def interrupts_off_in(one: Profile, found: Classified) -> "tuple[list[str], NDArray[np.int16]]":
    """What each stack of "interrupts off" is of.

    Names, and for each stack a place among them, -1 where interrupts were on. Where on the path an
    interrupt has ended and nothing has run behind it, that interrupt, called like its vector in the
    ledger: what it did, and on a virtual machine its delivery. Else the component of the path.
    """
    hidden = found.components.index(HIDDEN) if HIDDEN in found.components else -1
    first = first_of(one, ~named(one, _ENDS))
    is_frame = first < one.begins[1:]
    frame = one.places[np.where(is_frame, first, one.begins[:-1])]
    entries = named(one, VECTOR) | named(one, HARDIRQ)
    ended = is_frame & entries[frame]
    functions = one.names["function"].to_numpy()
    texts = np.array(found.components, dtype=object)[found.beneath]
    texts[ended] = [interrupt_of(name) for name in functions[frame[ended]]]
    is_off = found.of_stack == hidden
    names = list(dict.fromkeys(texts[is_off]))
    code = {name: at for at, name in enumerate(names)}
    of_stack = np.full(len(texts), -1, dtype="i2")
    of_stack[is_off] = [code[text] for text in texts[is_off]]
    return names, of_stack


def interrupt_of(function: str) -> str:
    # sysvec_call_function_single -> "call_function_single interrupt".
    if function in _DEVICE:
        return "device interrupt"
    if not re.search(r"sysvec_|_interrupt$", function) or re.match(r"el\d|do_", function):
        return "interrupt"
    name = _AROUND.sub("", function)
    return f"{_VECTORS.get(name, name)} interrupt"


def is_interrupt(name: object) -> bool:
    # Of what interrupts were off in.
    return isinstance(name, str) and name.endswith("interrupt")
