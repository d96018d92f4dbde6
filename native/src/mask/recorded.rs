//! Where in what perf notes of a machine's tracing the names of tasks are.

use crate::bytes::Order;
use crate::tracing::{Cursor, Tracing};

/// First byte and size of the lines of task names. What is before them are layouts, formats, symbols
/// and texts of the kernel's own; what is behind, or behind damage, nobody knows.
pub fn cmdlines_of(bytes: &[u8]) -> (usize, usize) {
    let mut cursor = Cursor::new(bytes, Order::Little);
    let end = |cursor: &Cursor<'_>| usize::try_from(cursor.at()).unwrap_or(bytes.len());
    let mut found = Tracing::default();
    let whole = found
        .start(&mut cursor)
        .and_then(|_| found.metadata(&mut cursor))
        .and_then(|()| found.kallsyms(&mut cursor))
        .and_then(|()| found.printk(&mut cursor));
    match whole.and_then(|()| cursor.u64()) {
        Some(size) => (end(&cursor), usize::try_from(size).unwrap_or(usize::MAX)),
        None => (end(&cursor), 0),
    }
}
