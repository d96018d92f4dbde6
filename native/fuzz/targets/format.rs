//! The size of a machine's long, an event's format file up to the first NUL, and behind that the
//! payloads of its samples, each after its own size; sizes have one byte.
#![no_main]

use std::sync::Arc;

use arrow_array::NullArray;
use libfuzzer_sys::fuzz_target;
use netcost::parts::{EventColumns, Format};
use netcost::Unit;
use netcost_fuzz::within;

fuzz_target!(|input: &[u8]| within(input.len(), || {
    let Some((long, input)) = input.split_first() else { return };
    let mut parts = input.splitn(2, |byte| *byte == 0);
    let text = String::from_utf8_lossy(parts.next().unwrap_or_default());
    if let Ok(format) = Format::parse("fuzz", &text, usize::from(*long)) {
        decode(&format, parts.next().unwrap_or_default());
    }
}));

fn decode(format: &Format, block: &[u8]) {
    let mut columns = EventColumns::new(format, true, false);
    let mut at = 0;
    while let Some(&size) = block.get(at) {
        let size = usize::from(size).min(block.len() - at - 1);
        columns.add(at as i64, 0, at as u32 + 1, size as u32);
        at += 1 + size;
    }
    columns.gather(block);
    let rows = columns.len();
    for (_, column) in columns.finish(Arc::new(NullArray::new(rows)), Unit::Nanoseconds) {
        column.to_data().validate_full().expect("a well-formed column");
        assert_eq!(column.len(), rows);
    }
    for field in &format.fields {
        format.symbols(&field.name);
    }
}
