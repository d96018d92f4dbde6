# The tracepoints of the networking story as Linux 6.x describes them, and the older shapes that
# captures still have. Field lists and print formats follow events/*/*/format of Linux 6.18; ids are
# arbitrary, as they are per boot.

from .formats import Field, Format, c_int, c_uint, comm_t, pid_t, string

ACTIONS = (
    "HI",
    "TIMER",
    "NET_TX",
    "NET_RX",
    "BLOCK",
    "IRQ_POLL",
    "TASKLET",
    "SCHED",
    "HRTIMER",
    "RCU",
)
_SYMBOLS = ", ".join(f'{{ {number}, "{name}" }}' for number, name in enumerate(ACTIONS))
_SOFTIRQ = f'"vec=%u [action=%s]", REC->vec, __print_symbolic(REC->vec, {_SYMBOLS})'
_WAKEUP = (
    '"comm=%s pid=%d prio=%d target_cpu=%03d", REC->comm, REC->pid, REC->prio, REC->target_cpu'
)
_STATES = " | ".join(["0x00000000", *(f"0x{1 << bit:08x}" for bit in range(7))])
_MASK = f"((({_STATES}) + 1) << 1)"
_LETTERS = ", ".join(f'{{ 0x{1 << bit:08x}, "{letter}" }}' for bit, letter in enumerate("SDTtXZPI"))
_SWITCH = (
    '"prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s%s '
    '==> next_comm=%s next_pid=%d next_prio=%d", '
    f"REC->prev_comm, REC->prev_pid, REC->prev_prio, (REC->prev_state & ({_MASK} - 1)) ? "
    f'__print_flags(REC->prev_state & ({_MASK} - 1), "|", {_LETTERS}) : "R", '
    f'REC->prev_state & {_MASK} ? "+" : "", REC->next_comm, REC->next_pid, REC->next_prio'
)
_WAKE_FIELDS = (comm_t("comm"), pid_t("pid"), c_int("prio"), c_int("target_cpu"))

IRQ_HANDLER_EXIT = Format(
    "irq",
    "irq_handler_exit",
    224,
    (c_int("irq"), c_int("ret")),
    '"irq=%d ret=%s", REC->irq, REC->ret ? "handled" : "unhandled"',
)
IRQ_HANDLER_ENTRY = Format(
    "irq",
    "irq_handler_entry",
    225,
    (c_int("irq"), string("name")),
    '"irq=%d name=%s", REC->irq, __get_str(name)',
)
SOFTIRQ_RAISE = Format("irq", "softirq_raise", 221, (c_uint("vec"),), _SOFTIRQ)
SOFTIRQ_EXIT = Format("irq", "softirq_exit", 222, (c_uint("vec"),), _SOFTIRQ)
SOFTIRQ_ENTRY = Format("irq", "softirq_entry", 223, (c_uint("vec"),), _SOFTIRQ)
NAPI_POLL = Format(
    "napi",
    "napi_poll",
    2291,
    (Field("struct napi_struct *", "napi", 8), string("dev_name"), c_int("work"), c_int("budget")),
    '"napi poll on napi struct %p for device %s work %d budget %d", '
    "REC->napi, __get_str(dev_name), REC->work, REC->budget",
)
# Before Linux commit 1db19db7f5ff ("net: tracepoint napi:napi_poll add work and budget") (in v4.8).
NAPI_POLL_OLD = Format(
    "napi",
    "napi_poll",
    2291,
    (Field("struct napi_struct *", "napi", 8), string("dev_name")),
    '"napi poll on napi struct %p for device %s", REC->napi, __get_str(dev_name)',
)
SCHED_SWITCH = Format(
    "sched",
    "sched_switch",
    372,
    (
        *(
            comm_t("prev_comm"),
            pid_t("prev_pid"),
            c_int("prev_prio"),
            Field("long", "prev_state", 8, True),
        ),
        *(comm_t("next_comm"), pid_t("next_pid"), c_int("next_prio")),
    ),
    _SWITCH,
)
SCHED_WAKEUP = Format("sched", "sched_wakeup", 374, _WAKE_FIELDS, _WAKEUP)
SCHED_WAKEUP_NEW = Format("sched", "sched_wakeup_new", 373, _WAKE_FIELDS, _WAKEUP)
SCHED_WAKING = Format("sched", "sched_waking", 375, _WAKE_FIELDS, _WAKEUP)
# Until Linux v5.14 the wake-up tracepoints carried a constant `success`.
SCHED_WAKEUP_OLD = Format(
    "sched",
    "sched_wakeup",
    374,
    (comm_t("comm"), pid_t("pid"), c_int("prio"), c_int("success"), c_int("target_cpu")),
    '"comm=%s pid=%d prio=%d success=%d target_cpu=%03d", '
    "REC->comm, REC->pid, REC->prio, REC->success, REC->target_cpu",
)
_MIGRATE = (pid_t("pid"), c_int("prio"), c_int("orig_cpu"), c_int("dest_cpu"))
_MIGRATE_ARGUMENTS = "REC->pid, REC->prio, REC->orig_cpu, REC->dest_cpu"
SCHED_MIGRATE_TASK = Format(
    "sched",
    "sched_migrate_task",
    371,
    (string("comm"), *_MIGRATE),
    f'"comm=%s pid=%d prio=%d orig_cpu=%d dest_cpu=%d", __get_str(comm), {_MIGRATE_ARGUMENTS}',
)
# Until the scheduler's tracepoints moved from char comm[16] to dynamic strings (6.1 has the array).
SCHED_MIGRATE_TASK_OLD = Format(
    "sched",
    "sched_migrate_task",
    371,
    (comm_t("comm"), *_MIGRATE),
    f'"comm=%s pid=%d prio=%d orig_cpu=%d dest_cpu=%d", REC->comm, {_MIGRATE_ARGUMENTS}',
)
SCHED_PROCESS_FORK = Format(
    "sched",
    "sched_process_fork",
    366,
    (string("parent_comm"), pid_t("parent_pid"), string("child_comm"), pid_t("child_pid")),
    '"comm=%s pid=%d child_comm=%s child_pid=%d", '
    "__get_str(parent_comm), REC->parent_pid, __get_str(child_comm), REC->child_pid",
)
SCHED_PROCESS_EXEC = Format(
    "sched",
    "sched_process_exec",
    365,
    (string("filename"), pid_t("pid"), pid_t("old_pid")),
    '"filename=%s pid=%d old_pid=%d", __get_str(filename), REC->pid, REC->old_pid',
)
SCHED_PROCESS_EXIT = Format(
    "sched",
    "sched_process_exit",
    369,
    (comm_t("comm"), pid_t("pid"), c_int("prio"), Field("bool", "group_dead", 1)),
    '"comm=%s pid=%d prio=%d group_dead=%s", REC->comm, REC->pid, '
    'REC->prio, REC->group_dead ? "true" : "false"',
)

# Vector numbers of x86 (arch/x86/include/asm/irq_vectors.h).
VECTORS = {"local_timer": 236, "call_function_single": 251, "reschedule": 253}


def _vector(name: str, identity: int) -> Format:
    return Format("irq_vectors", name, identity, (c_int("vector"),), '"vector=%d", REC->vector')


VECTOR_ENTRY = {
    name: _vector(f"{name}_entry", 151 + 2 * place) for place, name in enumerate(VECTORS)
}
VECTOR_EXIT = {name: _vector(f"{name}_exit", 150 + 2 * place) for place, name in enumerate(VECTORS)}

# Of the profile anatomy only: not in FORMATS.
SK_DATA_READY = Format(
    "sock",
    "sk_data_ready",
    401,
    (Field("const void *", "skaddr", 8), c_int("family")),
    '"skaddr=%p family=%d", REC->skaddr, REC->family',
)
KFREE = Format(
    "kmem",
    "kfree",
    656,
    (Field("unsigned long", "call_site", 8), Field("const void *", "ptr", 8)),
    '"call_site=%pS ptr=%p", (void *)REC->call_site, REC->ptr',
)
KFREE_SKB = Format(
    "skb",
    "kfree_skb",
    1599,
    (Field("void *", "skbaddr", 8), Field("void *", "location", 8)),
    '"skbaddr=%p location=%pS", REC->skbaddr, REC->location',
)
SKB_EVENTS = {
    name: Format(
        system,
        name,
        number,
        (Field("void *", "skbaddr", 8), c_uint("len")),
        '"skbaddr=%p len=%u", REC->skbaddr, REC->len',
    )
    for system, name, number in (
        ("net", "net_dev_queue", 1601),
        ("net", "netif_receive_skb", 1602),
        ("skb", "skb_copy_datagram_iovec", 1603),
    )
}
IRQ_FORMATS = (SOFTIRQ_RAISE, SOFTIRQ_EXIT, SOFTIRQ_ENTRY, IRQ_HANDLER_EXIT, IRQ_HANDLER_ENTRY)
SCHED_FORMATS = (
    *(SCHED_SWITCH, SCHED_WAKEUP, SCHED_WAKEUP_NEW, SCHED_WAKING, SCHED_MIGRATE_TASK),
    *(SCHED_PROCESS_FORK, SCHED_PROCESS_EXEC, SCHED_PROCESS_EXIT),
)
VECTOR_FORMATS = (*VECTOR_ENTRY.values(), *VECTOR_EXIT.values())
FORMATS = (*IRQ_FORMATS, NAPI_POLL, *SCHED_FORMATS, *VECTOR_FORMATS)
