//! Bounds-checked little-endian reads. Every read of capture bytes goes through here.

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

/// Bytes up to the first NUL, or all of them.
#[inline]
pub fn until_nul(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|&byte| byte == 0);
    &bytes[..end.unwrap_or(bytes.len())]
}

/// Text up to the first NUL; bytes that are no UTF-8 become the replacement character.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(until_nul(bytes)).into_owned()
}
