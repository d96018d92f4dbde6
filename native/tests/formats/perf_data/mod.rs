//! perf.data: containers, records, and samples.

mod containers;
mod damage;
mod fields;
mod guests;
mod old;
mod records;
pub mod samples;
