//! What lies at which address: mappings of files and kernel symbols that came and went.

use std::ops::ControlFlow;

use arrow_array::types::{Int32Type, Int64Type, UInt64Type};
use arrow_array::RecordBatch;

use crate::bytes::{i32_at, text, u16_at, u32_at, u64_at, until_nul};
use crate::error::{bad, Result};
use crate::intern::{Interner, Labels, NONE};
use crate::narrow::Narrow;
use crate::perf::build_ids::digits;
use crate::perf::record::{kind, misc, CPU_MODES, MISC_CPUMODE_MASK, MISC_MMAP_BUILD_ID, MISC_MMAP_DATA};
use crate::progress::{flow, Progress};
use crate::recording::Recording;
use crate::tables::{batch, booleans, optional, plain};
use crate::visit::{Sample, Side, Visitor};

const PROT_EXEC: u32 = 4;
/// What `MISC_CPUMODE_MASK` selects of this kernel's own code, and of programs.
pub(super) const MODE_KERNEL: u16 = 1;
pub(super) const MODE_USER: u16 = 2;
const KSYMBOL_KINDS: [&str; 3] = ["unknown", "bpf", "out of line"];
const KSYMBOL_UNREGISTER: u16 = 1;

/// A MMAP or MMAP2 record; `filename` and `build_id` are codes of an interner.
pub(super) struct Mapping {
    time_ns: Option<i64>,
    pub(super) pid: i32,
    tid: i32,
    pub(super) address: u64,
    pub(super) length: u64,
    pub(super) page_offset: u64,
    pub(super) filename: u32,
    pub(super) executable: bool,
    pub(super) build_id: u32,
    pub(super) mode: u16,
}

struct Symbol {
    time_ns: Option<i64>,
    address: u64,
    length: u64,
    kind: u16,
    unregistered: bool,
    name: u32,
}

struct Collector<'p> {
    strings: Interner,
    mappings: Option<Vec<Mapping>>,
    symbols: Option<Vec<Symbol>>,
    progress: Progress<'p>,
}

impl Visitor for Collector<'_> {
    fn samples(&mut self, _block: &[u8], _samples: &[Sample]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn side(&mut self, side: &Side<'_>) {
        match side.kind {
            kind::MMAP | kind::MMAP2 => {
                if let Some(mappings) = &mut self.mappings {
                    mappings.extend(mapping(side, &mut self.strings));
                }
            }
            kind::KSYMBOL => {
                if let Some(symbols) = &mut self.symbols {
                    symbols.extend(symbol(side, &mut self.strings));
                }
            }
            _ => {}
        }
    }

    fn progress(&mut self, fraction: f64) -> ControlFlow<()> {
        flow((self.progress)(fraction))
    }
}

pub(super) fn mapping(side: &Side<'_>, strings: &mut Interner) -> Option<Mapping> {
    let (bytes, misc) = (side.bytes, misc(side.bytes));
    let newer = side.kind == kind::MMAP2;
    let executable = if newer { u32_at(bytes, 64)? & PROT_EXEC != 0 } else { misc & MISC_MMAP_DATA == 0 };
    let build_id = (newer && misc & MISC_MMAP_BUILD_ID != 0).then(|| build_id(bytes)).flatten();
    Some(Mapping {
        time_ns: side.time_ns,
        pid: i32_at(bytes, 8)?,
        tid: i32_at(bytes, 12)?,
        address: u64_at(bytes, 16)?,
        length: u64_at(bytes, 24)?,
        page_offset: u64_at(bytes, 32)?,
        filename: strings.code(until_nul(bytes.get(if newer { 72.. } else { 40.. })?)),
        executable,
        build_id: build_id.map_or(NONE, |id| strings.code(id.as_bytes())),
        mode: misc & MISC_CPUMODE_MASK,
    })
}

/// Of a MMAP2 record that is marked to hold one. Kernels up to 6.18 at least mark those of a recorder that began before
/// another one asked for build ids, too, which hold device, inode and generation in its place.
fn build_id(bytes: &[u8]) -> Option<String> {
    let (size, reserved) = (usize::from(*bytes.get(40)?), bytes.get(41..44)?);
    let (id, padding) = bytes.get(44..64)?.split_at_checked(size)?;
    let is_one = reserved.iter().chain(padding).all(|&byte| byte == 0);
    digits(id).filter(|_| is_one)
}

fn symbol(side: &Side<'_>, strings: &mut Interner) -> Option<Symbol> {
    let bytes = side.bytes;
    Some(Symbol {
        time_ns: side.time_ns,
        address: u64_at(bytes, 8)?,
        length: u32_at(bytes, 16)?.into(),
        kind: u16_at(bytes, 20)?,
        unregistered: u16_at(bytes, 22)? & KSYMBOL_UNREGISTER != 0,
        name: strings.code(until_nul(bytes.get(24..)?)),
    })
}

/// A number that names one of `names`, or the first of them.
fn named(number: u16, names: &[&str]) -> u32 {
    u32::from(number).min(names.len().narrow::<u32>()) % names.len().narrow::<u32>()
}

fn refuse_overfull(strings: &Interner) -> Result<()> {
    match strings.is_full() {
        true => Err(bad!(Refused, "the names of mappings or symbols take more than 2 GiB")),
        false => Ok(()),
    }
}

/// Every MMAP and MMAP2 record, in file order.
pub fn mappings(recording: &Recording, progress: Progress<'_>) -> Result<RecordBatch> {
    let mut found = Collector { strings: Interner::default(), mappings: Some(Vec::new()), symbols: None, progress };
    recording.walk(&mut found)?;
    let rows = found.mappings.unwrap_or_default();
    refuse_overfull(&found.strings)?;
    let labels = Labels::new(found.strings.values());
    let modes = Labels::new(&CPU_MODES);
    batch(vec![
        ("time_ns".into(), optional::<Int64Type>(rows.iter().map(|row| row.time_ns))),
        ("pid".into(), plain::<Int32Type>(rows.iter().map(|row| row.pid))),
        ("tid".into(), plain::<Int32Type>(rows.iter().map(|row| row.tid))),
        ("address".into(), plain::<UInt64Type>(rows.iter().map(|row| row.address))),
        ("length".into(), plain::<UInt64Type>(rows.iter().map(|row| row.length))),
        ("page_offset".into(), plain::<UInt64Type>(rows.iter().map(|row| row.page_offset))),
        ("filename".into(), labels.column(rows.iter().map(|row| row.filename))),
        ("executable".into(), booleans(rows.iter().map(|row| row.executable))),
        ("build_id".into(), labels.column(rows.iter().map(|row| row.build_id))),
        ("cpu_mode".into(), modes.column(rows.iter().map(|row| named(row.mode, &CPU_MODES)))),
    ])
}

/// Every KSYMBOL record, in file order.
pub fn kernel_symbols(recording: &Recording, progress: Progress<'_>) -> Result<RecordBatch> {
    let mut found = Collector { strings: Interner::default(), mappings: None, symbols: Some(Vec::new()), progress };
    recording.walk(&mut found)?;
    let rows = found.symbols.unwrap_or_default();
    refuse_overfull(&found.strings)?;
    let labels = Labels::new(found.strings.values());
    let kinds = Labels::new(&KSYMBOL_KINDS);
    batch(vec![
        ("time_ns".into(), optional::<Int64Type>(rows.iter().map(|row| row.time_ns))),
        ("address".into(), plain::<UInt64Type>(rows.iter().map(|row| row.address))),
        ("length".into(), plain::<UInt64Type>(rows.iter().map(|row| row.length))),
        ("kind".into(), kinds.column(rows.iter().map(|row| named(row.kind, &KSYMBOL_KINDS)))),
        ("unregistered".into(), booleans(rows.iter().map(|row| row.unregistered))),
        ("name".into(), labels.column(rows.iter().map(|row| row.name))),
    ])
}

/// Of a KSYMBOL record kernel code that was there or came: address, length and name.
pub(super) fn came(side: &Side<'_>) -> Option<(u64, u64, String)> {
    let bytes = Some(side.bytes).filter(|_| side.kind == kind::KSYMBOL)?;
    let is_gone = u16_at(bytes, 22)? & KSYMBOL_UNREGISTER != 0;
    (!is_gone).then_some((u64_at(bytes, 8)?, u32_at(bytes, 16)?.into(), text(bytes.get(24..)?)))
}
