//! Bounds-checked reads, and numbers written in a recorder's byte order. Every read of capture bytes goes through here:
//! headers in the recorder's byte order (`Order`), everything after them in little-endian (`perf::swap` converts it).

/// `size` bytes at `at`, or `None` past the end.
#[inline(always)]
pub fn slice(bytes: &[u8], at: usize, size: usize) -> Option<&[u8]> {
    bytes.get(at..at.checked_add(size)?)
}

macro_rules! reader {
    ($name:ident, $type:ty) => {
        /// Little-endian integer at `at`, or `None` past the end.
        #[inline(always)]
        pub fn $name(bytes: &[u8], at: usize) -> Option<$type> {
            let bytes = slice(bytes, at, size_of::<$type>())?;
            Some(<$type>::from_le_bytes(bytes.try_into().ok()?))
        }
    };
}

reader!(u16_at, u16);
reader!(u32_at, u32);
reader!(i32_at, i32);
reader!(u64_at, u64);

/// A recorder's byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// Least significant byte first.
    #[default]
    Little,
    /// Most significant byte first.
    Big,
}

macro_rules! ordered {
    ($name:ident, $little:ident, $type:ty) => {
        /// Integer at `at` in this order, or `None` past the end.
        #[inline(always)]
        pub fn $name(self, bytes: &[u8], at: usize) -> Option<$type> {
            let value = $little(bytes, at)?;
            Some(if self == Order::Big { value.swap_bytes() } else { value })
        }
    };
}

macro_rules! written {
    ($name:ident, $type:ty) => {
        /// The bytes of a number in this order.
        pub fn $name(self, number: $type) -> [u8; size_of::<$type>()] {
            if self == Order::Big {
                number.to_be_bytes()
            } else {
                number.to_le_bytes()
            }
        }
    };
}

impl Order {
    written!(u16_bytes, u16);
    written!(u32_bytes, u32);
    written!(u64_bytes, u64);
    ordered!(u16, u16_at, u16);
    ordered!(u32, u32_at, u32);
    ordered!(i32, i32_at, i32);
    ordered!(u64, u64_at, u64);
}

/// Bytes up to the first NUL, or all of them.
#[inline]
pub fn until_nul(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|&byte| byte == 0);
    &bytes[..end.unwrap_or(bytes.len())]
}

/// Text up to the first NUL. Bytes that are not UTF-8 become the replacement character.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(until_nul(bytes)).into_owned()
}
