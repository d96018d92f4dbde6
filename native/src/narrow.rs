//! Numbers in fewer bits.

use std::any::type_name;

/// Converts a number to a type in which it is known to fit: places in memory, counts of what is kept.
pub trait Narrow: Sized {
    /// If it does not fit, the pass ends with a bug report instead of a wrong figure.
    fn narrow<T: TryFrom<Self>>(self) -> T {
        T::try_from(self).unwrap_or_else(|_| unreachable!("a number beyond {}", type_name::<T>()))
    }
}

impl<N> Narrow for N {}

/// The lower half of a recorded value, if the kernel keeps only that.
#[inline(always)]
pub fn low_half(value: u64) -> u32 {
    (value & 0xffff_ffff) as u32
}
