//! What a pass over samples with call chains gathers: each sample, and each different chain once.

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};

use indexmap::{Equivalent, IndexSet};
use rustc_hash::FxBuildHasher;

use crate::bytes::u64_at;
use crate::intern::Interner;
use crate::programs::spaces::Spaces;

/// What of a sample's frames in user mode is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum User {
    /// That it was in user mode: one frame of address 0 for all, and none where the kernel was called.
    Merged,
    /// Where it was, if in user mode.
    Leaf,
    /// Who called whom, too.
    Whole,
}

/// What is asked of a pass.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// Samples of the events of this name.
    pub name: &'a str,
    /// What of user mode.
    pub user: User,
    /// Whether the files at its addresses are wanted.
    pub mapped: bool,
}

/// A chain as a key: what tells it from others, and its frames as bytes, so that those of a record can be looked up
/// where they lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    /// What its frames are.
    pub of: Of,
    frames: Box<[u8]>,
}

/// Of a chain, what its frames are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Of {
    /// How many are the kernel's: the first ones.
    pub kernel: u32,
    /// The process, and its state by `Spaces::at`; 0 where mappings were not asked for.
    pub process: (i32, u32),
}

/// A chain that may be known already.
#[derive(Debug, Hash, Clone, Copy)]
pub struct Seen<'a> {
    /// What its frames are.
    pub of: Of,
    /// The innermost first, of 8 bytes each.
    pub frames: &'a [u8],
}

impl Seen<'_> {
    /// As a key of its own.
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
    /// Its frames, the innermost first.
    pub fn frames(&self) -> impl ExactSizeIterator<Item = u64> + '_ {
        self.frames.chunks_exact(8).map(|bytes| u64_at(bytes, 0).unwrap_or(0))
    }
}

/// What a pass gathered.
#[derive(Debug)]
pub struct Chains<S> {
    /// Columns of `Recording::samples` but for the chain's, and `stack`, the number of its chain; or sums by chain.
    pub samples: S,
    /// Each different chain.
    pub chains: IndexSet<Chain, FxBuildHasher>,
    /// Kernel code that was there or came: address, length and name.
    pub came: Vec<(u64, u64, String)>,
    /// Which file is where, with names and build ids, where that was asked for.
    pub spaces: Option<(Spaces, Interner)>,
}

/// Which samples are summed up.
#[derive(Debug, Clone, Copy, Default)]
pub struct Selection {
    /// Those of a CPU.
    pub cpu: Option<i32>,
    /// From this time on.
    pub start_ns: Option<i64>,
    /// Before this time.
    pub end_ns: Option<i64>,
}

/// Samples of a chain.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sum {
    /// All there are, selected or not.
    pub all: u64,
    /// Those that are selected,
    pub samples: u64,
    /// what they stand for,
    pub weight: i64,
    /// and its squares.
    pub squares: u128,
}

/// Samples by chain.
#[derive(Debug, Default)]
pub struct Sums {
    /// Of each chain.
    pub of_chain: Vec<Sum>,
    /// CPUs that have samples, where these say so.
    pub cpus: BTreeSet<i32>,
    last: Option<i32>,
}

impl Sums {
    /// Adds a sample; one without a period stands for itself.
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
