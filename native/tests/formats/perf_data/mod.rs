//! perf.data: containers, records, and samples.

mod containers;
mod damage;
mod records;
pub mod samples;
