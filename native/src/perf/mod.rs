//! perf.data: header, attributes, recorded formats, and the walk over its records.

pub mod attr;
pub mod header;
pub mod ids;
pub mod input;
pub mod record;
pub mod recording;
pub mod tracing_data;
pub mod walk;
