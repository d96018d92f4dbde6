//! A timeline as tiles of a picture: who owned each CPU, at any zoom.
//!
//! ```text
//!   segments, polls --> summed: levels of buckets, each twice as wide as the one below --\
//!                  \--> kept: the segments themselves, for what is finer than that -------+--> tile
//! ```
//! A tile has `BUCKETS` buckets of 2^level ns. A CPU with few segments in the tile is drawn from these, otherwise from
//! the owners' shares of each bucket. All times are in ns from the start of the timeline.

mod grid;
mod kept;
mod owners;
mod rows;
mod summed;
mod tile;

pub use grid::{max_level, BUCKETS};
pub use kept::{Found, Kept};
pub use owners::{Owners, NOBODY};
pub use summed::Summed;
pub use tile::{tile, MOST_SEGMENTS};
