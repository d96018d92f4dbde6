//! The texts of the scheduler's events but sched_switch: as the kernel prints them, as the fields
//! alone (`trace-cmd report -R`), and as trace-cmd's plugin does (`comm:pid [prio]`).

use memchr::memmem;

use super::known::{Known, Role, Type, OPTIONAL};
use super::row::{Row, FIELDS_AT};
use super::scan::Rest;

const COMM_AT: usize = FIELDS_AT;
const PID_AT: usize = FIELDS_AT + 16;
const PRIO_AT: usize = FIELDS_AT + 20;
const THIRD_AT: usize = FIELDS_AT + 24;
const FOURTH_AT: usize = FIELDS_AT + 28;

/// sched:sched_wakeup, sched_wakeup_new, sched_waking; `success` before Linux commit 58b9987de86c ("sched/tracing:
/// Remove the redundant 'success' in the sched tracepoint").
pub const WAKEUP: Known = Known {
    system: "sched",
    role: Role::Plain,
    fields: &[
        ("comm", COMM_AT, Type::Comm, 0),
        ("pid", PID_AT, Type::Int, 0),
        ("prio", PRIO_AT, Type::Int, 0),
        ("success", THIRD_AT, Type::Int, OPTIONAL),
        ("target_cpu", FOURTH_AT, Type::Int, 0),
    ],
    read: wakeup,
};
/// sched:sched_migrate_task.
pub const MIGRATE: Known = Known {
    system: "sched",
    role: Role::Plain,
    fields: &[
        ("comm", COMM_AT, Type::Comm, 0),
        ("pid", PID_AT, Type::Int, 0),
        ("prio", PRIO_AT, Type::Int, 0),
        ("orig_cpu", THIRD_AT, Type::Int, 0),
        ("dest_cpu", FOURTH_AT, Type::Int, 0),
    ],
    read: migrate,
};
/// sched:sched_process_fork.
pub const FORK: Known = Known {
    system: "sched",
    role: Role::Fork,
    fields: &[
        ("parent_comm", COMM_AT, Type::Comm, 0),
        ("parent_pid", PARENT_AT, Type::Int, 0),
        ("child_comm", COMM_AT + 20, Type::Comm, 0),
        ("child_pid", CHILD_AT, Type::Int, 0),
    ],
    read: fork,
};
/// Where sched_process_fork keeps its two tasks.
pub const PARENT_AT: usize = FIELDS_AT + 16;
/// See `PARENT_AT`.
pub const CHILD_AT: usize = FIELDS_AT + 36;
/// sched:sched_process_exec.
pub const EXEC: Known = Known {
    system: "sched",
    role: Role::Plain,
    fields: &[
        ("filename", FIELDS_AT, Type::Text, 0),
        ("pid", FIELDS_AT + 4, Type::Int, 0),
        ("old_pid", FIELDS_AT + 8, Type::Int, 0),
    ],
    read: exec,
};
/// sched:sched_process_exit; newer kernels print `group_dead` too.
pub const EXIT: Known = Known {
    system: "sched",
    role: Role::Plain,
    fields: &[
        ("comm", COMM_AT, Type::Comm, 0),
        ("pid", PID_AT, Type::Int, 0),
        ("prio", PRIO_AT, Type::Int, 0),
        ("group_dead", THIRD_AT, Type::Bool, OPTIONAL),
    ],
    read: exit,
};

/// `comm:pid [prio]`, and what follows. A name may hold colons and brackets: the last number between
/// the two is the task's.
pub fn task_of_plugin(text: &[u8]) -> Option<(&[u8], i32, i32, Rest<'_>)> {
    memmem::rfind_iter(text, b" [").find_map(|open| {
        let colon = memchr::memrchr(b':', &text[..open])?;
        let mut pid = Rest(&text[colon + 1..open]);
        let mut rest = Rest(&text[open + 2..]);
        let (pid, prio) = (pid.int().filter(|_| pid.0.is_empty())?, rest.int()?);
        rest.eat(b"]").then_some((&text[..colon], pid, prio, rest))
    })
}

/// A row of three fields that begin so many events.
fn task_row<'a>(rest: &mut Rest<'a>, size: usize) -> Option<Row<'a>> {
    rest.eat(b"comm=").then_some(())?;
    let mut row = Row::new(size);
    row.comm(COMM_AT, rest.comm(b" pid=")?);
    row.int(PID_AT, rest.int()?);
    rest.seek(b" prio=")?;
    row.int(PRIO_AT, rest.int()?);
    Some(row)
}

fn wakeup(text: &[u8]) -> Option<Row<'_>> {
    const SIZE: usize = FOURTH_AT + 4;
    let mut rest = Rest(text);
    let (mut row, cpu): (Row, &[u8]) = match task_row(&mut rest, SIZE) {
        Some(row) => (row, b" target_cpu="),
        None => {
            let text = text.strip_prefix(b"task ").unwrap_or(text);
            let (comm, pid, prio, after) = task_of_plugin(text)?;
            rest = after;
            let mut row = Row::new(SIZE);
            row.comm(COMM_AT, comm);
            row.int(PID_AT, pid);
            row.int(PRIO_AT, prio);
            (row, b" CPU:")
        }
    };
    if rest.eat(b" success=") {
        row.int(THIRD_AT, rest.int()?);
        row.found = OPTIONAL;
    }
    if rest.seek(cpu).is_none() {
        // The oldest form: "success=1 [002]".
        rest.seek(b" [")?;
    }
    row.int(FOURTH_AT, rest.int()?);
    Some(row)
}

fn migrate(text: &[u8]) -> Option<Row<'_>> {
    let mut rest = Rest(text);
    let mut row = task_row(&mut rest, FOURTH_AT + 4)?;
    rest.seek(b" orig_cpu=")?;
    row.int(THIRD_AT, rest.int()?);
    rest.seek(b" dest_cpu=")?;
    row.int(FOURTH_AT, rest.int()?);
    Some(row)
}

fn fork(text: &[u8]) -> Option<Row<'_>> {
    let mut rest = Rest(text);
    let key: &[u8] = if rest.eat(b"comm=") { b" pid=" } else { b" parent_pid=" };
    if key.len() > 5 {
        rest.eat(b"parent_comm=").then_some(())?;
    }
    let mut row = Row::new(CHILD_AT + 4);
    row.comm(COMM_AT, rest.comm(key)?);
    row.int(PARENT_AT, rest.int()?);
    rest.seek(b" child_comm=")?;
    row.comm(COMM_AT + 20, rest.comm(b" child_pid=")?);
    row.int(CHILD_AT, rest.int()?);
    Some(row)
}

fn exec(text: &[u8]) -> Option<Row<'_>> {
    let text = text.strip_prefix(b"filename=")?;
    // A file's name may hold anything: the last number is the one.
    let at = memmem::rfind(text, b" pid=")?;
    let mut rest = Rest(&text[at + 5..]);
    let mut row = Row::new(FIELDS_AT + 12);
    row.text(FIELDS_AT, &text[..at]);
    row.int(FIELDS_AT + 4, rest.int()?);
    rest.eat(b" old_pid=").then_some(())?;
    row.int(FIELDS_AT + 8, rest.int()?);
    Some(row)
}

fn exit(text: &[u8]) -> Option<Row<'_>> {
    let mut rest = Rest(text);
    let mut row = task_row(&mut rest, THIRD_AT + 4)?;
    if rest.eat(b" group_dead=") {
        row.byte(THIRD_AT, u8::from(matches!(rest.word(), b"true" | b"1")));
        row.found = OPTIONAL;
    }
    Some(row)
}
