//! Samples with their stacks, each different one once, and functions by name: the kernel's, and programs'.

use std::sync::Arc;

use arrow_array::types::{Int32Type, UInt64Type};
use arrow_array::{ArrayRef, LargeListArray, RecordBatch};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field};
use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::chains::{Chain, Chains, User, Wanted};
use crate::error::Result;
use crate::intern::{Interner, Labels, NONE};
use crate::kallsyms::Kallsyms;
use crate::narrow::Narrow;
use crate::programs::files::Search;
use crate::programs::naming::{frames_of_programs, Frame};
use crate::progress::Progress;
use crate::recording::Recording;
use crate::tables::{batch, booleans, optional, plain};

/// The samples of one event.
#[derive(Debug)]
pub struct Stacks {
    /// As `Recording::samples` has them, with `stack` (a row of the next table) for `callchain` and `kernel_frames`.
    pub samples: RecordBatch,
    /// A row per different stack: `frames`, rows of the next table, the innermost first.
    pub stacks: RecordBatch,
    /// A row per different address: `address`, `in_kernel`, `symbol`, `module`, `offset`; where programs were asked
    /// for `dso`, `build_id`, `file_offset`, and `inlined`, of functions that have no address of their own.
    pub frames: RecordBatch,
}

/// What of stacks is wanted.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The kernel's symbols, where the recording has none.
    pub kallsyms: Option<String>,
    /// Of the kernel's stacks no caller in user mode: far fewer different ones. Of a sample in user mode one frame,
    /// with address 0 unless `programs`.
    pub kernel_only: bool,
    /// Whether files are wanted for addresses in user mode.
    pub programs: bool,
    /// Where to look for these files, if functions are wanted too. Files of this machine are read for that alone.
    pub search: Option<Search>,
}

impl Request {
    /// What a pass over the samples of the events of this name is asked for.
    pub(crate) fn wanted<'a>(&self, name: &'a str) -> Wanted<'a> {
        let user = match (self.kernel_only, self.programs) {
            (true, false) => User::Merged,
            (true, true) => User::Leaf,
            (false, _) => User::Whole,
        };
        Wanted { name, user, mapped: self.programs }
    }

    /// The names of the frames of what it gathered.
    pub(crate) fn named<S>(&self, recording: &Recording, found: &Chains<S>) -> Named {
        let text = self.kallsyms.as_ref().or(recording.host.kallsyms.as_ref());
        let mut symbols = Kallsyms::parse(text.map_or("", String::as_str));
        symbols.add(&found.came);
        named(found, &symbols, self.search.as_ref())
    }
}

/// Samples of the events of this name, with their stacks.
pub fn stacks(recording: &Recording, name: &str, request: &Request, progress: Progress<'_>) -> Result<Stacks> {
    let found = recording.chains(request.wanted(name), progress)?;
    let named = request.named(recording, &found);
    let frames = frame_table(&named.rows, &named.strings, found.spaces.is_some())?;
    let item = Arc::new(Field::new("item", DataType::Int32, false));
    let values = plain::<Int32Type>(named.places.into_iter());
    let list = LargeListArray::new(item, OffsetBuffer::new(ScalarBuffer::from(named.begins)), values, None);
    let stacks = batch(vec![("frames".into(), Arc::new(list) as ArrayRef)])?;
    Ok(Stacks { samples: found.samples, stacks, frames })
}

/// Different stacks, and what their frames are called.
pub(crate) struct Named {
    /// Different frames.
    pub(crate) rows: IndexSet<Row, FxBuildHasher>,
    /// The strings in them.
    pub(crate) strings: Interner,
    /// Of each stack its frames, the innermost first.
    pub(crate) places: Vec<i32>,
    /// Where each begins in `places`, and behind the last where that ends.
    pub(crate) begins: Vec<i64>,
}

/// The different frames of chains, and of each chain which they are.
fn different(chains: &IndexSet<Chain, FxBuildHasher>, mapped: bool) -> (IndexSet<Frame, FxBuildHasher>, Vec<u32>) {
    let mut frames: IndexSet<Frame, FxBuildHasher> = IndexSet::default();
    let mut of_chains = Vec::new();
    for chain in chains {
        let kernel = chain.of.kernel as usize;
        for (place, address) in chain.frames().enumerate() {
            let in_kernel = place < kernel;
            let process = (mapped && !in_kernel).then_some(chain.of.process);
            // What a program was at when the kernel took over is no call.
            let returns = !in_kernel && place > kernel;
            let frame = Frame { address, in_kernel, process, returns: process.is_some() && returns };
            of_chains.push(frames.insert_full(frame).0.narrow());
        }
    }
    (frames, of_chains)
}

fn named<S>(found: &Chains<S>, symbols: &Kallsyms<'_>, search: Option<&Search>) -> Named {
    let (frames, of_chains) = different(&found.chains, found.spaces.is_some());
    let mut strings = Interner::default();
    let known = frames_of_programs(&frames, found.spaces.as_ref(), search, &mut strings);
    let mut code = |text: &str| if text.is_empty() { NONE } else { strings.code(text.as_bytes()) };
    // A row per function: those that are inlined before the one that they are in. The same of another process once.
    let mut rows: IndexSet<Row, FxBuildHasher> = IndexSet::default();
    let mut begins: Vec<u32> = Vec::with_capacity(frames.len() + 1);
    let mut expanded: Vec<i32> = Vec::new();
    for (frame, known) in frames.iter().zip(&known) {
        begins.push(expanded.len().narrow());
        let kernel = symbols.find(frame.address).filter(|_| frame.in_kernel);
        let kernel = kernel.map(|(name, module, offset)| (code(name), code(module), offset));
        let own = Row {
            address: frame.address,
            in_kernel: frame.in_kernel,
            symbol: kernel.map_or(known.symbol, |found| found.0),
            module: kernel.map_or(NONE, |found| found.1),
            offset: kernel.map(|found| found.2).or(known.offset),
            dso: known.dso,
            build_id: known.build_id,
            file_offset: known.file_offset,
            inlined: false,
        };
        let inlined = known.inlined.iter().map(|&symbol| Row { symbol, offset: None, inlined: true, ..own });
        expanded.extend(inlined.chain([own]).map(|row| rows.insert_full(row).0.narrow::<i32>()));
    }
    begins.push(expanded.len().narrow::<u32>());
    let (mut places, mut ends): (Vec<i32>, Vec<i64>) = (Vec::with_capacity(of_chains.len()), vec![0]);
    let mut left = of_chains.as_slice();
    for chain in &found.chains {
        let (own, rest) = left.split_at(chain.frames().len());
        for &frame in own {
            places.extend(&expanded[begins[frame as usize] as usize..begins[frame as usize + 1] as usize]);
        }
        left = rest;
        ends.push(places.len() as i64);
    }
    Named { rows, strings, places, begins: ends }
}

/// A different frame; what are strings, as codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Row {
    pub(crate) address: u64,
    pub(crate) in_kernel: bool,
    pub(crate) symbol: u32,
    pub(crate) module: u32,
    pub(crate) offset: Option<u64>,
    pub(crate) dso: u32,
    pub(crate) build_id: u32,
    pub(crate) file_offset: Option<u64>,
    pub(crate) inlined: bool,
}

fn frame_table(rows: &IndexSet<Row, FxBuildHasher>, strings: &Interner, programs: bool) -> Result<RecordBatch> {
    let labels = |of: fn(&Row) -> u32| {
        // A column's values are its own: names of files are none of functions.
        let mut own: FxHashMap<u32, u32> = FxHashMap::default();
        let mut values: Vec<&str> = Vec::new();
        let mut place = |code: u32| {
            *own.entry(code).or_insert_with(|| {
                values.push(strings.get(code));
                values.len().narrow::<u32>() - 1
            })
        };
        let codes: Vec<u32> = rows.iter().map(of).map(|code| if code == NONE { NONE } else { place(code) }).collect();
        Labels::new(&values).column(codes.into_iter())
    };
    let mut columns: Vec<(String, ArrayRef)> = vec![
        ("address".into(), plain::<UInt64Type>(rows.iter().map(|row| row.address))),
        ("in_kernel".into(), booleans(rows.iter().map(|row| row.in_kernel))),
        ("symbol".into(), labels(|row| row.symbol)),
        ("module".into(), labels(|row| row.module)),
        ("offset".into(), optional::<UInt64Type>(rows.iter().map(|row| row.offset))),
    ];
    if programs {
        columns.extend([
            ("dso".into(), labels(|row| row.dso)),
            ("build_id".into(), labels(|row| row.build_id)),
            ("file_offset".into(), optional::<UInt64Type>(rows.iter().map(|row| row.file_offset))),
            ("inlined".into(), booleans(rows.iter().map(|row| row.inlined))),
        ]);
    }
    batch(columns)
}
