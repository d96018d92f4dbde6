//! perf.data: header, attributes, recorded formats, and the walk over its records.

pub mod attr;
pub(crate) mod blocks;
pub mod build_ids;
mod chains;
pub mod command;
mod counters;
pub(crate) mod feature;
mod gather;
pub mod header;
pub mod ids;
pub mod layout;
pub mod maps;
mod naming;
mod newest_first;
pub mod open;
pub mod record;
pub mod recording;
pub mod samples;
mod sections;
mod source;
mod spaces;
pub mod spans;
mod stacked;
pub(crate) mod stream;
mod swap;
mod unpack;
mod walk;
