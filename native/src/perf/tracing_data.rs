//! The TRACING_DATA section: every recorded event's `format` file, as trace-cmd v0.5/v0.6 lays it out.

use crate::bytes::{slice, text, until_nul, Order};
use crate::format::Format;

const MAGIC: &[u8] = b"\x17\x08\x44tracing";

/// The formats of a section, as far as it is intact, and what was wrong with the rest.
#[derive(Debug, Default)]
pub struct TracingData {
    /// One per recorded event.
    pub formats: Vec<Format>,
    /// Bytes of a `long` on the recorder's machine.
    pub long_bytes: Option<u8>,
    /// `/proc/kallsyms`, which perf recorded until 2015.
    pub kallsyms: Option<String>,
    /// Why the section could not be read to its end.
    pub problem: Option<String>,
}

impl TracingData {
    /// Parses a section; never fails as a whole.
    pub fn parse(bytes: &[u8]) -> TracingData {
        let mut data = TracingData::default();
        if data.read(bytes).is_none() {
            data.problem = Some("the recorded event formats (TRACING_DATA) are cut short".to_owned());
        }
        data
    }

    fn read(&mut self, bytes: &[u8]) -> Option<()> {
        let mut cursor = Cursor { bytes, at: 0, order: Order::Little };
        if cursor.take(MAGIC.len())? != MAGIC {
            return None;
        }
        cursor.string()?; // version
        if cursor.take(1)?[0] != 0 {
            cursor.order = Order::Big;
        }
        self.long_bytes = Some(cursor.take(1)?[0]).filter(|size| matches!(size, 4 | 8));
        cursor.take(4)?; // page size
        for _ in 0..2 {
            cursor.string()?; // "header_page", "header_event"
            let size = cursor.u64()?;
            cursor.take(size)?;
        }
        for _ in 0..cursor.u32()? {
            let size = cursor.u64()?;
            self.add("ftrace", cursor.take(size)?);
        }
        for _ in 0..cursor.u32()? {
            let system = text(cursor.string()?);
            for _ in 0..cursor.u32()? {
                let size = cursor.u64()?;
                self.add(&system, cursor.take(size)?);
            }
        }
        // What follows is absent from the oldest and cut from nobody's use.
        let size = cursor.u32().unwrap_or(0) as usize;
        self.kallsyms = cursor.take(size).filter(|found| !found.is_empty()).map(text);
        Some(())
    }

    fn add(&mut self, system: &str, bytes: &[u8]) {
        match Format::parse(system, &text(bytes), self.long_bytes.unwrap_or(8).into()) {
            Ok(format) => self.formats.push(format),
            Err(error) => self.problem = Some(error.to_string()),
        }
    }
}

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    order: Order,
}

impl<'a> Cursor<'a> {
    fn take(&mut self, size: usize) -> Option<&'a [u8]> {
        let taken = slice(self.bytes, self.at, size)?;
        self.at += size;
        Some(taken)
    }

    fn string(&mut self) -> Option<&'a [u8]> {
        let string = until_nul(self.bytes.get(self.at..)?);
        self.take(string.len() + 1)?;
        Some(string)
    }

    fn u32(&mut self) -> Option<u32> {
        let value = self.order.u32(self.bytes, self.at)?;
        self.at += 4;
        Some(value)
    }

    fn u64(&mut self) -> Option<usize> {
        let value = self.order.u64(self.bytes, self.at)?;
        self.at += 8;
        usize::try_from(value).ok()
    }
}
