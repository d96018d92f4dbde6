//! What the fuzz targets share: reading a capture in full, within memory that its size explains.

mod bounded;
mod reading;

pub use bounded::within;
pub use reading::read;

#[global_allocator]
static ALLOCATOR: bounded::Counting = bounded::Counting;
