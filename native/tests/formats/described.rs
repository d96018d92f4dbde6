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

/// What an attr of 64 bytes says, and the ids of its event.
#[derive(Clone, Copy)]
pub struct Attr<'i> {
    pub kind: u32,
    pub config: u64,
    pub period: u64,
    pub sample_type: u64,
    pub read_format: u64,
    /// By their bits on a little-endian machine.
    pub flags: u64,
    pub ids: &'i [u64],
}

/// `PERF_SAMPLE_*`, and the type of a sample's record.
pub const IP: u64 = 1 << 0;
pub const TID: u64 = 1 << 1;
pub const TIME: u64 = 1 << 2;
pub const CALLCHAIN: u64 = 1 << 5;
pub const CPU: u64 = 1 << 7;
pub const PERIOD: u64 = 1 << 8;
pub const RAW: u64 = 1 << 10;
pub const IDENTIFIER: u64 = 1 << 16;
pub const SAMPLE: u32 = 9;

pub const SAMPLE_ID_ALL: u64 = 1 << 18;

impl Attr<'_> {
    /// A tracepoint of id 7.
    pub fn tracepoint(config: u64, sample_type: u64) -> Attr<'static> {
        Attr { kind: 2, config, period: 1, sample_type, read_format: 0, flags: SAMPLE_ID_ALL, ids: &[7] }
    }

    pub fn bytes(&self, order: Order) -> Bytes {
        let flag = |byte: u8| if order == Order::Big { byte.reverse_bits() } else { byte };
        let attr = Bytes::of(order).u32(self.kind).u32(64).u64(self.config).u64(self.period).u64(self.sample_type);
        attr.u64(self.read_format).raw(&self.flags.to_le_bytes().map(flag)).u64(0).u64(0)
    }
}

fn magic(order: Order) -> Bytes {
    Bytes::of(order).raw(if order == Order::Big { b"2ELIFREP" } else { b"PERFILE2" })
}

/// A stream of these records, with one event of id 7 before them.
pub fn pipe(order: Order, config: u64, sample_type: u64, records: &Bytes) -> Vec<u8> {
    pipe_of(order, &[Attr::tracepoint(config, sample_type)], records)
}

/// The same with these events.
pub fn pipe_of(order: Order, attrs: &[Attr<'_>], records: &Bytes) -> Vec<u8> {
    let head = magic(order).u64(16);
    let with_ids = |attr: &Attr<'_>| attr.ids.iter().fold(attr.bytes(order), |body, &id| body.u64(id));
    let head = attrs.iter().fold(head, |head, attr| head.record(64, 0, with_ids(attr)));
    head.raw(&records.bytes).bytes
}

/// A file of one event whose header has this size, with its ids before its attr.
pub fn file_of(order: Order, header: u64, attr: &Attr<'_>, records: &Bytes) -> Vec<u8> {
    let (ids, attrs) = (8 * attr.ids.len() as u64, header + 8 * attr.ids.len() as u64);
    let head = magic(order).u64(header).u64(80).u64(attrs).u64(80);
    let head = head.u64(attrs + 80).u64(records.bytes.len() as u64).raw(&vec![0; header as usize - 56]);
    let head = attr.ids.iter().fold(head, |head, &id| head.u64(id));
    head.raw(&attr.bytes(order).u64(header).u64(ids).bytes).raw(&records.bytes).bytes
}

/// The format of an event of a softirq.
pub fn softirq(name: &str, id: u16) -> String {
    let line = |field: &str, at: u32, size: u32, signed: u32| {
        format!("\tfield:{field};\toffset:{at};\tsize:{size};\tsigned:{signed};\n")
    };
    let common = line("unsigned short common_type", 0, 2, 0) + &line("unsigned char common_flags", 2, 1, 0);
    let common = common + &line("unsigned char common_preempt_count", 3, 1, 0) + &line("int common_pid", 4, 4, 1);
    let vec = line("unsigned int vec", 8, 4, 0);
    format!("name: {name}\nID: {id}\nformat:\n{common}\n{vec}\nprint fmt: \"vec=%u\", REC->vec\n")
}

/// The formats of these events of a system, as perf records them of a machine with so long a `long`.
pub fn tracing(records: Bytes, word: u8, system: &str, formats: &[&str]) -> Bytes {
    let here = || Bytes::of(records.order);
    let sized = |bytes: Bytes, text: &str| bytes.u64(text.len() as u64).raw(text.as_bytes());
    let data = here().raw(b"\x17\x08\x44tracing0.6\0").raw(&[u8::from(records.order == Order::Big), word]).u32(4096);
    let data = data.raw(b"header_page\0").u64(0).raw(b"header_event\0").u64(0).u32(0);
    let data = data.u32(1).raw(system.as_bytes()).raw(b"\0").u32(formats.len() as u32);
    let data = formats.iter().fold(data, |data, text| sized(data, text)).u32(0).u32(0).u64(0);
    let size = here().u32(data.bytes.len() as u32);
    records.record(66, 0, size).raw(&data.bytes)
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
