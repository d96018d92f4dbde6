//! Samples with their stacks, each different one once, and the kernel's functions by name.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, UInt64Type};
use arrow_array::{ArrayRef, LargeListArray, RecordBatch};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field};
use indexmap::{IndexMap, IndexSet};
use rustc_hash::FxBuildHasher;
use std::sync::Arc;

use crate::error::{bad, Result};
use crate::intern::{Interner, Labels, NONE};
use crate::kallsyms::Kallsyms;
use crate::perf::maps;
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
    /// A row per different address: `address`, `in_kernel`, and of the kernel's `symbol`, `module`, `offset`.
    pub frames: RecordBatch,
}

/// Samples of the events of this name. `kallsyms`: the kernel's symbols, where the recording has none. `kernel_only`:
/// of user mode one frame stands for all, with address 0, and none where the kernel was called: far fewer stacks.
pub fn stacks(
    recording: &Recording,
    name: &str,
    kallsyms: Option<String>,
    kernel_only: bool,
    progress: Progress<'_>,
) -> Result<Stacks> {
    let samples = recording.samples(name, None, progress)?;
    let mut symbols = Kallsyms::parse(kallsyms.or_else(|| recording.host.kallsyms.clone()).unwrap_or_default());
    symbols.add(&maps::live_symbols(recording, progress)?);
    let column = |name: &str| {
        samples.column_by_name(name).ok_or_else(|| bad!(Missing, "samples without {name}: they have no stacks"))
    };
    let in_kernel = kernel_rows(column("cpu_mode")?);
    let ips = column("ip")?.as_primitive::<UInt64Type>();
    let chains: Option<&LargeListArray> = column("callchain")?.as_list_opt();
    let counts = column("kernel_frames")?.as_primitive::<Int32Type>();
    let chains = chains.ok_or_else(|| bad!(Missing, "samples without addresses: they have no stacks"))?;
    let words = chains.values().as_primitive::<UInt64Type>().values();
    let mut distinct: IndexSet<Box<[u64]>, FxBuildHasher> = IndexSet::default();
    let mut of_sample: Vec<i32> = Vec::with_capacity(samples.num_rows());
    let mut key: Vec<u64> = Vec::new();
    for (row, &in_kernel) in in_kernel.iter().enumerate() {
        let range = chains.value_offsets()[row] as usize..chains.value_offsets()[row + 1] as usize;
        // First how many of the frames are the kernel's, then the frames.
        key.clear();
        key.push(counts.value(row).max(0) as u64);
        key.extend_from_slice(&words[range]);
        lead(&mut key, ips.value(row), in_kernel);
        if kernel_only {
            key.truncate(key[0] as usize + 1);
            if !in_kernel {
                key.clear();
                key.extend([0, 0]);
            }
        }
        let place = distinct.get_index_of(key.as_slice());
        of_sample.push(place.unwrap_or_else(|| distinct.insert_full(key.as_slice().into()).0) as i32);
    }
    let (stacks, frames) = tables(&distinct, &symbols)?;
    Ok(Stacks { samples: with_stacks(&samples, of_sample)?, stacks, frames })
}

/// Puts the sample's own address first: what the processor says is more exact than where the interrupt came. Of a
/// sample elsewhere, as in a guest, no frame is this kernel's.
fn lead(key: &mut Vec<u64>, ip: u64, in_kernel: bool) {
    if !in_kernel {
        key[0] = 0;
    }
    match key.len() > 1 && (key[0] > 0) == in_kernel {
        true => key[1] = ip,
        false => {
            key.insert(1, ip);
            key[0] += u64::from(in_kernel);
        }
    }
}

fn kernel_rows(modes: &ArrayRef) -> Vec<bool> {
    let modes = modes.as_any_dictionary();
    let names = modes.values().as_string::<i32>();
    let is_kernel: Vec<bool> = names.iter().map(|name| name == Some("kernel")).collect();
    modes.normalized_keys().into_iter().map(|key| is_kernel.get(key).copied().unwrap_or(false)).collect()
}

fn with_stacks(samples: &RecordBatch, of_sample: Vec<i32>) -> Result<RecordBatch> {
    let mut columns: Vec<(String, ArrayRef)> = Vec::new();
    for (field, column) in samples.schema().fields().iter().zip(samples.columns()) {
        if !["callchain", "kernel_frames"].contains(&field.name().as_str()) {
            columns.push((field.name().clone(), Arc::clone(column)));
        }
    }
    columns.push(("stack".into(), plain::<Int32Type>(of_sample.into_iter())));
    batch(columns)
}

fn tables(distinct: &IndexSet<Box<[u64]>, FxBuildHasher>, symbols: &Kallsyms) -> Result<(RecordBatch, RecordBatch)> {
    let mut places: IndexMap<(u64, bool), (), FxBuildHasher> = IndexMap::default();
    let (mut frames, mut ends): (Vec<i32>, Vec<i64>) = (Vec::new(), vec![0]);
    for stack in distinct {
        let kernel = stack[0] as usize;
        let place = |(at, &address): (usize, &u64)| places.insert_full((address, at < kernel), ()).0 as i32;
        frames.extend(stack[1..].iter().enumerate().map(place));
        ends.push(frames.len() as i64);
    }
    let item = Arc::new(Field::new("item", DataType::Int32, false));
    let values = plain::<Int32Type>(frames.into_iter());
    let list = LargeListArray::new(item, OffsetBuffer::new(ScalarBuffer::from(ends)), values, None);
    let mut strings = Interner::default();
    let mut code = |text: &str| if text.is_empty() { NONE } else { strings.code(text.as_bytes()) };
    let found: Vec<Option<(u32, u32, u64)>> = places
        .keys()
        .map(|&(address, in_kernel)| symbols.find(address).filter(|_| in_kernel))
        .map(|found| found.map(|(name, module, offset)| (code(name), code(module), offset)))
        .collect();
    let labels = Labels::new(strings.values());
    let frames = batch(vec![
        ("address".into(), plain::<UInt64Type>(places.keys().map(|place| place.0))),
        ("in_kernel".into(), booleans(places.keys().map(|place| place.1))),
        ("symbol".into(), labels.column(found.iter().map(|found| found.map_or(NONE, |found| found.0)))),
        ("module".into(), labels.column(found.iter().map(|found| found.map_or(NONE, |found| found.1)))),
        ("offset".into(), optional::<UInt64Type>(found.iter().map(|found| found.map(|found| found.2)))),
    ])?;
    Ok((batch(vec![("frames".into(), Arc::new(list) as ArrayRef)])?, frames))
}
