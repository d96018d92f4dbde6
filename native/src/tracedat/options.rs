//! What options say, in either version.

use super::id;
use crate::bytes::{text, Order};
use crate::host::Guest;
use crate::ring::Shift;
use crate::tracing::Cursor;

/// Corrections kept of one guest clock: more come from damage.
const MAX_SHIFTS: u32 = 1 << 20;
const FLAG_INTERPOLATE: u32 = 1;

/// What the options of a file say.
#[derive(Debug, Default)]
pub struct Options {
    /// The text of `trace_clock`.
    pub clock: Option<String>,
    /// Whether there is such an option at all.
    pub has_clock: bool,
    /// `uname`, as trace-cmd writes it.
    pub uname: Option<String>,
    /// trace-cmd's version.
    pub version: Option<String>,
    /// CPUs of the machine.
    pub cpu_count: Option<u32>,
    /// From the capture's clock to the time of day.
    pub date_offset_ns: i64,
    /// What is added to every time.
    pub offset_ns: i64,
    /// Multiplier and shift from cycles to nanoseconds.
    pub tsc: Option<(u32, u32)>,
    /// Corrections of a guest's clock, by CPU.
    pub shifts: Vec<Vec<Shift>>,
    /// Whether offsets grow evenly between them.
    pub interpolate: bool,
    /// Number of the tracing session.
    pub trace_id: Option<u64>,
    /// Guests that were traced in the same session.
    pub guests: Vec<Guest>,
    /// Version 6: further buffers, and where they lie.
    pub instances: Vec<(String, u64)>,
    /// The kernel's statistics of each CPU's ring, in the order of the file.
    stats: Vec<String>,
}

impl Options {
    /// Takes over one option; a damaged one leaves its value unknown.
    pub fn read(&mut self, option: u16, data: &[u8], order: Order) {
        match option {
            id::DATE => self.date_offset_ns = number(data).saturating_mul(1000),
            id::OFFSET => self.offset_ns = self.offset_ns.wrapping_add(number(data)),
            id::CPUSTAT => self.stats.push(text(data)),
            id::BUFFER => self.instances.extend(order.u64(data, 0).map(|at| (text(&data[8..]), at))),
            id::TRACECLOCK => {
                self.has_clock = true;
                self.clock = Some(text(data)).filter(|clock| !clock.is_empty());
            }
            id::UNAME => self.uname = Some(text(data)),
            id::VERSION => self.version = Some(text(data)),
            id::CPUCOUNT => self.cpu_count = order.u32(data, 0).filter(|_| data.len() <= 8),
            id::TRACEID => self.trace_id = order.u64(data, 0),
            id::TSC2NSEC => self.tsc = order.u32(data, 0).zip(order.u32(data, 4)).filter(|tsc| tsc.0 > 0),
            id::GUEST => self.guests.extend(guest(&mut Cursor::new(data, order))),
            id::TIME_SHIFT => {
                let mut cursor = Cursor::new(data, order);
                self.shifts = Vec::new();
                if self.time_shift(&mut cursor).is_none() {
                    self.shifts = Vec::new();
                }
            }
            _ => {}
        }
    }

    fn time_shift(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        cursor.u64()?; // the peer's session
        self.interpolate = cursor.u32()? & FLAG_INTERPOLATE != 0;
        for _ in 0..cursor.u32()? {
            let count = cursor.u32().filter(|&count| count <= MAX_SHIFTS)? as usize;
            // Three arrays of words: times, offsets, factors.
            let words = cursor.take(count.checked_mul(24)?)?;
            let word = |place: usize| cursor.order.u64(&words, 8 * place).unwrap_or(0);
            self.shifts.push(
                (0..count)
                    .map(|place| Shift {
                        time: word(place) as i64,
                        offset: word(count + place) as i64,
                        scaling: word(2 * count + place),
                        fraction: 0,
                    })
                    .collect(),
            );
        }
        // Older recorders end here.
        for shift in self.shifts.iter_mut().flatten() {
            let Some(fraction) = cursor.u64() else { break };
            shift.fraction = fraction.try_into().unwrap_or(u32::MAX);
        }
        for shifts in &mut self.shifts {
            shifts.sort_by_key(|shift| shift.time);
            shifts.dedup_by_key(|shift| shift.time);
        }
        Some(())
    }

    /// What the kernel's statistics say was lost, where that is not in the pages of the top buffer.
    pub fn losses_noted(&self, buffer: &str) -> Option<String> {
        if !buffer.is_empty() {
            return None;
        }
        let top = self.stats.iter().take_while(|stats| !stats.trim_start().starts_with("Buffer:"));
        let (mut overrun, mut dropped) = (0u64, 0u64);
        for line in top.flat_map(|stats| stats.lines()) {
            let Some((key, value)) = line.split_once(':') else { continue };
            let value = value.trim().parse().unwrap_or(0);
            match key.trim() {
                "overrun" | "commit overrun" => overrun = overrun.saturating_add(value),
                "dropped events" => dropped = dropped.saturating_add(value),
                _ => {}
            }
        }
        (overrun + dropped > 0).then(|| {
            format!("the kernel's own count for this buffer: {overrun} events overwritten before they were read, {dropped} dropped")
        })
    }
}

fn guest(cursor: &mut Cursor<'_>) -> Option<Guest> {
    let mut guest = Guest { name: cursor.string()?, trace_id: cursor.u64()?, cpus: Vec::new() };
    for _ in 0..cursor.u32()? {
        let Some(cpu) = cursor.u32().zip(cursor.u32()) else { break };
        guest.cpus.push((cpu.0, cpu.1 as i32));
    }
    Some(guest)
}

/// A number as C's strtoll reads it: 0x for hexadecimal.
fn number(data: &[u8]) -> i64 {
    let text = text(data);
    let text = text.trim();
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let value = match digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).unwrap_or(0) as i64,
        None => digits.parse().unwrap_or(0),
    };
    if negative {
        value.wrapping_neg()
    } else {
        value
    }
}
