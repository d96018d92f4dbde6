//! Version 6: everything one after the other, then a table of each CPU's data.

use std::fs::File;

use super::headers::{CpuData, Headers, Instance};
use super::id;
use crate::kinds::Kind;
use crate::narrow::Narrow;
use crate::tracing::Cursor;
use crate::visit::MAX_CPUS;

/// Bytes of the words that say what follows.
const WORD: usize = 10;

impl Headers {
    /// Reads on behind the magic; `None` where the file ends too early.
    pub(super) fn read_version_6(&mut self, file: &File, cursor: &mut Cursor<'_>) -> Option<()> {
        self.version = 6;
        self.first_at = cursor.at();
        self.tracing.metadata(cursor)?;
        self.tracing.behind_formats(cursor)?;
        let cpus = cursor.u32().filter(|&count| count <= MAX_CPUS)?;
        self.cpu_count = Some(cpus);
        self.top(cursor, cpus)?;
        for (name, offset) in std::mem::take(&mut self.options.instances) {
            let mut cursor = Cursor::of_file(file, offset, self.order);
            cursor.take(WORD)?;
            let cpus = self.options.cpu_count.filter(|&count| count <= MAX_CPUS).unwrap_or(cpus);
            self.tracing.spans.push((offset..offset, Kind::Keep));
            let (cpus, clock) = self.table(&mut cursor, cpus)?;
            self.instances.push(Instance { name, clock, cpus, ..Default::default() });
        }
        Some(())
    }

    fn top(&mut self, cursor: &mut Cursor<'_>, cpus: u32) -> Option<()> {
        let mut word = cursor.take(WORD)?;
        if word.starts_with(b"options") {
            loop {
                match cursor.u16()? {
                    id::OPTIONS => break,
                    option => {
                        let size = cursor.u32()? as usize;
                        self.tracing.hold(cursor, Kind::Keep);
                        let data = cursor.take(size)?;
                        self.tracing.hold(cursor, id::kind(option));
                        self.options.read(option, &data, self.order);
                    }
                }
            }
            word = cursor.take(WORD)?;
        }
        self.tracing.hold(cursor, Kind::Keep);
        let mut top = Instance::default();
        if word.starts_with(b"latency") {
            top.text = Some((cursor.at(), self.length));
        } else {
            (top.cpus, top.clock) = self.table(cursor, cpus)?;
        }
        self.instances.push(top);
        Some(())
    }

    /// Offsets and sizes by CPU number, then the clock where one was noted.
    fn table(&mut self, cursor: &mut Cursor<'_>, cpus: u32) -> Option<(Vec<CpuData>, Option<String>)> {
        let mut found = Vec::new();
        for cpu in 0..cpus {
            let (start, size) = (cursor.u64()?, cursor.u64()?);
            if size > 0 {
                found.push(CpuData { cpu, start, end: start.saturating_add(size) });
            }
        }
        let mut clock = None;
        if self.options.has_clock {
            let size = cursor.u64().filter(|&size| size <= 1 << 12);
            self.tracing.hold(cursor, Kind::Keep);
            clock = size.and_then(|size| cursor.take(size.narrow())).map(|clock| crate::bytes::text(&clock));
            self.tracing.hold(cursor, Kind::Text);
        }
        self.tracing.hold(cursor, Kind::Keep);
        Some((found, clock))
    }
}
