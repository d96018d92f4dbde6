//! Where a field lies in a payload, and how it is read.

use crate::bytes::{slice, u16_at, u32_at, u64_at};
use crate::format::{Format, Kind};
use crate::narrow::{low_half, Narrow};

/// Offset and size of a field. The size is 0 if the format lacks the field.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    offset: u16,
    size: u8,
    unsigned: bool,
}

impl Place {
    pub const ABSENT: Place = Place { offset: 0, size: 0, unsigned: false };

    /// Place of an integer.
    pub fn of(format: &Format, name: &str) -> Place {
        let field = format.field(name).filter(|field| matches!(field.size, 1 | 2 | 4 | 8));
        field.map_or(Place::ABSENT, |field| Place {
            offset: field.offset.narrow(),
            size: field.size.narrow(),
            unsigned: field.kind == Kind::Int { signed: false },
        })
    }

    /// Place of a task's name: 16 bytes, stored in place.
    pub fn of_comm(format: &Format, name: &str) -> Place {
        let field = format.field(name).filter(|field| field.size == 16);
        field.map_or(Place::ABSENT, |field| Place { offset: field.offset.narrow(), size: 16, unsigned: false })
    }

    pub fn is_at(self, offset: u16, size: u8) -> bool {
        (self.offset, self.size) == (offset, size)
    }

    pub fn is_absent(self) -> bool {
        self.size == 0
    }

    /// Reads a value that the kernel keeps in 32 bits.
    #[inline(always)]
    pub fn narrow(self, payload: &[u8]) -> Option<i32> {
        self.read(payload).map(|value| low_half(value as u64) as i32)
    }

    /// Reads the value; `None` if absent. Fields of one and two bytes are flags and types.
    #[inline(always)]
    pub fn read(self, payload: &[u8]) -> Option<i64> {
        if self.size != 4 {
            return self.read_other(payload);
        }
        let word = u32_at(payload, self.offset as usize)?;
        Some(if self.unsigned { word.into() } else { (word as i32).into() })
    }

    #[inline(never)]
    fn read_other(self, payload: &[u8]) -> Option<i64> {
        let at = self.offset as usize;
        match self.size {
            8 => u64_at(payload, at).map(|value| value as i64),
            2 => u16_at(payload, at).map(i64::from),
            1 => payload.get(at).map(|&value| i64::from(value)),
            _ => None,
        }
    }

    /// Reads a task's name.
    #[inline(always)]
    pub fn comm(self, payload: &[u8]) -> Option<&[u8]> {
        (self.size == 16).then(|| slice(payload, self.offset as usize, 16)).flatten()
    }

    /// Reads the text that a `__data_loc` points to, with its NUL.
    #[inline(always)]
    pub fn text(self, payload: &[u8]) -> Option<&[u8]> {
        if self.size != 4 {
            return None;
        }
        let word = u32_at(payload, self.offset as usize)?;
        slice(payload, (word & 0xffff) as usize, (word >> 16) as usize)
    }
}
