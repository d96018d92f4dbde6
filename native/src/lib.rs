//! Decoder of captures and the CPU-time ledger behind `netcost_analysis`.
//!
//! Bytes become records (`perf`), records typed columns (`events`, `columns`) or owners of time
//! (`ledger`); `python` shows both to Python as Arrow tables. Data moves one way.

#[cfg(feature = "python")]
mod alloc;
pub mod bytes;
pub mod chunks;
pub mod columns;
mod counters;
pub mod counts;
pub mod error;
pub mod events;
pub mod format;
pub mod gaps;
pub mod host;
pub mod input;
pub mod intern;
pub mod ledger;
pub mod lives;
pub mod maps;
pub mod mask;
pub mod names;
pub mod payload;
pub mod perf;
pub mod progress;
#[cfg(feature = "python")]
mod python;
pub mod recording;
pub mod ring;
pub mod samples;
pub mod tables;
pub mod text;
pub mod tracedat;
pub mod tracefs;
pub mod tracing;
pub mod visit;
pub mod wrapped;

// A fuzz target brings one of its own, which counts.
#[cfg(feature = "python")]
#[global_allocator]
static ALLOCATOR: alloc::HugePages = alloc::HugePages;
