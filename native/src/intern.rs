//! Strings as small numbers, and back as Arrow dictionaries.

use std::sync::Arc;

use arrow::array::{ArrayRef, DictionaryArray, Int32Array, StringArray};
use arrow::buffer::{NullBuffer, ScalarBuffer};
use arrow::datatypes::Int32Type;
use rustc_hash::FxHashMap;

use crate::bytes::until_nul;

/// A code that stands for "no string".
pub const NONE: u32 = u32::MAX;

/// Each distinct string once.
#[derive(Debug, Default, Clone)]
pub struct Interner {
    codes: FxHashMap<Box<[u8]>, u32>,
    values: Vec<String>,
}

impl Interner {
    /// The code of these bytes, new or known.
    pub fn code(&mut self, bytes: &[u8]) -> u32 {
        if let Some(&code) = self.codes.get(bytes) {
            return code;
        }
        let code = self.values.len() as u32;
        self.values.push(String::from_utf8_lossy(bytes).into_owned());
        self.codes.insert(bytes.into(), code);
        code
    }

    /// The string behind a code; empty for `NONE`.
    pub fn get(&self, code: u32) -> &str {
        self.values.get(code as usize).map_or("", String::as_str)
    }

    /// Every string, by code.
    pub fn values(&self) -> &[String] {
        &self.values
    }
}

/// Codes of 16-byte task names: the same few repeat, so most are found by comparing all bytes at once.
#[derive(Debug)]
pub struct CommCache {
    slots: Vec<(u128, u32)>,
}

const SLOTS: usize = 1024;

impl Default for CommCache {
    fn default() -> Self {
        CommCache { slots: vec![(0, NONE); SLOTS] }
    }
}

impl CommCache {
    /// The code of a task name as the kernel stores it.
    #[inline(always)]
    pub fn code(&mut self, bytes: &[u8], strings: &mut Interner) -> u32 {
        let Ok(array) = <[u8; 16]>::try_from(bytes) else {
            return strings.code(until_nul(bytes));
        };
        let word = u128::from_le_bytes(array);
        let mixed = (word as u64 ^ (word >> 64) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let slot = &mut self.slots[(mixed >> 54) as usize % SLOTS];
        if slot.0 != word || slot.1 == NONE {
            *slot = (word, strings.code(until_nul(bytes)));
        }
        slot.1
    }
}

/// A dictionary column from codes; `NONE` becomes null. `values` may hold a string twice.
pub fn dictionary(codes: Vec<u32>, values: &[String]) -> ArrayRef {
    let mut known: FxHashMap<&str, i32> = FxHashMap::default();
    let mut unique: Vec<&str> = Vec::new();
    let moved: Vec<i32> = values
        .iter()
        .map(|value| {
            *known.entry(value).or_insert_with(|| {
                unique.push(value);
                unique.len() as i32 - 1
            })
        })
        .collect();
    let nulls = codes.contains(&NONE).then(|| NullBuffer::from_iter(codes.iter().map(|&code| code != NONE)));
    let keys: Vec<i32> = if moved.len() == unique.len() {
        codes.into_iter().map(|code| if code == NONE { 0 } else { code as i32 }).collect()
    } else {
        codes.into_iter().map(|code| if code == NONE { 0 } else { moved[code as usize] }).collect()
    };
    let keys = Int32Array::new(ScalarBuffer::from(keys), nulls);
    let values: ArrayRef = Arc::new(StringArray::from(unique));
    match DictionaryArray::<Int32Type>::try_new(keys, Arc::clone(&values)) {
        Ok(array) => Arc::new(array),
        // Only a code outside the dictionary gets here: show the column as unknown, never fail.
        Err(_) => arrow::array::new_null_array(
            &arrow::datatypes::DataType::Dictionary(
                Box::new(arrow::datatypes::DataType::Int32),
                Box::new(arrow::datatypes::DataType::Utf8),
            ),
            0,
        ),
    }
}
