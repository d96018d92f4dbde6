//! The texts of sched_switch, of which the ledger lives: as the kernel prints it, as its fields alone
//! (`trace-cmd report -R`), and as trace-cmd's plugin does.

use memchr::memmem;

use super::known::{Known, Role, Type};
use super::row::{Row, FIELDS_AT, LARGEST};
use super::scan::Rest;
use super::sched::task_of_plugin;

/// Where sched_switch keeps its two tasks, and the state in which the first went.
pub const PREV_COMM: usize = FIELDS_AT;
pub const PREV_PID: usize = FIELDS_AT + 16;
const PREV_PRIO: usize = FIELDS_AT + 20;
pub const PREV_STATE: usize = FIELDS_AT + 24;
pub const NEXT_COMM: usize = FIELDS_AT + 32;
pub const NEXT_PID: usize = FIELDS_AT + 48;
const NEXT_PRIO: usize = FIELDS_AT + 52;
/// `Row::found` of a sched_switch whose state is a number, so that its bits are the recorder's.
pub const STATE_IS_NUMBER: u8 = 2;
/// The bit of prev_state that stands for "preempted", where the text has letters: as in today's formats.
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

/// `sleep:23213 [120] S ==> records:23134 [132]`; older kernels wrote "task" before it and
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

fn put_state(row: &mut Row<'_>, word: &[u8]) -> Option<()> {
    if word.first()?.is_ascii_digit() {
        row.long(PREV_STATE, Rest(word).number()?);
        row.found |= STATE_IS_NUMBER;
    } else {
        row.long(PREV_STATE, state(word)?);
    }
    Some(())
}

/// Letters as the bits that they have in today's formats, whatever the recorder's kernel called them: a
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

/// Older plugins have letters of their own for two bits, whatever the kernel's meant.
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
