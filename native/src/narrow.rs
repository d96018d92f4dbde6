//! Numbers in fewer bits.

use std::any::type_name;

/// The same number as another type, where it is known to fit: places in memory, counts of what is kept.
pub trait Narrow: Sized {
    /// Where it does not fit after all, the pass ends with a bug's line instead of a wrong figure.
    fn narrow<T: TryFrom<Self>>(self) -> T {
        T::try_from(self).unwrap_or_else(|_| unreachable!("a number beyond {}", type_name::<T>()))
    }
}

impl<N> Narrow for N {}

/// The lower half of what a record holds, where the kernel keeps no more.
#[inline(always)]
pub fn low_half(value: u64) -> u32 {
    (value & 0xffff_ffff) as u32
}
