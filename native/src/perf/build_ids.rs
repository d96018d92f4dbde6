//! Build ids that perf wrote of the files it knew, in the header or a stream's records of the same form.

use rustc_hash::FxHashMap;

use crate::bytes::{slice, u16_at, until_nul, Order};
use crate::perf::record::{self, misc};

/// Where build id and name stand (`struct perf_record_header_build_id`); the id's size behind its 20 bytes.
const ID: usize = 12;
const SIZE: usize = 32;
const NAME: usize = 36;
/// In the misc: that size was written.
const MISC_BUILD_ID_SIZE: u16 = 1 << 15;
const LONGEST: usize = 20;

/// A build id by the file's name, as hexadecimal digits.
pub type BuildIds = FxHashMap<Vec<u8>, String>;

/// The digits of a build id; none where there is none, as where masking left zeros.
pub fn digits(bytes: &[u8]) -> Option<String> {
    let known = bytes.iter().any(|&byte| byte != 0);
    known.then(|| bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Takes over a section of such records.
pub fn section(bytes: &[u8], order: Order, found: &mut BuildIds) {
    let mut at = 0;
    while let Some((_, size)) = bytes.get(at..).and_then(|rest| record::header(rest, order)) {
        let Some(record) = slice(bytes, at, size).filter(|_| size > NAME) else { break };
        let misc = order.u16(record, 4).unwrap_or(0);
        one(record, misc, found);
        at += size;
    }
}

/// Takes over a record of a stream, in little-endian order.
pub fn of_stream(record: &[u8], found: &mut BuildIds) {
    if u16_at(record, 4).is_some() {
        one(record, misc(record), found);
    }
}

fn one(record: &[u8], misc: u16, found: &mut BuildIds) {
    let sized = misc & MISC_BUILD_ID_SIZE != 0;
    let size = record.get(SIZE).filter(|_| sized).map_or(LONGEST, |&size| usize::from(size).min(LONGEST));
    let id = slice(record, ID, size).and_then(digits);
    if let (Some(id), Some(name)) = (id, record.get(NAME..)) {
        found.entry(until_nul(name).to_vec()).or_insert(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_one_after_the_other() {
        let mut bytes = Vec::new();
        for (id, misc, name) in [(0xab, 2u16, "/bin/a"), (0, 2, "/masked"), (0xcd, 2 | MISC_BUILD_ID_SIZE, "/lib/b")] {
            let mut record = record::header_bytes(67, 48, Order::Little).to_vec();
            record[4..6].copy_from_slice(&misc.to_le_bytes());
            record.extend([&[255; 4][..], &[id; 20], &[8, 0, 0, 0]].concat());
            record.extend(name.bytes());
            record.resize(48, 0);
            bytes.extend(record);
        }
        let mut found = BuildIds::default();
        section(&bytes[..bytes.len() - 1], Order::Little, &mut found);
        assert_eq!(found.len(), 1);
        section(&bytes, Order::Little, &mut found);
        assert_eq!(found[&b"/bin/a"[..]], "ab".repeat(20));
        assert_eq!(found[&b"/lib/b"[..]], "cd".repeat(8));
        assert_eq!(found.len(), 2);
    }
}
