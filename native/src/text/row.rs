//! One event's payload in the making: fields where the kernel has them, behind the common ones.

use super::scan::COMM;
use crate::bytes::{i32_at, slice, u64_at, until_nul};
use crate::narrow::Narrow;

/// The common fields that text may show: type (never known), flags, preempt_count, pid.
pub const FLAGS_AT: usize = 2;
/// See `FLAGS_AT`.
pub const PREEMPT_AT: usize = 3;
/// See `FLAGS_AT`.
pub const PID_AT: usize = 4;
/// Where an event's own fields begin.
pub const FIELDS_AT: usize = 8;
/// Bytes of the largest fixed part, sched_switch's.
pub const LARGEST: usize = 64;
/// A `__data_loc` holds no more; longer texts are cut.
const LONGEST_TEXT: usize = 60_000;

/// A payload.
#[derive(Debug)]
pub struct Row<'a> {
    fixed: [u8; LARGEST],
    size: usize,
    text: &'a [u8],
    /// What the event's parser says besides: see `known::OPTIONAL`, `switch::STATE_IS_NUMBER`.
    pub found: u8,
}

impl<'a> Row<'a> {
    /// `size` bytes of fixed part, all zero.
    pub fn new(size: usize) -> Row<'a> {
        Row { fixed: [0; LARGEST], size: size.min(LARGEST), text: &[], found: 0 }
    }

    #[inline(always)]
    fn put(&mut self, at: usize, bytes: &[u8]) {
        if let Some(place) = self.fixed.get_mut(at..at + bytes.len()) {
            place.copy_from_slice(bytes);
        }
    }

    /// A byte.
    #[inline(always)]
    pub fn byte(&mut self, at: usize, value: u8) {
        self.put(at, &[value]);
    }

    /// An int.
    #[inline(always)]
    pub fn int(&mut self, at: usize, value: i32) {
        self.put(at, &value.to_le_bytes());
    }

    /// A long.
    #[inline(always)]
    pub fn long(&mut self, at: usize, value: i64) {
        self.put(at, &value.to_le_bytes());
    }

    /// A task's name, in place.
    #[inline(always)]
    pub fn comm(&mut self, at: usize, comm: &[u8]) {
        self.put(at, &comm[..comm.len().min(COMM)]);
    }

    /// A text behind the fixed part, and at `at` where it lies. A row has one.
    #[inline(always)]
    pub fn text(&mut self, at: usize, text: &'a [u8]) {
        self.text = &text[..text.len().min(LONGEST_TEXT)];
        let word = self.text.len().narrow::<u32>() << 16 | self.size.narrow::<u32>();
        self.put(at, &word.to_le_bytes());
    }

    /// A field's value, as written.
    pub fn long_at(&self, at: usize) -> i64 {
        u64_at(&self.fixed, at).unwrap_or(0) as i64
    }

    /// See `long_at`.
    #[inline(always)]
    pub fn int_at(&self, at: usize) -> i32 {
        i32_at(&self.fixed, at).unwrap_or(0)
    }

    /// A task's name, as written.
    #[inline(always)]
    pub fn comm_at(&self, at: usize) -> &[u8] {
        until_nul(slice(&self.fixed, at, COMM).unwrap_or_default())
    }

    /// Bytes of the whole.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.size + self.text.len()
    }

    /// Appends the whole.
    #[inline(always)]
    pub fn append_to(&self, block: &mut Vec<u8>) {
        block.extend_from_slice(&self.fixed[..self.size]);
        block.extend_from_slice(self.text);
    }
}
