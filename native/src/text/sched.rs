//! The texts of the scheduler's events: as the kernel prints them, as the fields alone
//! (`trace-cmd report -R`), and as trace-cmd's plugin does (`comm:pid [prio]`).

use memchr::memmem;

use super::known::{Known, Role, Type};
use super::row::{Row, FIELDS_AT, LARGEST};
use super::scan::Rest;

/// Where sched_switch keeps its two tasks, and the state in which the first went.
pub const PREV_COMM: usize = FIELDS_AT;
pub const PREV_PID: usize = FIELDS_AT + 16;
const PREV_PRIO: usize = FIELDS_AT + 20;
pub const PREV_STATE: usize = FIELDS_AT + 24;
pub const NEXT_COMM: usize = FIELDS_AT + 32;
pub const NEXT_PID: usize = FIELDS_AT + 48;
const NEXT_PRIO: usize = FIELDS_AT + 52;
/// `Row::found` of a sched_switch whose state is a number, so that its bits are the recorder's.
pub const STATE_IS_NUMBER: u8 = 1;
/// The bit of prev_state that stands for "preempted", where the text has letters: as since v4.14.
pub const PREEMPTED: i64 = 0x100;

/// sched:sched_switch.
pub const SWITCH: Known = Known {
    system: "sched",
    role: Role::Switch,
    fields: &[
        ("prev_comm", PREV_COMM, Type::Comm, 0),
        ("prev_pid", PREV_PID, Type::Int, 0),
        ("prev_prio", PREV_PRIO, Type::Int, 0),
        ("prev_state", PREV_STATE, Type::Long, 0),
        ("next_comm", NEXT_COMM, Type::Comm, 0),
        ("next_pid", NEXT_PID, Type::Int, 0),
        ("next_prio", NEXT_PRIO, Type::Int, 0),
    ],
    read: switch,
};

const COMM_AT: usize = FIELDS_AT;
const PID_AT: usize = FIELDS_AT + 16;
const PRIO_AT: usize = FIELDS_AT + 20;
const THIRD_AT: usize = FIELDS_AT + 24;
const FOURTH_AT: usize = FIELDS_AT + 28;
const HAS_SUCCESS: u8 = 1;
const HAS_GROUP_DEAD: u8 = 1;

/// sched:sched_wakeup, sched_wakeup_new, sched_waking; `success` until v5.14.
pub const WAKEUP: Known = Known {
    system: "sched",
    role: Role::Plain,
    fields: &[
        ("comm", COMM_AT, Type::Comm, 0),
        ("pid", PID_AT, Type::Int, 0),
        ("prio", PRIO_AT, Type::Int, 0),
        ("success", THIRD_AT, Type::Int, HAS_SUCCESS),
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
/// sched:sched_process_exit; `group_dead` since v6.16.
pub const EXIT: Known = Known {
    system: "sched",
    role: Role::Plain,
    fields: &[
        ("comm", COMM_AT, Type::Comm, 0),
        ("pid", PID_AT, Type::Int, 0),
        ("prio", PRIO_AT, Type::Int, 0),
        ("group_dead", THIRD_AT, Type::Bool, HAS_GROUP_DEAD),
    ],
    read: exit,
};

fn switch(text: &[u8]) -> Option<Row<'_>> {
    let mut rest = Rest(text);
    if !rest.eat(b"prev_comm=") {
        return switch_of_plugin(text);
    }
    let mut row = Row::new(LARGEST);
    row.comm(PREV_COMM, rest.comm(b" prev_pid=")?);
    row.int(PREV_PID, rest.int()?);
    rest.seek(b" prev_prio=")?;
    row.int(PREV_PRIO, rest.int()?);
    rest.seek(b" prev_state=")?;
    put_state(&mut row, rest.word())?;
    rest.seek(b" next_comm=")?;
    row.comm(NEXT_COMM, rest.comm(b" next_pid=")?);
    row.int(NEXT_PID, rest.int()?);
    rest.seek(b" next_prio=")?;
    row.int(NEXT_PRIO, rest.int()?);
    Some(row)
}

/// `sleep:23213 [120] S ==> records:23134 [132]`; kernels before v2.6.33 wrote "task" before it and
/// the state in brackets. Plugins show no preemption: theirs is `R` like any other runnable task's.
fn switch_of_plugin(text: &[u8]) -> Option<Row<'_>> {
    let text = text.strip_prefix(b"task ").unwrap_or(text);
    let at = memmem::find(text, b" ==> ")?;
    let (prev, next) = (&text[..at], &text[at + 5..]);
    let space = memchr::memrchr(b' ', prev)?;
    let mut row = Row::new(LARGEST);
    let state = &prev[space + 1..];
    let bare = state.strip_prefix(b"(").and_then(|state| state.strip_suffix(b")"));
    row.long(PREV_STATE, state_of_plugin(bare.unwrap_or(state))?);
    let places = [(&prev[..space], PREV_COMM, PREV_PID, PREV_PRIO), (next, NEXT_COMM, NEXT_PID, NEXT_PRIO)];
    for (task, comm_at, pid_at, prio_at) in places {
        let (comm, pid, prio, _) = task_of_plugin(task)?;
        row.comm(comm_at, comm);
        row.int(pid_at, pid);
        row.int(prio_at, prio);
    }
    Some(row)
}

/// `comm:pid [prio]`, and what follows. A name may hold colons and brackets: the last number between
/// the two is the task's.
fn task_of_plugin(text: &[u8]) -> Option<(&[u8], i32, i32, Rest<'_>)> {
    memmem::rfind_iter(text, b" [").find_map(|open| {
        let colon = memchr::memrchr(b':', &text[..open])?;
        let mut pid = Rest(&text[colon + 1..open]);
        let mut rest = Rest(&text[open + 2..]);
        let (pid, prio) = (pid.int().filter(|_| pid.0.is_empty())?, rest.int()?);
        rest.eat(b"]").then_some((&text[..colon], pid, prio, rest))
    })
}

fn put_state(row: &mut Row<'_>, word: &[u8]) -> Option<()> {
    if word.first()?.is_ascii_digit() {
        row.long(PREV_STATE, Rest(word).number()?);
        row.found |= STATE_IS_NUMBER;
    } else {
        row.long(PREV_STATE, state(word)?);
    }
    Some(())
}

/// Letters as the bits that they have since v4.14, whatever the recorder's kernel called them: a
/// letter says what a task did, its bit said something else in every few versions. What the newer
/// kernels do not report (`K` killable, `W` waking) has no bit; `D|N` (no load) is their idle.
fn state(word: &[u8]) -> Option<i64> {
    let mut bits = 0;
    for &letter in word {
        bits |= match letter {
            b'R' | b'|' | b'K' | b'W' => 0,
            b'S' => 0x01,
            b'D' => 0x02,
            b'T' => 0x04,
            b't' => 0x08,
            b'X' | b'x' => 0x10,
            b'Z' => 0x20,
            b'P' => 0x40,
            b'I' => 0x80,
            b'N' => {
                bits &= !0x02;
                0x80
            }
            b'+' => PREEMPTED,
            _ => return None,
        };
    }
    Some(bits)
}

/// Until libtraceevent 1.7 the plugin had letters of its own for two bits, whatever the kernel's meant.
fn state_of_plugin(word: &[u8]) -> Option<i64> {
    word.split(|&byte| byte == b'|').try_fold(0, |bits, part| {
        Some(
            bits | match part {
                b"x" => 0x40,
                b"W" => 0x80,
                _ => state(part)?,
            },
        )
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
        row.found = HAS_SUCCESS;
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
        row.found = HAS_GROUP_DEAD;
    }
    Some(row)
}
