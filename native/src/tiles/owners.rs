//! The owner and task of each row: numbers that were given to the rows of the sums.

use std::sync::{Mutex, PoisonError};

use arrow_array::{Int64Array, RecordBatch};
use rustc_hash::FxHashMap;

use crate::error::{bad, Result};
use crate::intern::{Interner, NONE};
use crate::lives::read::{at, numbers, texts};

/// Stands for a task if the time's owner is unknown.
pub const NOBODY: u32 = u32::MAX;

/// The columns that tell owners apart, besides tid and id.
const TEXTS: [&str; 6] = ["context", "comm", "name", "device", "cost_class", "is_network"];

type Key = ([u32; TEXTS.len()], Option<i64>, Option<i64>);

/// Owners and tasks by the columns of their rows.
#[derive(Debug, Default)]
pub struct Owners {
    /// Includes strings that only batches have. They belong to no owner.
    strings: Mutex<Interner>,
    known: FxHashMap<Key, (u32, u32)>,
    /// By owner: whether network work took its time from a task.
    stolen: Vec<bool>,
}

impl Owners {
    /// `of_rows`: owner and task of each row of the sums. `stolen`: per owner, see above.
    pub fn new<'b>(
        sums: impl Iterator<Item = &'b RecordBatch>,
        of_rows: &[(u32, u32)],
        stolen: Vec<bool>,
    ) -> Result<Owners> {
        let mut owners = Owners { stolen, ..Owners::default() };
        let mut numbers = of_rows.iter();
        for batch in sums {
            let keys = owners.keys(batch)?;
            for row in 0..batch.num_rows() {
                let number = numbers.next().ok_or_else(|| bad!(Refused, "there are more sums than owners of them"))?;
                owners.known.insert(keys.key(row), *number);
            }
        }
        Ok(owners)
    }

    /// Whether network work took this owner's time from a task.
    #[inline(always)]
    pub fn is_stolen(&self, owner: u32) -> bool {
        self.stolen.get(owner as usize).copied().unwrap_or(false)
    }

    /// Owner and task of each row.
    pub fn of(&self, batch: &RecordBatch) -> Result<Vec<(u32, u32)>> {
        let keys = self.keys(batch)?;
        let mut found = Vec::with_capacity(batch.num_rows());
        let mut last: Option<(Key, (u32, u32))> = None;
        for row in 0..batch.num_rows() {
            let key = keys.key(row);
            let number = match &last {
                Some((known, number)) if *known == key => *number,
                _ => *self.known.get(&key).ok_or_else(|| {
                    bad!(Changed, "a stretch of time has an owner that the sums do not have: was the file rewritten while it was read?")
                })?,
            };
            last = Some((key, number));
            found.push(number);
        }
        Ok(found)
    }

    fn keys(&self, batch: &RecordBatch) -> Result<Keys> {
        Keys::of(batch, &mut self.strings.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Keys of a batch's rows.
struct Keys {
    texts: Vec<Vec<Option<u32>>>,
    tid: Int64Array,
    id: Int64Array,
}

impl Keys {
    fn of(batch: &RecordBatch, strings: &mut Interner) -> Result<Keys> {
        let mut column = |name: &&str| {
            texts(batch, name, strings).ok_or_else(|| bad!(Refused, "a table without the column '{name}'"))
        };
        let texts = TEXTS.iter().map(&mut column).collect::<Result<_>>()?;
        Ok(Keys { texts, tid: numbers(batch, "tid")?, id: numbers(batch, "id")? })
    }

    #[inline(always)]
    fn key(&self, row: usize) -> Key {
        let mut codes = [NONE; TEXTS.len()];
        for (code, column) in codes.iter_mut().zip(&self.texts) {
            *code = column[row].unwrap_or(NONE);
        }
        (codes, at(&self.tid, row), at(&self.id, row))
    }
}
