//! Decoder of captures and the CPU-time ledger behind `netcost_analysis`.
//!
//! Bytes become records (`perf`, `tracedat`, `tracefs`, `text`). Records become typed columns (`events`, `columns`) or
//! owners of time (`ledger`). Data moves one way. The ledger accounts for all of each CPU's time:
//!
//! ```
//! use arrow_array::cast::AsArray;
//! use arrow_array::types::Int64Type;
//! use netcost::ledger::{self, Request};
//! use netcost::open;
//!
//! let path = "../sample-data/nic-stolen-time/trace.perf.data";
//! let recording = open(path, None, &mut || true)?;
//! let output = ledger::run(&recording, &Request::default(), &mut |_fraction| true)?;
//! let accounted: i64 = output.sums["ns"].as_primitive::<Int64Type>().values().iter().sum();
//! let (start_ns, end_ns) = output.window;
//! assert_eq!(accounted, (end_ns - start_ns) * output.cpus.len() as i64);
//! # Ok::<(), netcost::Error>(())
//! ```
// A number that comes from input must not wrap: use narrow(), try_from, or a mask that says what is kept.
#![cfg_attr(not(test), warn(clippy::cast_possible_truncation))]
#![forbid(unsafe_code)]

mod bytes;
mod chains;
mod chunks;
mod columns;
mod error;
mod first;
mod format;
mod gaps;
mod host;
mod input;
mod intern;
mod kallsyms;
mod names;
mod narrow;
mod open;
mod payload;
mod perf;
mod programs;
mod progress;
mod recording;
mod ring;
mod rounds;
mod tables;
mod text;
mod together;
mod tracedat;
mod tracefs;
mod tracing;
mod visit;
mod watched;
mod within;
mod wrapped;

pub mod components;
pub mod counts;
pub mod episodes;
pub mod event_batches;
pub mod events;
pub mod handovers;
pub mod kinds;
pub mod ledger;
pub mod lives;
pub mod mask;
pub mod packed;
pub mod pairing;
pub mod perfetto;
pub mod stacks;
pub mod tiles;
pub mod times;
pub mod traffic;

pub use bytes::Order;
pub use chains::Selection;
pub use error::{printable, said, Error, Kind as ErrorKind, Result};
pub use gaps::WHYS;
pub use host::{Buffer, Guest, Host, Session};
pub use open::{of_file as open_file, open};
pub use perf::maps;
pub use programs::files::Search;
pub use progress::{Progress, Waiting};
pub use recording::{Event, Rate, Recording, Unit};
pub use visit::{Sample, Side, Tally, Visitor, What};

/// Internals for the Python package, the tests and the fuzz targets: readers of single structures, packed files, and
/// Arrow dictionaries.
pub mod parts {
    pub use crate::bytes::until_nul;
    pub use crate::columns::EventColumns;
    pub use crate::format::Format;
    pub use crate::intern::{Interner, Labels};
    pub use crate::perf::header::{FileHeader, Magic};
    pub use crate::ring::{Missed, PageEnd, PageLayout, Row};
    pub use crate::tables::{batch, plain};
    pub use crate::text::PERF_SCRIPT;
}
