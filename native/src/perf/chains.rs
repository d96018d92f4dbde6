//! Samples with each different call chain once: the pass that sums go by, which keeps no frame twice.

use std::ops::ControlFlow;
use std::sync::Arc;

use arrow_array::types::{Int32Type, Int64Type, UInt64Type};
use arrow_array::{ArrayRef, PrimitiveArray};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;

use crate::bytes::{i32_at, slice, u64_at, Order};
use crate::chains::{Chain, Chains, User, Wanted, HEAD};
use crate::error::Result;
use crate::intern::{Labels, NONE};
use crate::names::TaskNames;
use crate::perf::layout::sample;
use crate::perf::maps::{came, MODE_KERNEL};
use crate::perf::record::{misc, CPU_MODES, MISC_CPUMODE_MASK};
use crate::perf::recording::PerfData;
use crate::perf::samples::{chosen, CONTEXTS_OF_KERNEL, CONTEXTS_OF_USER, CONTEXT_USER_DEFERRED, FIRST_CONTEXT};
use crate::perf::spaces::spaces;
use crate::programs::spaces::Spaces;
use crate::progress::{flow, Progress};
use crate::recording::{Rate, Source};
use crate::tables::{batch, optional, plain};
use crate::visit::{Sample, Side, Visitor};

struct Chainer<'r, 'p> {
    perf: &'r PerfData,
    wanted: &'r [bool],
    user: User,
    spaces: Option<&'r Spaces>,
    chains: IndexSet<Chain, FxBuildHasher>,
    /// The present sample's chain, and the last one with its number.
    key: Vec<u64>,
    times: Vec<i64>,
    cpus: Vec<i32>,
    pids: Vec<i32>,
    tids: Vec<i32>,
    modes: Vec<u8>,
    ips: Vec<u64>,
    periods: Vec<Option<u64>>,
    stacks: Vec<i32>,
    names: TaskNames,
    came: Vec<(u64, u64, String)>,
    progress: Progress<'p>,
}

impl Visitor for Chainer<'_, '_> {
    fn samples(&mut self, block: &[u8], samples: &[Sample]) -> ControlFlow<()> {
        for sample in samples {
            self.names.sample(block, sample);
            if self.wanted[sample.event as usize] {
                self.add(sample, sample.bytes(block));
            }
        }
        ControlFlow::Continue(())
    }

    fn side(&mut self, side: &Side<'_>) {
        self.names.side(side);
        self.came.extend(came(side));
    }

    fn progress(&mut self, fraction: f64) -> ControlFlow<()> {
        flow((self.progress)(fraction))
    }
}

impl Chainer<'_, '_> {
    fn add(&mut self, sample: &Sample, record: &[u8]) {
        let number = sample.event as usize;
        let (layout, event) = (&self.perf.layouts[number], &self.perf.events[number]);
        let (parts, true) = layout.parts(record, Order::Little) else { return };
        let word = |at: Option<usize>| at.and_then(|at| u64_at(record, at));
        let half = |at: Option<usize>| at.and_then(|at| i32_at(record, at)).unwrap_or(0);
        let (mode, ip, pid) = (misc(record) & MISC_CPUMODE_MASK, word(layout.ip).unwrap_or(0), half(layout.tid));
        self.times.push(sample.time_ns);
        self.cpus.push(sample.cpu as i32);
        self.pids.push(pid);
        self.tids.push(half(layout.tid.map(|at| at + 4)));
        self.modes.push(mode as u8);
        self.ips.push(ip);
        let fixed = if let Rate::Period(period) = event.rate { Some(period) } else { None };
        self.periods.push(word(layout.period).or(fixed));
        let (at, count) = parts.callchain.unwrap_or_default();
        let words = slice(record, at, count.saturating_mul(8)).unwrap_or_default();
        let in_kernel = mode == MODE_KERNEL;
        self.chain(words, ip, in_kernel);
        if let Some(spaces) = self.spaces {
            let time_ns = if event.has_time { sample.time_ns } else { i64::MAX };
            self.of_process(spaces, pid, time_ns);
        }
        let known = self.chains.get_index_of(self.key.as_slice());
        let place = known.unwrap_or_else(|| self.chains.insert_full(self.key.as_slice().into()).0);
        self.stacks.push(place as i32);
    }

    /// Where addresses of this chain's user mode are to be looked for.
    fn of_process(&mut self, spaces: &Spaces, pid: i32, time_ns: i64) {
        let has_user = self.key.len() - HEAD > self.key[0] as usize;
        if has_user {
            self.key[1] = u64::from(pid as u32);
            self.key[2] = u64::from(spaces.at(pid, time_ns));
        }
    }

    /// Makes the key of a chain's words, without the markers that say whose the next ones are.
    fn chain(&mut self, words: &[u8], ip: u64, in_kernel: bool) {
        let key = &mut self.key;
        key.clear();
        key.resize(HEAD, 0);
        if self.user != User::Whole && !in_kernel {
            key.push(if self.user == User::Leaf { ip } else { 0 });
            return;
        }
        let (mut kernel, mut in_user) = (0, false);
        for word in words.chunks_exact(8) {
            let word = u64_at(word, 0).unwrap_or(0);
            if word >= FIRST_CONTEXT {
                match word {
                    // What follows is no address but what names the rest of the chain.
                    CONTEXT_USER_DEFERRED => break,
                    _ if CONTEXTS_OF_USER.contains(&word) => {
                        in_user = true;
                        continue;
                    }
                    _ if CONTEXTS_OF_KERNEL.contains(&word) => {
                        in_user = false;
                        continue;
                    }
                    _ => {}
                }
            }
            key.push(word);
            if !in_user {
                kernel = key.len() - HEAD;
            }
        }
        // Of a sample elsewhere, as in a guest, no frame is this kernel's.
        if !in_kernel {
            kernel = 0;
        }
        // The sample's own address goes first: what the processor says is more exact than where the interrupt came.
        match key.len() > HEAD && (kernel > 0) == in_kernel {
            true => key[HEAD] = ip,
            false => {
                key.insert(HEAD, ip);
                kernel += usize::from(in_kernel);
            }
        }
        key[0] = kernel as u64;
        if self.user != User::Whole {
            key.truncate(HEAD + kernel);
        }
    }
}

/// The samples of the events of this name, in file order, and their chains.
pub fn chains(perf: &PerfData, asked: Wanted<'_>, progress: Progress<'_>) -> Result<Chains> {
    let wanted = chosen(perf, asked.name)?;
    let of = || (0..wanted.len()).filter(|&number| wanted[number]);
    let has = |bits: u64| of().all(|number| perf.attrs[number].has(bits));
    // Task names are the host's.
    let named = has(sample::TID) && !of().any(|number| perf.events[number].guest.is_some());
    let spaces = if asked.mapped { Some(spaces(perf, progress)?) } else { None };
    let mut chainer = Chainer {
        perf,
        wanted: &wanted,
        user: asked.user,
        spaces: spaces.as_ref().map(|(spaces, _)| spaces),
        chains: IndexSet::default(),
        key: Vec::new(),
        times: Vec::new(),
        cpus: Vec::new(),
        pids: Vec::new(),
        tids: Vec::new(),
        modes: Vec::new(),
        ips: Vec::new(),
        periods: Vec::new(),
        stacks: Vec::new(),
        names: TaskNames::of(&perf.events),
        came: Vec::new(),
        progress,
    };
    perf.walk(&mut chainer)?;
    let Chainer { chains, times, cpus, pids, tids, modes, ips, periods, stacks, names, came, .. } = chainer;
    let names = names.sealed();
    let comms = Labels::new(names.strings.values());
    let at = |(&tid, &time): (&i32, &i64)| names.at(tid, time).filter(|_| named).unwrap_or(NONE);
    let comms = comms.column(tids.iter().zip(&times).map(at));
    let rows = times.len();
    let nulls = |known: bool| (!known).then(|| NullBuffer::new_null(rows));
    macro_rules! column {
        ($arrow:ty, $values:expr, $bit:expr) => {
            Arc::new(PrimitiveArray::<$arrow>::new(ScalarBuffer::from($values), nulls(has($bit)))) as ArrayRef
        };
    }
    let mode = |mode: u8| u32::from(if usize::from(mode) < CPU_MODES.len() { mode } else { 0 });
    let samples = batch(vec![
        ("time_ns".into(), column!(Int64Type, times, sample::TIME)),
        ("cpu".into(), column!(Int32Type, cpus, sample::CPU)),
        ("pid".into(), column!(Int32Type, pids, sample::TID)),
        ("tid".into(), column!(Int32Type, tids, sample::TID)),
        ("comm".into(), comms),
        ("cpu_mode".into(), Labels::new(&CPU_MODES).column(modes.into_iter().map(mode))),
        ("ip".into(), column!(UInt64Type, ips, sample::IP)),
        ("period".into(), optional::<UInt64Type>(periods.into_iter())),
        ("stack".into(), plain::<Int32Type>(stacks.into_iter())),
    ])?;
    Ok(Chains { samples, chains, came, spaces })
}
