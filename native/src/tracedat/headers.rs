//! What a trace.dat says before its first event, whatever its version.

use super::options::Options;
use crate::bytes::Order;
use crate::kinds::Span;
use crate::tracing::Tracing;

/// One CPU's data in a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CpuData {
    pub cpu: u32,
    pub start: u64,
    pub end: u64,
}

/// One of the buffers that a file holds.
#[derive(Debug, Default)]
pub(crate) struct Instance {
    /// Empty for the top one.
    pub name: String,
    pub clock: Option<String>,
    pub page_size: usize,
    pub cpus: Vec<CpuData>,
    pub compressed: bool,
    /// Text instead of pages: where it lies, in chunks if `compressed`.
    pub text: Option<(u64, u64)>,
}

/// What an option of version 7 brings.
#[derive(Debug)]
pub(crate) enum Part {
    /// Its own data.
    Option(u16, Vec<u8>),
    /// A section: its number, where it is, and what stands in it.
    Section(u16, u64, Vec<Span>),
    /// The instance of this place.
    Buffer(usize),
}

/// What a file's headers say.
#[derive(Debug, Default)]
pub(crate) struct Headers {
    pub version: u32,
    pub order: Order,
    pub(super) length: u64,
    pub tracing: Tracing,
    pub(super) options: Options,
    /// Version 6: how many CPUs the recorder found.
    pub(super) cpu_count: Option<u32>,
    pub instances: Vec<Instance>,
    /// Version 7: what its options bring, in their order.
    pub parts: Vec<Part>,
    /// Where the headers go on behind magic and page size; in version 7 the place of the first options is said there.
    pub first_at: u64,
    /// Version 7: whether options are packed.
    pub packed: bool,
    pub compression: String,
    pub notes: Vec<String>,
    pub(super) cut: bool,
}
