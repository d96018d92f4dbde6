//! Tables into what lives are cut from.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, Int64Array, RecordBatch};
use arrow_cast::cast;
use arrow_schema::DataType;

use crate::error::{bad, Result};
use crate::intern::Interner;
use crate::lives::slice::{Slice, NOBODY};

/// Bits of prev_state above these say that the task was preempted: 0x100 (TASK_REPORT_MAX) in today's formats, up to
/// 0x1000 in older ones.
const ASLEEP: i64 = 0xff;
/// EXIT_DEAD and EXIT_ZOMBIE, in either order: a task that leaves its CPU so never comes back.
const DEAD: i64 = 0x30;

/// An integer column; `None` where the table has no such one.
pub fn integers(table: &RecordBatch, name: &str) -> Option<Int64Array> {
    let column = cast(table.column_by_name(name)?, &DataType::Int64).ok()?;
    Some(column.as_primitive::<Int64Type>().clone())
}

/// The codes of a column of texts, `None` for a null.
pub fn texts(table: &RecordBatch, name: &str, strings: &mut Interner) -> Option<Vec<Option<u32>>> {
    let column = table.column_by_name(name)?;
    if let Some(coded) = column.as_any_dictionary_opt() {
        let values = cast(coded.values(), &DataType::Utf8).ok()?;
        let codes: Vec<Option<u32>> =
            values.as_string::<i32>().iter().map(|text| text.map(|text| strings.code(text.as_bytes()))).collect();
        let keys = cast(coded.keys(), &DataType::Int64).ok()?;
        let code = |key: Option<i64>| key.and_then(|key| codes.get(key as usize).copied().flatten());
        return Some(keys.as_primitive::<Int64Type>().iter().map(code).collect());
    }
    let column = cast(column, &DataType::Utf8).ok()?;
    Some(column.as_string::<i32>().iter().map(|text| text.map(|text| strings.code(text.as_bytes()))).collect())
}

fn required<T>(column: Option<T>, name: &str) -> Result<T> {
    column.ok_or_else(|| bad!(Refused, "a table without the column '{name}'"))
}

/// An integer column that has to be there.
pub fn numbers(table: &RecordBatch, name: &str) -> Result<Int64Array> {
    required(integers(table, name), name)
}

/// The names of tasks: "(unknown)" for a null.
pub fn comms(table: &RecordBatch, name: &str, strings: &mut Interner) -> Result<Vec<u32>> {
    let nobody = strings.code(NOBODY);
    Ok(required(texts(table, name, strings), name)?.into_iter().map(|code| code.unwrap_or(nobody)).collect())
}

fn at(column: &Int64Array, row: usize) -> Option<i64> {
    column.is_valid(row).then(|| column.value(row))
}

/// The rows of the table slices whose task is known.
pub fn slices(table: &RecordBatch, strings: &mut Interner) -> Result<Vec<Slice>> {
    let [cpu, tid, in_ns, out_ns, wait_ns, state] =
        ["cpu", "tid", "in_ns", "out_ns", "wait_ns", "prev_state"].map(|name| numbers(table, name));
    let (cpu, tid, in_ns, out_ns, wait_ns, state) = (cpu?, tid?, in_ns?, out_ns?, wait_ns?, state?);
    let comm = comms(table, "comm", strings)?;
    let slice = |row: usize| {
        let left = at(&state, row);
        let runnable = left.is_some_and(|state| state & ASLEEP == 0);
        Some(Slice {
            cpu: cpu.value(row),
            tid: at(&tid, row)?,
            comm: comm[row],
            in_ns: in_ns.value(row),
            out_ns: out_ns.value(row),
            wait_ns: at(&wait_ns, row),
            runnable,
            dead: left.is_some_and(|state| state & DEAD != 0),
            asleep: left.is_some() && !runnable,
        })
    };
    Ok((0..table.num_rows()).filter_map(slice).collect())
}

/// Events of one kind that tell something of a task.
#[derive(Debug, Default)]
pub struct Events {
    /// The task, when, its name there, and the CPU that it comes to.
    pub rows: Vec<(i64, i64, Option<u32>, Option<i64>)>,
}

impl Events {
    /// `None` where the table lacks the time or the task.
    pub fn of(
        table: &RecordBatch,
        tid: &str,
        name: Option<&str>,
        cpu: Option<&str>,
        strings: &mut Interner,
    ) -> Option<Events> {
        let (tids, times) = (integers(table, tid)?, integers(table, "time_ns")?);
        let names = name.and_then(|name| texts(table, name, strings));
        let cpus = match cpu {
            Some(cpu) => Some(integers(table, cpu)?),
            None => None,
        };
        let row = |row: usize| {
            let name = names.as_ref().and_then(|names| names[row]);
            Some((at(&tids, row)?, at(&times, row)?, name, cpus.as_ref().and_then(|cpus| at(cpus, row))))
        };
        Some(Events { rows: (0..table.num_rows()).filter_map(row).collect() })
    }
}
