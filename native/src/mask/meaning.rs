//! What masking asks of its caller, and what it says of what was done.

use std::collections::BTreeMap;

use crate::error::Result;

/// What the caller knows of what is found.
pub trait Meaning {
    /// What to do with a field of an event: `keep`, `zero`, or the kind of what it holds. `shape` is
    /// `int`, `text` or `bytes`.
    fn field(&mut self, event: &str, field: &str, shape: &str, size: usize) -> Result<String>;
    /// What stands in the place of something, in no more bytes than that has.
    fn replace(&mut self, kind: &str, original: &[u8]) -> Result<Vec<u8>>;
    /// Called now and then with the fraction done: an error ends the work.
    fn progress(&mut self, fraction: f64) -> Result<()>;
}

/// What was done, by what it was done to; texts are for people.
pub type Changes = BTreeMap<String, u64>;
