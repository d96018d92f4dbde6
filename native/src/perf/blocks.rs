//! The records of a part in file order: blocks of them as they lie there, and what compressed ones hold.

use std::ops::ControlFlow;

use crate::bytes::Order;
use crate::error::{bad, Result};
use crate::input::Window;
use crate::perf::record::{self, kind};
use crate::perf::recording::Part;
use crate::perf::unpack::Unpacked;

/// What is done with records.
pub trait Records {
    /// Takes the whole records at the start of `block`: bytes used, and why it was no more. It stands at
    /// `offset` in the file, or came out of a compressed record.
    fn block(&mut self, block: &[u8], offset: Option<u64>) -> (usize, Stop);
    /// All that a compressed record held was taken.
    fn unpacked(&mut self) {}
    /// Why a part's rest is lost.
    fn note(&mut self, note: String);
    /// So many bytes of the part are done; `Break` ends the work.
    fn progress(&mut self, done: u64) -> ControlFlow<()>;
}

/// Why a block's records were not taken to its end.
pub enum Stop {
    /// The next record is not whole, or none.
    Short,
    /// A record holds compressed records; its payload, in the block.
    Compressed(usize, usize),
    /// Bytes that are no records follow the last one.
    Skip(u64),
    /// No more is wanted.
    Enough,
}

/// Whether something else than the next record may follow one of this type.
pub fn is_last(kind: u32) -> bool {
    matches!(kind, kind::AUXTRACE | kind::HEADER_TRACING_DATA | kind::COMPRESSED | kind::COMPRESSED2)
}

/// What follows such a record at `at` in a block.
pub fn follows(kind: u32, bytes: &[u8], at: usize, order: Order) -> Option<Stop> {
    match kind {
        kind::COMPRESSED => Some(Stop::Compressed(at + 8, at + bytes.len())),
        kind::COMPRESSED2 => {
            let size = order.u64(bytes, 8).and_then(|size| usize::try_from(size).ok())?;
            let from = at + 16.min(bytes.len());
            Some(Stop::Compressed(from, from.saturating_add(size).min(at + bytes.len())))
        }
        kind::AUXTRACE => order.u64(bytes, 8).map(Stop::Skip),
        kind::HEADER_TRACING_DATA => order.u32(bytes, 8).map(|size| Stop::Skip(size.into())),
        _ => None,
    }
}

/// Gives all records of a part away.
pub fn walk(part: &Part, order: Order, records: &mut impl Records) -> Result<ControlFlow<()>> {
    let mut window = Window::new(&part.file, part.start, part.end);
    let mut unpacked: Option<Unpacked> = None;
    let mut want = record::HEADER;
    loop {
        let offset = window.offset();
        let block = window.peek(want)?;
        let available = block.len();
        if available < record::HEADER {
            if available > 0 {
                records.note(format!(
                    "file cut short at byte {offset}: only {available} bytes of the last record are there"
                ));
            }
            break;
        }
        let (used, stop) = records.block(block, Some(offset));
        let next = block.get(used..).and_then(|rest| record::header(rest, order));
        let mut skip = 0;
        let asked = std::mem::replace(&mut want, record::HEADER);
        match stop {
            Stop::Short if next.is_some_and(|(_, size)| size < record::HEADER) => {
                let at = offset + used as u64;
                records.note(format!(
                    "record at byte {at} has a size smaller than its header: the {} bytes from there on are not read",
                    part.end.saturating_sub(at)
                ));
                break;
            }
            Stop::Short => {
                let size = next.map_or(record::HEADER, |(_, size)| size);
                if used == 0 && asked >= size {
                    records.note(format!(
                        "file cut short at byte {offset}: only {available} of a record's {size} bytes are there"
                    ));
                    break;
                }
                want = size;
            }
            Stop::Compressed(from, to) => {
                let done = offset - part.start;
                let unpacked = unpacked.get_or_insert_with(Unpacked::new);
                match unpacked.feed(&block[from..to], |bytes| inner(bytes, order, done, records)) {
                    Ok(ControlFlow::Continue(())) => records.unpacked(),
                    Ok(ControlFlow::Break(())) => return Ok(ControlFlow::Break(())),
                    Err(reason) => {
                        records.note(format!(
                            "compressed record at byte {} is damaged ({reason}): the records after it are lost",
                            offset + from as u64
                        ));
                        break;
                    }
                }
            }
            Stop::Skip(size) => skip = size,
            Stop::Enough => return Ok(ControlFlow::Break(())),
        }
        window.advance(used as u64)?;
        window.advance(skip)?;
        if records.progress(window.offset() - part.start).is_break() {
            return Err(bad!(Interrupted, "interrupted"));
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// Records that came out of a compressed one: bytes used, or a stop.
fn inner(
    bytes: &[u8],
    order: Order,
    done: u64,
    records: &mut impl Records,
) -> std::result::Result<(usize, ControlFlow<()>), String> {
    let (used, stop) = records.block(bytes, None);
    if records.progress(done).is_break() {
        return Err("interrupted".to_owned());
    }
    let next = bytes.get(used..).and_then(|rest| record::header(rest, order));
    if next.is_some_and(|(_, size)| size < record::HEADER) {
        return Err("it holds a record smaller than its header".to_owned());
    }
    match stop {
        Stop::Short => Ok((used, ControlFlow::Continue(()))),
        Stop::Enough => Ok((used, ControlFlow::Break(()))),
        Stop::Compressed(..) | Stop::Skip(_) => Err("it holds something other than plain records".to_owned()),
    }
}
