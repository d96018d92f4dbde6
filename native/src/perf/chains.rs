//! Samples with each different call chain once: the pass that sums go by, which keeps no frame twice.

use std::ops::ControlFlow;

use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;

use crate::bytes::{i32_at, slice, u64_at};
use crate::chains::{Chain, Chains, Of, Seen, User, Wanted};
use crate::error::Result;
use crate::narrow::Narrow;
use crate::perf::maps::{came, MODE_KERNEL};
use crate::perf::record::{misc, MISC_CPUMODE_MASK};
use crate::perf::recording::PerfData;
use crate::perf::samples::{
    chosen, CONTEXTS_OF_KERNEL, CONTEXTS_OF_USER, CONTEXT_KERNEL, CONTEXT_USER, CONTEXT_USER_DEFERRED, FIRST_CONTEXT,
};
use crate::perf::spaces::spaces;
use crate::programs::spaces::Spaces;
use crate::progress::{flow, Progress};
use crate::recording::{Rate, Source};
use crate::visit::{Sample, Side, Visitor};

/// What a sample says beside its chain.
pub(super) struct One {
    pub(super) time_ns: i64,
    pub(super) cpu: i32,
    pub(super) pid: i32,
    pub(super) tid: i32,
    pub(super) mode: u8,
    pub(super) ip: u64,
    pub(super) period: Option<u64>,
}

/// What is kept of samples, beside their chains.
pub(super) trait Keep {
    /// A sample, and the number of its chain.
    fn keep(&mut self, one: &One, stack: usize);
    /// A sample of any event.
    fn seen(&mut self, _block: &[u8], _sample: &Sample) {}
    /// A record that is none.
    fn side(&mut self, _side: &Side<'_>) {}
}

struct Chainer<'r, 'p, K> {
    perf: &'r PerfData,
    wanted: &'r [bool],
    user: User,
    spaces: Option<&'r Spaces>,
    chains: IndexSet<Chain, FxBuildHasher>,
    /// The present sample's frames, where they do not lie in its record as they are kept.
    key: Vec<u8>,
    /// The number of that of all of user mode, where it is one.
    merged: Option<usize>,
    kept: K,
    came: Vec<(u64, u64, String)>,
    progress: Progress<'p>,
}

impl<K: Keep> Visitor for Chainer<'_, '_, K> {
    fn samples(&mut self, block: &[u8], samples: &[Sample]) -> ControlFlow<()> {
        for sample in samples {
            self.kept.seen(block, sample);
            if self.wanted[sample.event as usize] {
                self.add(sample, sample.bytes(block));
            }
        }
        ControlFlow::Continue(())
    }

    fn side(&mut self, side: &Side<'_>) {
        self.kept.side(side);
        self.came.extend(came(side));
    }

    fn progress(&mut self, fraction: f64) -> ControlFlow<()> {
        flow((self.progress)(fraction))
    }
}

impl<K: Keep> Chainer<'_, '_, K> {
    fn add(&mut self, sample: &Sample, record: &[u8]) {
        let number = sample.event as usize;
        let (layout, event) = (&self.perf.layouts[number], &self.perf.events[number]);
        let Some(chain) = layout.callchain(record) else { return };
        let word = |at: Option<usize>| at.and_then(|at| u64_at(record, at));
        let half = |at: Option<usize>| at.and_then(|at| i32_at(record, at)).unwrap_or(0);
        let (mode, ip, pid) = (misc(record) & MISC_CPUMODE_MASK, word(layout.ip).unwrap_or(0), half(layout.tid));
        let (at, count) = chain.unwrap_or_default();
        let words = slice(record, at, count.saturating_mul(8)).unwrap_or_default();
        let time_ns = if event.has_time { sample.time_ns } else { i64::MAX };
        let stack = self.stack(words, ip, mode == MODE_KERNEL, (pid, time_ns));
        let fixed = if let Rate::Period(period) = event.rate { Some(period) } else { None };
        let one = One {
            time_ns: sample.time_ns,
            cpu: sample.cpu as i32,
            pid,
            tid: half(layout.tid.map(|at| at + 4)),
            mode: mode.narrow(),
            ip,
            period: word(layout.period).or(fixed),
        };
        self.kept.keep(&one, stack);
    }

    /// The number of a sample's chain.
    fn stack(&mut self, words: &[u8], ip: u64, in_kernel: bool, (pid, time_ns): (i32, i64)) -> usize {
        let is_merged = self.user == User::Merged && !in_kernel;
        if let (true, Some(known)) = (is_merged, self.merged) {
            return known;
        }
        let lying = if self.user != User::Whole && in_kernel { lying(words, ip) } else { None };
        let kernel = lying.map_or_else(|| self.chain(words, ip, in_kernel), |frames| frames.len() / 8);
        let frames = lying.unwrap_or(&self.key);
        let mut of = Of { kernel: kernel.narrow(), process: (0, 0) };
        // Where addresses of this chain's user mode are to be looked for.
        if let Some(spaces) = self.spaces.filter(|_| frames.len() / 8 > kernel) {
            of.process = (pid, spaces.at(pid, time_ns));
        }
        let seen = Seen { of, frames };
        let found = self.chains.get_index_of(&seen).unwrap_or_else(|| self.chains.insert_full(seen.kept()).0);
        if is_merged {
            self.merged = Some(found);
        }
        found
    }

    /// Makes the key of a chain's words, without the markers that say whose the next ones are; how many of its frames
    /// are the kernel's.
    fn chain(&mut self, words: &[u8], ip: u64, in_kernel: bool) -> usize {
        let key = &mut self.key;
        key.clear();
        if self.user != User::Whole && !in_kernel {
            key.extend(if self.user == User::Leaf { ip } else { 0 }.to_le_bytes());
            return 0;
        }
        let (mut kernel, mut in_user) = (0, false);
        for word in words.chunks_exact(8) {
            match u64_at(word, 0).unwrap_or(0) {
                // What follows is no address but what names the rest of the chain.
                CONTEXT_USER_DEFERRED => break,
                marker if CONTEXTS_OF_USER.contains(&marker) => in_user = true,
                marker if CONTEXTS_OF_KERNEL.contains(&marker) => in_user = false,
                _ => {
                    key.extend(word);
                    if !in_user {
                        kernel = key.len() / 8;
                    }
                }
            }
        }
        // Of a sample elsewhere, as in a guest, no frame is this kernel's.
        if !in_kernel {
            kernel = 0;
        }
        // The sample's own address goes first: what the processor says is more exact than where the interrupt came.
        let own = ip.to_le_bytes();
        match !key.is_empty() && (kernel > 0) == in_kernel {
            true => key[..8].copy_from_slice(&own),
            false => {
                key.splice(..0, own);
                kernel += usize::from(in_kernel);
            }
        }
        if self.user != User::Whole {
            key.truncate(8 * kernel);
        }
        kernel
    }
}

/// The kernel's frames of most chains, as they lie in the record: behind their marker, from the sample's own address
/// on, and before those of user mode.
#[inline(always)]
fn lying(words: &[u8], ip: u64) -> Option<&[u8]> {
    let mut all = words.chunks_exact(8).map(|word| u64_at(word, 0).unwrap_or(0));
    if all.next() != Some(CONTEXT_KERNEL) || all.next() != Some(ip) || ip >= FIRST_CONTEXT {
        return None;
    }
    let end = 2 + all.by_ref().take_while(|&word| word < FIRST_CONTEXT).count();
    let is_end = 8 * end == words.len() || u64_at(words, 8 * end) == Some(CONTEXT_USER);
    // Nothing of the kernel's may be behind those of user mode.
    (is_end && all.all(|word| word < FIRST_CONTEXT)).then(|| &words[8..8 * end])
}

/// The samples of the events of this name, and their chains; what is kept of each is up to `keep`, which is told which
/// events these are.
pub(super) fn chains<K: Keep>(
    perf: &PerfData,
    asked: Wanted<'_>,
    keep: impl FnOnce(&[usize]) -> K,
    progress: Progress<'_>,
) -> Result<Chains<K>> {
    let wanted = chosen(perf, asked.name)?;
    let events: Vec<usize> = (0..wanted.len()).filter(|&number| wanted[number]).collect();
    let spaces = if asked.mapped { Some(spaces(perf, progress)?) } else { None };
    let mut chainer = Chainer {
        perf,
        wanted: &wanted,
        user: asked.user,
        spaces: spaces.as_ref().map(|(spaces, _)| spaces),
        chains: IndexSet::default(),
        key: Vec::new(),
        merged: None,
        kept: keep(&events),
        came: Vec::new(),
        progress,
    };
    perf.walk(&mut chainer)?;
    let Chainer { chains, kept, came, .. } = chainer;
    Ok(Chains { samples: kept, chains, came, spaces })
}
