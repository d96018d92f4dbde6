//! Levels and buckets.

/// Buckets of a tile.
pub const PLACES: usize = 512;
/// The same, to reckon with times.
pub const BUCKETS: u64 = PLACES as u64;

/// The least level whose first tile covers so many ns.
pub fn max_level(duration: u64) -> u32 {
    u64::BITS - (duration.max(1).div_ceil(BUCKETS) - 1).leading_zeros()
}
