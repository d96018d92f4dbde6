//! Strings as small numbers, and back as Arrow dictionaries.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowDictionaryKeyType, Int16Type, Int32Type, Int8Type};
use arrow_array::{ArrayRef, DictionaryArray, PrimitiveArray, StringArray, UInt64Array};
use arrow_buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use indexmap::{IndexMap, IndexSet};
use rustc_hash::FxBuildHasher;

use crate::bytes::until_nul;
use crate::narrow::Narrow;
use crate::tables::gather;

/// The code for "no string".
pub const NONE: u32 = u32::MAX;

/// Each distinct string once.
#[derive(Debug, Default, Clone)]
pub struct Interner {
    /// The bytes given, and the text shown for them.
    strings: IndexMap<Box<[u8]>, String, FxBuildHasher>,
    bytes: usize,
}

/// Most bytes of strings that an Arrow column can hold.
pub const MAX_BYTES: usize = i32::MAX as usize;

impl Interner {
    /// The code of these bytes, known or new. New ones get `NONE` once the column is full.
    pub fn code(&mut self, bytes: &[u8]) -> u32 {
        if let Some(code) = self.strings.get_index_of(bytes) {
            return code.narrow();
        }
        let value = String::from_utf8_lossy(bytes).into_owned();
        self.bytes += value.len();
        if self.is_full() {
            return NONE;
        }
        self.strings.insert_full(bytes.into(), value).0.narrow()
    }

    /// The code of these bytes up to the first NUL. If they are those of the last call with this `likely`, as they
    /// mostly are, this is one comparison without a hash.
    #[inline(always)]
    pub fn code_likely(&mut self, bytes: &[u8], likely: &mut Likely) -> u32 {
        if *likely.bytes != *bytes || likely.code == NONE {
            *likely = Likely { bytes: bytes.into(), code: self.code(until_nul(bytes)) };
        }
        likely.code
    }

    /// Whether there were more strings than a column can hold.
    pub fn is_full(&self) -> bool {
        self.bytes > MAX_BYTES
    }

    /// The string behind a code; empty for `NONE`.
    pub fn get(&self, code: u32) -> &str {
        self.strings.get_index(code as usize).map_or("", |(_, shown)| shown)
    }

    /// Every string, by code.
    pub fn values(&self) -> impl Iterator<Item = &String> {
        self.strings.values()
    }
}

/// The last lookup, as it was in the recording.
#[derive(Debug, Clone)]
pub struct Likely {
    bytes: Box<[u8]>,
    code: u32,
}

impl Default for Likely {
    fn default() -> Self {
        Likely { bytes: Box::default(), code: NONE }
    }
}

/// Codes of 16-byte task names. The same few repeat, so one comparison of all bytes finds most of them.
#[derive(Debug, Default)]
pub struct CommCache {
    /// Empty until the first name.
    slots: Vec<(u128, u32)>,
}

const SLOTS: usize = 1024;

impl CommCache {
    /// The code of a task name in the kernel's form.
    #[inline(always)]
    pub fn code(&mut self, bytes: &[u8], strings: &mut Interner) -> u32 {
        let Ok(array) = <[u8; 16]>::try_from(bytes) else {
            return strings.code(until_nul(bytes));
        };
        if self.slots.is_empty() {
            self.slots = vec![(0, NONE); SLOTS];
        }
        let word = u128::from_le_bytes(array);
        let mixed = ((word & 0xffff_ffff_ffff_ffff) as u64 ^ (word >> 64) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let slot = &mut self.slots[(mixed >> 54) as usize % SLOTS];
        if slot.0 != word || slot.1 == NONE {
            *slot = (word, strings.code(until_nul(bytes)));
        }
        slot.1
    }
}

/// The distinct values of a dictionary column, and the key of each code.
#[derive(Debug)]
pub struct Labels {
    values: ArrayRef,
    keys: Vec<i32>,
    distinct: usize,
}

impl Labels {
    /// For codes that index `values`, which may hold a string twice.
    pub fn new<'a, S: AsRef<str> + 'a>(values: impl IntoIterator<Item = &'a S>) -> Labels {
        let mut distinct = IndexSet::<&str, FxBuildHasher>::default();
        let keys = values.into_iter().map(|value| distinct.insert_full(value.as_ref()).0.narrow()).collect();
        Labels { distinct: distinct.len(), values: Arc::new(StringArray::from_iter_values(distinct)), keys }
    }

    /// For codes that index distinct numbers.
    pub fn of_numbers(values: Vec<u64>) -> Labels {
        let keys = (0..values.len().narrow()).collect();
        Labels { distinct: values.len(), values: Arc::new(UInt64Array::from(values)), keys }
    }

    /// The same values, followed by `more`.
    pub fn and(&self, more: &[&str]) -> Labels {
        let values = self.values.as_string::<i32>().iter().flatten();
        Labels::new(&values.chain(more.iter().copied()).collect::<Vec<&str>>())
    }

    /// Number of keys.
    pub fn count(&self) -> usize {
        self.distinct
    }

    /// The key of a code; -1 for `NONE`.
    #[inline(always)]
    pub fn key(&self, code: u32) -> i32 {
        self.keys.get(code as usize).copied().unwrap_or(-1)
    }

    /// A column of these codes, with keys as narrow as the number of strings allows. Nulls hold -1 as in pandas'
    /// categories, which saves it a pass over them.
    pub fn column(&self, codes: impl Iterator<Item = u32>) -> ArrayRef {
        self.of_keys(codes.map(|code| self.key(code)))
    }

    /// A column of these keys.
    pub fn of_keys(&self, keys: impl Iterator<Item = i32>) -> ArrayRef {
        match self.distinct {
            0..=127 => self.typed::<Int8Type>(gather(keys.map(|key| key.narrow()))),
            128..=32767 => self.typed::<Int16Type>(gather(keys.map(|key| key.narrow()))),
            _ => self.typed::<Int32Type>(gather(keys)),
        }
    }

    /// The rank of each key in the order of the strings. Numbers are already in order.
    pub fn ranks(&self) -> Vec<i64> {
        let values = self.values.as_string_opt::<i32>();
        let mut order: Vec<usize> = (0..self.distinct).collect();
        order.sort_by_key(|&key| values.map(|values| values.value(key)));
        let mut ranks = vec![0; self.distinct];
        order.into_iter().enumerate().for_each(|(rank, key)| ranks[key] = rank as i64);
        ranks
    }

    /// The key of a string, if it is a value.
    pub fn find(&self, text: &str) -> Option<i32> {
        let values = self.values.as_any().downcast_ref::<StringArray>()?;
        values.iter().position(|value| value == Some(text)).map(|key| key.narrow())
    }

    fn typed<K: ArrowDictionaryKeyType>(&self, keys: Vec<K::Native>) -> ArrayRef {
        let zero = K::Native::default();
        let some_null = keys.iter().any(|key| *key < zero);
        let nulls =
            some_null.then(|| NullBuffer::new(BooleanBuffer::collect_bool(keys.len(), |row| keys[row] >= zero)));
        let keys = PrimitiveArray::<K>::new(ScalarBuffer::from(keys), nulls);
        Arc::new(DictionaryArray::<K>::new(keys, Arc::clone(&self.values)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_likely_is_what_it_would_be_anyway() {
        let (mut strings, mut likely) = (Interner::default(), Likely::default());
        let shown = "\u{fffd}".as_bytes();
        for bytes in [b"eth0".as_slice(), b"eth0\0", b"", b"\0", b"eth1", b"eth0", b"\xff", shown, b"\xff", shown] {
            let found = strings.code_likely(bytes, &mut likely);
            assert_eq!(found, strings.code(until_nul(bytes)), "{bytes:?}");
        }
        assert_eq!(strings.values().collect::<Vec<&String>>(), ["eth0", "", "eth1", "\u{fffd}", "\u{fffd}"]);
    }
}
