//! Decoder of captures and the CPU-time ledger behind `netcost_analysis`.
//!
//! Bytes become records (`perf`, `tracedat`, `tracefs`, `text`), records typed columns (`events`, `columns`) or
//! owners of time (`ledger`). Data moves one way. The ledger accounts for all of each CPU's time:
//!
//! ```
//! use arrow_array::cast::AsArray;
//! use arrow_array::types::Int64Type;
//! use netcost::ledger::{self, Request};
//! use netcost::open::open;
//!
//! let path = "../sample-data/nic-stolen-time/trace.perf.data";
//! let recording = open(path, None, &mut || true)?;
//! let output = ledger::run(&recording, &Request::default(), &mut |_fraction| true)?;
//! let accounted: i64 = output.sums["ns"].as_primitive::<Int64Type>().values().iter().sum();
//! let (start_ns, end_ns) = output.window;
//! assert_eq!(accounted, (end_ns - start_ns) * output.cpus.len() as i64);
//! # Ok::<(), netcost::error::Error>(())
//! ```

#![forbid(unsafe_code)]

pub mod bytes;
pub mod chunks;
pub mod columns;
pub mod counts;
pub mod error;
pub mod events;
pub mod format;
pub mod gaps;
pub mod host;
pub mod input;
pub mod intern;
pub mod kallsyms;
pub mod kinds;
pub mod ledger;
pub mod lives;
pub mod mask;
pub mod names;
pub mod open;
pub mod payload;
pub mod perf;
pub mod progress;
pub mod recording;
pub mod ring;
pub mod stacks;
pub mod tables;
pub mod text;
pub mod together;
pub mod tracedat;
pub mod tracefs;
pub mod tracing;
pub mod visit;
pub mod watched;
pub mod wrapped;
