//! The tracepoints that are read into typed columns, and the systems of those that ftrace and
//! trace-cmd name without one.

use super::known::Known;
use super::{irq, sched, switch};

/// Interrupt vectors of x86 that have tracepoints (arch/x86/include/asm/trace/irq_vectors.h).
const VECTORS: [&str; 11] = [
    "local_timer",
    "reschedule",
    "call_function",
    "call_function_single",
    "irq_work",
    "x86_platform_ipi",
    "threshold_apic",
    "deferred_error_apic",
    "thermal_apic",
    "spurious_apic",
    "error_apic",
];
/// What ftrace records without a tracepoint.
const OF_FTRACE: [&str; 20] = [
    "function",
    "funcgraph_entry",
    "funcgraph_retaddr_entry",
    "funcgraph_exit",
    "context_switch",
    "wakeup",
    "kernel_stack",
    "user_stack",
    "bprint",
    "bputs",
    "print",
    "raw_data",
    "func_repeats",
    "mmiotrace_rw",
    "mmiotrace_map",
    "branch",
    "hwlat",
    "osnoise",
    "timerlat",
    "tracing_mark_write",
];

/// How the event of this name is read, where it is known. perf names the system, the others do not:
/// no two systems of one kernel have an event of one of these names.
pub fn known(system: Option<&str>, name: &str) -> Option<Known> {
    let found = match name {
        "softirq_raise" | "softirq_entry" | "softirq_exit" => irq::SOFTIRQ,
        "irq_handler_entry" => irq::HANDLER_ENTRY,
        "irq_handler_exit" => irq::HANDLER_EXIT,
        "napi_poll" => irq::NAPI_POLL,
        "sched_switch" => switch::SWITCH,
        "sched_wakeup" | "sched_waking" | "sched_wakeup_new" => sched::WAKEUP,
        "sched_migrate_task" => sched::MIGRATE,
        "sched_process_fork" => sched::FORK,
        "sched_process_exec" => sched::EXEC,
        "sched_process_exit" => sched::EXIT,
        _ => {
            let vector = name.strip_suffix("_entry").or(name.strip_suffix("_exit"))?;
            VECTORS.contains(&vector).then_some(irq::VECTOR)?
        }
    };
    system.is_none_or(|system| system == found.system).then_some(found)
}

/// The full name of an event that a line spells without its system. The system of any other cannot be
/// told, for it stands nowhere in the text, and names repeat between systems: those keep the bare
/// name, which is also how perf names events that have no system.
pub fn full_name(bare: &str) -> String {
    let system = match bare {
        "ipi_entry" | "ipi_exit" | "ipi_raise" | "ipi_send_cpu" | "ipi_send_cpumask" => Some("ipi"),
        "csd_queue_cpu" | "csd_function_entry" | "csd_function_exit" => Some("csd"),
        _ if OF_FTRACE.contains(&bare) => Some("ftrace"),
        _ => known(None, bare).map(|known| known.system),
    };
    system.map_or_else(|| bare.to_owned(), |system| format!("{system}:{bare}"))
}
