//! What a pass over samples with call chains gathers: each sample, and each different chain once.

use arrow_array::RecordBatch;
use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;

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

/// A chain as a key: how many of its frames are the kernel's, the process and its state by `Spaces::at` (0 where
/// mappings were not asked for), then the frames, the innermost first.
pub type Chain = Box<[u64]>;

/// Words of a chain before its frames.
pub const HEAD: usize = 3;

/// What a pass gathered.
#[derive(Debug)]
pub struct Chains {
    /// Columns of `Recording::samples` but for the chain's, and `stack`, the number of its chain.
    pub samples: RecordBatch,
    /// Each different chain.
    pub chains: IndexSet<Chain, FxBuildHasher>,
    /// Kernel code that was there or came: address, length and name.
    pub came: Vec<(u64, u64, String)>,
    /// Which file is where, with names and build ids, where that was asked for.
    pub spaces: Option<(Spaces, Interner)>,
}
