//! Samples of a text, with the call chains that `perf script` prints below them.

use std::sync::Arc;

use arrow_array::types::{Int32Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, LargeListArray, RecordBatch, UInt64Array};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::Field;

use super::blanks::Blanks;
use super::buffers::Selection;
use super::comms::is_no_name;
use super::frame::Frame;
use super::head::Head;
use super::line::Line;
use super::lines::{each, Blocks};
use super::Text;
use crate::error::{bad, Result};
use crate::intern::{Interner, Labels, NONE};
use crate::progress::Progress;
use crate::tables::{batch, optional, plain};

/// What names idle's task in tables.
const IDLE: &[u8] = b"swapper";

#[derive(Default)]
struct Columns {
    times: Vec<i64>,
    cpus: Vec<Option<i32>>,
    tids: Vec<Option<i32>>,
    comms: Vec<u32>,
    periods: Vec<Option<u64>>,
    addresses: Vec<u64>,
    symbols: Vec<u32>,
    dsos: Vec<u32>,
    /// Where each row's frames end.
    ends: Vec<i64>,
    strings: Interner,
}

impl Text {
    /// The samples of the event of this name, in the order of their lines.
    pub(super) fn chains(&self, wanted: &str, limit: Option<usize>, progress: Progress<'_>) -> Result<RecordBatch> {
        let Some(number) = self.events.iter().position(|event| event.name == wanted) else {
            return Err(bad!(Missing, "no event '{wanted}' in this capture"));
        };
        let limit = limit.unwrap_or(usize::MAX).max(1);
        // The text of a tracepoint has its fields, that of another event the place where it happened.
        let has_place = !self.events[number].is_tracepoint();
        let mut selection = Selection::of(self.buffer.as_bytes());
        let mut columns = Columns::default();
        let mut in_chain = false;
        let mut blocks = Blocks::of(&self.file, self.from, self.end);
        'blocks: while let Some(lines) = blocks.next()? {
            let mut blanks = Blanks::of(lines);
            for line in each(lines) {
                let line = self.prefix.strip(line, &mut blanks);
                match Line::of(line) {
                    Line::Event(head) => {
                        let taken = selection.takes(&head).then(|| self.row(&head)).flatten();
                        in_chain = taken.is_some_and(|(event, ..)| event as usize == number);
                        if in_chain {
                            if columns.times.len() == limit {
                                break 'blocks;
                            }
                            columns.add(&head, self.has_unit.then_some(head.stamp.time));
                            if let (true, Some(frame)) = (has_place, Frame::parse(head.text)) {
                                columns.add_frame(&frame);
                            }
                        }
                    }
                    Line::Frame if in_chain => {
                        if let Some(frame) = Frame::parse(line) {
                            columns.add_frame(&frame);
                        }
                    }
                    Line::Blank => in_chain = false,
                    _ => {}
                }
            }
            if !progress(blocks.done()) {
                return Err(bad!(Interrupted, "interrupted"));
            }
        }
        columns.finish(self)
    }
}

impl Columns {
    fn add(&mut self, head: &Head<'_>, time_ns: Option<i64>) {
        self.times.push(time_ns.unwrap_or(head.stamp.time));
        self.cpus.push(head.cpu.and_then(|cpu| i32::try_from(cpu).ok()));
        self.tids.push(head.tid);
        let comm = match head.tid {
            Some(0) => self.strings.code(IDLE),
            _ if is_no_name(head) => NONE,
            _ => self.strings.code(head.comm),
        };
        self.comms.push(comm);
        self.periods.push(head.period);
        self.ends.push(self.addresses.len() as i64);
    }

    /// One frame more of the last row.
    fn add_frame(&mut self, frame: &Frame<'_>) {
        let Some(end) = self.ends.last_mut() else { return };
        self.addresses.push(frame.address);
        for (codes, name) in [(&mut self.symbols, frame.symbol), (&mut self.dsos, frame.dso)] {
            codes.push(if name.is_empty() { NONE } else { self.strings.code(name) });
        }
        *end = self.addresses.len() as i64;
    }

    fn finish(self, text: &Text) -> Result<RecordBatch> {
        let rows = self.times.len();
        // As in tables of a perf.data, a column of what was not recorded is null in all rows.
        let has_chains = !self.addresses.is_empty();
        let nulls = if has_chains { NullBuffer::new_valid(rows) } else { NullBuffer::new_null(rows) };
        let offsets = OffsetBuffer::new(ScalarBuffer::from_iter(std::iter::once(0).chain(self.ends)));
        let list = |values: ArrayRef, named: bool| -> ArrayRef {
            let item = Arc::new(Field::new("item", values.data_type().clone(), named));
            Arc::new(LargeListArray::new(item, offsets.clone(), values, Some(nulls.clone())))
        };
        let labels = Labels::new(self.strings.values());
        let time = if text.has_unit { "time_ns" } else { "time_order" };
        batch(vec![
            (time.into(), plain::<Int64Type>(self.times.into_iter())),
            ("cpu".into(), optional::<Int32Type>(self.cpus.into_iter())),
            ("tid".into(), optional::<Int32Type>(self.tids.into_iter())),
            ("comm".into(), labels.column(self.comms.into_iter())),
            ("period".into(), optional::<UInt64Type>(self.periods.into_iter())),
            ("callchain".into(), list(Arc::new(UInt64Array::from(self.addresses)), false)),
            ("symbols".into(), list(labels.column(self.symbols.into_iter()), true)),
            ("dsos".into(), list(labels.column(self.dsos.into_iter()), true)),
        ])
    }
}
