//! Reads the tables that lives are made from.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Int16Type, Int32Type, Int8Type};
use arrow_array::{Array, Int32Array, Int64Array, PrimitiveArray, RecordBatch};
use arrow_cast::cast;
use arrow_schema::DataType;

use crate::error::{bad, Result};
use crate::intern::Interner;
use crate::lives::slice::NOBODY;
use crate::narrow::Narrow;

/// Widens integers of any width. Narrow ones need no range checks.
fn widened<T: ArrowPrimitiveType>(column: &dyn Array) -> Option<PrimitiveArray<T>>
where
    T::Native: From<i8> + From<i16> + From<i32>,
{
    Some(match column.data_type() {
        DataType::Int8 => column.as_primitive::<Int8Type>().unary(|value| value.into()),
        DataType::Int16 => column.as_primitive::<Int16Type>().unary(|value| value.into()),
        DataType::Int32 => column.as_primitive::<Int32Type>().unary(|value| value.into()),
        _ => cast(column, &T::DATA_TYPE).ok()?.as_primitive::<T>().clone(),
    })
}

/// An integer column; `None` if the table lacks it.
pub fn integers(table: &RecordBatch, name: &str) -> Option<Int64Array> {
    widened(table.column_by_name(name)?)
}

/// A text column. Each distinct text is looked up once.
#[derive(Debug)]
pub struct Texts {
    keys: Int32Array,
    codes: Vec<Option<u32>>,
}

impl Texts {
    /// `None` if the table lacks the column.
    pub fn of(table: &RecordBatch, name: &str, strings: &mut Interner) -> Option<Texts> {
        let column = table.column_by_name(name)?;
        let (keys, values) = match column.as_any_dictionary_opt() {
            Some(coded) => (widened(coded.keys())?, coded.values()),
            None => ((0..column.len().narrow()).collect(), column),
        };
        let values = cast(values, &DataType::Utf8).ok()?;
        let codes = values.as_string::<i32>().iter().map(|text| text.map(|text| strings.code(text.as_bytes())));
        Some(Texts { keys, codes: codes.collect() })
    }

    /// The code of a row; `None` for a null.
    #[inline]
    pub fn code(&self, row: usize) -> Option<u32> {
        let key = self.keys.is_valid(row).then(|| self.keys.value(row))?;
        self.codes.get(key as usize).copied().flatten()
    }
}

/// The codes of a text column; `None` for a null.
pub fn texts(table: &RecordBatch, name: &str, strings: &mut Interner) -> Option<Vec<Option<u32>>> {
    let found = Texts::of(table, name, strings)?;
    Some((0..table.num_rows()).map(|row| found.code(row)).collect())
}

/// Fails if the table lacks a column.
pub fn required<T>(column: Option<T>, name: &str) -> Result<T> {
    column.ok_or_else(|| bad!(Refused, "a table without the column '{name}'"))
}

/// A required integer column.
pub fn numbers(table: &RecordBatch, name: &str) -> Result<Int64Array> {
    required(integers(table, name), name)
}

/// Names of tasks; "(unknown)" for a null.
pub fn comms(table: &RecordBatch, name: &str, strings: &mut Interner) -> Result<Vec<u32>> {
    let nobody = strings.code(NOBODY);
    Ok(required(texts(table, name, strings), name)?.into_iter().map(|code| code.unwrap_or(nobody)).collect())
}

/// A row's integer; `None` for a null.
#[inline]
pub fn at(column: &Int64Array, row: usize) -> Option<i64> {
    column.is_valid(row).then(|| column.value(row))
}

/// Rows to process at a time, whatever the table's size.
const ROWS: usize = 1 << 17;

/// A table in pieces that fit the cache.
pub fn pieces(table: &RecordBatch) -> impl Iterator<Item = RecordBatch> + '_ {
    let rows = table.num_rows();
    (0..rows).step_by(ROWS).map(move |at| table.slice(at, ROWS.min(rows - at)))
}

/// Ranges of consecutive rows of one CPU.
pub fn runs(cpus: &[i64]) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut at = 0;
    cpus.chunk_by(|one, next| one == next).map(move |same| {
        let begin = at;
        at += same.len();
        begin..at
    })
}

/// Events of one kind about tasks.
#[derive(Debug, Default, Clone)]
pub struct Events {
    /// Task, time, the task's name, and the CPU that it comes to.
    pub rows: Vec<(i64, i64, Option<u32>, Option<i64>)>,
}

impl Events {
    /// `None` if the table lacks the time or the task.
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
