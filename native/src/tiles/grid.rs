//! Levels and buckets.

/// Buckets in a tile.
pub const PLACES: usize = 512;
/// The same, for arithmetic with times.
pub const BUCKETS: u64 = PLACES as u64;

/// The lowest level whose first tile covers this many ns.
pub fn max_level(duration: u64) -> u32 {
    u64::BITS - (duration.max(1).div_ceil(BUCKETS) - 1).leading_zeros()
}
