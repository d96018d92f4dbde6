//! Samples with their stacks, each distinct one once, and functions by name: the kernel's and the programs'.

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
    /// As in `Recording::samples`, with `stack` (a row of the next table) instead of `callchain` and `kernel_frames`.
    pub samples: RecordBatch,
    /// A row per distinct stack: `frames` (rows of the next table), the innermost first.
    pub stacks: RecordBatch,
    /// A row per distinct address: `address`, `in_kernel`, `symbol`, `module`, `offset`. If programs were asked for,
    /// also `dso`, `build_id`, `file_offset`, and `inlined` for functions without an address of their own.
    pub frames: RecordBatch,
}

/// What to return of stacks.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The kernel's symbols, if the recording has none.
    pub kallsyms: Option<String>,
    /// Omits user-mode callers from kernel stacks, which leaves far fewer distinct ones. A sample in user mode has one
    /// frame, with address 0 unless `programs`.
    pub kernel_only: bool,
    /// Whether to find the files of user-mode addresses.
    pub programs: bool,
    /// Where to find these files, if functions are wanted too. Files of this machine are read only for that.
    pub search: Option<Search>,
}

impl Request {
    /// What a pass over the samples of this name must gather.
    pub(crate) fn wanted<'a>(&self, name: &'a str) -> Wanted<'a> {
        let user = match (self.kernel_only, self.programs) {
            (true, false) => User::Merged,
            (true, true) => User::Leaf,
            (false, _) => User::Whole,
        };
        Wanted { name, user, mapped: self.programs }
    }

    /// The names of the frames that it gathered.
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

/// Distinct stacks, and the names of their frames.
pub(crate) struct Named {
    /// Distinct frames.
    pub(crate) rows: IndexSet<Row, FxBuildHasher>,
    /// The strings in them.
    pub(crate) strings: Interner,
    /// The frames of each stack, the innermost first.
    pub(crate) places: Vec<i32>,
    /// Start of each stack in `places`, and the end of the last one.
    pub(crate) begins: Vec<i64>,
}

/// The distinct frames of chains, and the frames of each chain.
fn different(chains: &IndexSet<Chain, FxBuildHasher>, mapped: bool) -> (IndexSet<Frame, FxBuildHasher>, Vec<u32>) {
    let mut frames: IndexSet<Frame, FxBuildHasher> = IndexSet::default();
    let mut of_chains = Vec::new();
    for chain in chains {
        let kernel = chain.of.kernel as usize;
        for (place, address) in chain.frames().enumerate() {
            let in_kernel = place < kernel;
            let process = (mapped && !in_kernel).then_some(chain.of.process);
            // The address at which a program entered the kernel is not a return address.
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
    // One row per function, the inlined ones before the one that contains them. Processes share equal rows.
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

/// A distinct frame. Strings are codes.
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
        // Each column has its own values: file names are not function names.
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
