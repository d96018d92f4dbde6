//! Parts of a perf.data in either byte order, and what a pass shows of them.

use std::fs::File;
use std::io::Write;
use std::ops::ControlFlow;
use std::sync::Arc;

use netcost::{open_file, Order, Recording, Sample, Side, Tally, Visitor, What};

/// Numbers and bytes, one after the other.
#[derive(Clone)]
pub struct Bytes {
    pub order: Order,
    pub bytes: Vec<u8>,
}

impl Bytes {
    pub fn of(order: Order) -> Bytes {
        Bytes { order, bytes: Vec::new() }
    }

    pub fn raw(mut self, bytes: &[u8]) -> Bytes {
        self.bytes.extend(bytes);
        self
    }

    pub fn u16(self, number: u16) -> Bytes {
        let bytes = self.order.u16_bytes(number);
        self.raw(&bytes)
    }

    pub fn u32(self, number: u32) -> Bytes {
        let bytes = self.order.u32_bytes(number);
        self.raw(&bytes)
    }

    pub fn u64(self, number: u64) -> Bytes {
        let bytes = self.order.u64_bytes(number);
        self.raw(&bytes)
    }

    /// A record with this body.
    pub fn record(self, kind: u32, misc: u16, body: Bytes) -> Bytes {
        let size = 8 + body.bytes.len();
        self.u32(kind).u16(misc).u16(size as u16).raw(&body.bytes)
    }
}

/// A tracepoint's attr of 64 bytes, `sample_id_all` set.
pub fn attr(order: Order, config: u64, sample_type: u64) -> Bytes {
    const SAMPLE_ID_ALL: u8 = 1 << (18 - 16);
    let flags = if order == Order::Big { SAMPLE_ID_ALL.reverse_bits() } else { SAMPLE_ID_ALL };
    let attr = Bytes::of(order).u32(2).u32(64).u64(config).u64(1).u64(sample_type).u64(0);
    attr.raw(&[0, 0, flags, 0, 0, 0, 0, 0]).u64(0).u64(0)
}

/// A stream of these records, with one event of id 7 before them.
pub fn pipe(order: Order, config: u64, sample_type: u64, records: &Bytes) -> Vec<u8> {
    let magic = if order == Order::Big { b"2ELIFREP" } else { b"PERFILE2" };
    let head = Bytes::of(order).raw(magic).u64(16).record(64, 0, attr(order, config, sample_type).u64(7));
    head.raw(&records.bytes).bytes
}

pub fn opened(bytes: &[u8]) -> netcost::Result<Recording> {
    let mut file = tempfile::tempfile().expect("a temporary file");
    file.write_all(bytes).expect("written");
    open_file(Arc::<File>::new(file))
}

/// A record that is no sample: type, bytes without its trailer, time and CPU of that, and what it says.
pub type Other = (u32, Vec<u8>, Option<i64>, Option<u32>, What);

/// What a pass shows.
#[derive(Debug, Default, PartialEq)]
pub struct Seen {
    /// Time, CPU, payload and whole record of each sample.
    pub samples: Vec<(i64, u32, Vec<u8>, Vec<u8>)>,
    pub others: Vec<Other>,
}

impl Visitor for Seen {
    fn samples(&mut self, block: &[u8], samples: &[Sample]) -> ControlFlow<()> {
        self.samples.extend(
            samples.iter().map(|sample| {
                (sample.time_ns, sample.cpu, sample.payload(block).to_vec(), sample.bytes(block).to_vec())
            }),
        );
        ControlFlow::Continue(())
    }

    fn side(&mut self, side: &Side<'_>) {
        self.others.push((side.kind, side.bytes.to_vec(), side.time_ns, side.cpu, side.what.clone()));
    }
}

pub fn walked(recording: &Recording) -> (Seen, Tally) {
    let mut seen = Seen::default();
    let tally = recording.walk(&mut seen).expect("a pass");
    (seen, tally)
}
