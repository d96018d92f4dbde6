# The functions on a call path where interrupts enter the kernel, and where they end.

import re

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
