//! What a pass over samples with call chains gathers: each sample, and each distinct chain once.

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};

use indexmap::{Equivalent, IndexSet};
use rustc_hash::FxBuildHasher;

use crate::bytes::u64_at;
use crate::intern::Interner;
use crate::programs::spaces::Spaces;

/// How much of a sample's user-mode frames to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum User {
    /// Only that it was in user mode: one frame of address 0 for all, and none where the kernel was called.
    Merged,
    /// The innermost frame, if the sample is in user mode.
    Leaf,
    /// The callers too.
    Whole,
}

/// What a pass should gather.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// Samples of the events of this name.
    pub name: &'a str,
    pub user: User,
    /// Whether to find the files at its addresses.
    pub mapped: bool,
}

/// A chain as a key: what its frames are, and the frames as bytes, so that those of a record can be looked up in place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    pub of: Of,
    frames: Box<[u8]>,
}

/// What the frames of a chain are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Of {
    /// How many of the first frames are the kernel's.
    pub kernel: u32,
    /// The process, and its state by `Spaces::at`; 0 if mappings are not wanted.
    pub process: (i32, u32),
}

/// A chain that may already be known.
#[derive(Debug, Hash, Clone, Copy)]
pub struct Seen<'a> {
    pub of: Of,
    /// The innermost first, 8 bytes each.
    pub frames: &'a [u8],
}

impl Seen<'_> {
    /// Copies it into a key of its own.
    pub fn kept(&self) -> Chain {
        Chain { of: self.of, frames: self.frames.into() }
    }
}

impl Hash for Chain {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Seen { of: self.of, frames: &self.frames }.hash(state);
    }
}

impl Equivalent<Chain> for Seen<'_> {
    fn equivalent(&self, known: &Chain) -> bool {
        self.of == known.of && *self.frames == *known.frames
    }
}

impl Chain {
    /// The frames, the innermost first.
    pub fn frames(&self) -> impl ExactSizeIterator<Item = u64> + '_ {
        self.frames.chunks_exact(8).map(|bytes| u64_at(bytes, 0).unwrap_or(0))
    }
}

/// What a pass gathered.
#[derive(Debug)]
pub struct Chains<S> {
    /// Columns of `Recording::samples`, with `stack` (the number of its chain) for the chain; or sums by chain.
    pub samples: S,
    /// Each distinct chain.
    pub chains: IndexSet<Chain, FxBuildHasher>,
    /// Kernel code that existed or was added: address, length and name.
    pub came: Vec<(u64, u64, String)>,
    /// Where each file is mapped, with names and build ids, if that was asked for.
    pub spaces: Option<(Spaces, Interner)>,
}

/// Which samples to sum up.
#[derive(Debug, Clone, Copy, Default)]
pub struct Selection {
    /// Only those of this CPU.
    pub cpu: Option<i32>,
    /// From this time on.
    pub start_ns: Option<i64>,
    /// Before this time.
    pub end_ns: Option<i64>,
}

/// Sums over the samples of a chain.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sum {
    /// All samples, selected or not.
    pub all: u64,
    /// Selected samples.
    pub samples: u64,
    /// The weight they stand for.
    pub weight: i64,
    /// Sum of the squared weights.
    pub squares: u128,
}

/// Sums by chain.
#[derive(Debug, Default)]
pub struct Sums {
    /// Per chain.
    pub of_chain: Vec<Sum>,
    /// CPUs with samples, if samples name their CPU.
    pub cpus: BTreeSet<i32>,
    last: Option<i32>,
}

impl Sums {
    /// Adds a sample. One without a period counts as one.
    pub fn add(&mut self, of: &Selection, cpu: Option<i32>, time_ns: i64, period: Option<u64>, chain: usize) {
        if chain >= self.of_chain.len() {
            self.of_chain.resize(chain + 1, Sum::default());
        }
        if cpu != self.last {
            self.cpus.extend(cpu);
            self.last = cpu;
        }
        let sum = &mut self.of_chain[chain];
        sum.all += 1;
        let is_in = of.start_ns.is_none_or(|start| time_ns >= start) && of.end_ns.is_none_or(|end| time_ns < end);
        if is_in && (of.cpu.is_none() || of.cpu == cpu) {
            let period = period.unwrap_or(1);
            sum.samples += 1;
            sum.weight = sum.weight.wrapping_add(period as i64);
            sum.squares = sum.squares.wrapping_add(u128::from(period) * u128::from(period));
        }
    }
}
