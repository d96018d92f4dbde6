//! trace.dat of version 6: all stays where it is.

use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use super::dat::{option, Shape};
use super::Mask;
use crate::bytes::Order;
use crate::error::{bad, Result};
use crate::input::read_at;
use crate::ring::Pages;
use crate::tracing::{Cursor, Tracing};

const WORD: usize = 10;
/// Headers that are read in one piece.
const MAX: u64 = 256 << 20;

impl Mask<'_> {
    pub(super) fn version_6(&mut self, file: &Arc<File>, shape: &Shape, out: &File) -> Result<()> {
        let length = file.metadata()?.len();
        out.set_len(length)?;
        let mut cursor = Cursor::of_file(file, 0, Order::Little);
        let begun = Tracing::default();
        let cut = || bad!("trace.dat cut short: it cannot be masked");
        let tables = self.start(file, begun, &mut cursor, out)?.ok_or_else(cut)?;
        for (at, count, has_clock) in tables {
            self.table(file, at, count, has_clock, shape.headers.order, out)?.ok_or_else(cut)?;
        }
        for instance in &shape.headers.instances {
            if let Some((from, to)) = instance.text {
                let mut place = out.try_clone()?;
                place.seek(SeekFrom::Start(from))?;
                self.text(file, from, to, &mut place)?;
                out.set_len(place.stream_position()?)?;
                continue;
            }
            let layout = shape.headers.page_layout(instance)?;
            for cpu in &instance.cpus {
                let end = cpu.end.min(length);
                if cpu.start < end {
                    let mut place = out.try_clone()?;
                    place.seek(SeekFrom::Start(cpu.start))?;
                    let mut writer = BufWriter::new(place);
                    let whole = (end - cpu.start) / layout.size as u64 * layout.size as u64;
                    let pages = Pages::new(file, cpu.start, cpu.start + whole);
                    self.pages(&layout, &shape.by_type, pages, &mut writer)?;
                    writer.flush()?;
                }
            }
        }
        Ok(())
    }

    /// Everything up to the first table: formats, names of tasks, options. Gives where tables are, of how
    /// many CPUs, and whether a clock follows them.
    fn start(
        &mut self,
        file: &File,
        mut found: Tracing,
        cursor: &mut Cursor<'_>,
        out: &File,
    ) -> Result<Option<Vec<(u64, u32, bool)>>> {
        let whole = found
            .start(cursor)
            .and_then(|_| found.metadata(cursor))
            .and_then(|()| found.kallsyms(cursor))
            .and_then(|()| found.printk(cursor))
            .and_then(|()| cursor.u64());
        let Some(size) = whole.filter(|&size| size <= MAX) else { return Ok(None) };
        let at = cursor.at();
        let mut first = read_at(file, 0, at.min(MAX) as usize)?.unwrap_or_default();
        self.symbols(&mut first);
        out.write_all_at(&first, 0)?;
        let Some(mut cmdlines) = cursor.take(size as usize).map(|bytes| bytes.into_owned()) else { return Ok(None) };
        self.names.cmdlines(&mut cmdlines)?;
        out.write_all_at(&cmdlines, at)?;
        let at = cursor.at();
        let Some((cpus, mut word)) = cursor.u32().zip(cursor.take(WORD)) else { return Ok(None) };
        copy(file, out, at, cursor.at())?;
        let (mut tables, mut has_clock, mut count) = (Vec::new(), false, cpus);
        if word.starts_with(b"options") {
            loop {
                let at = cursor.at();
                let Some(number) = cursor.u16() else { return Ok(None) };
                if number == option::DONE {
                    copy(file, out, at, cursor.at())?;
                    break;
                }
                let Some(size) = cursor.u32() else { return Ok(None) };
                copy(file, out, at, cursor.at())?;
                let at = cursor.at();
                let Some(mut data) = cursor.take(size as usize).map(|bytes| bytes.into_owned()) else {
                    return Ok(None);
                };
                self.option(number, &mut data)?;
                out.write_all_at(&data, at)?;
                has_clock |= number == 4;
                match number {
                    option::BUFFER => tables.extend(cursor.order.u64(&data, 0)),
                    8 if size <= 8 => count = cursor.order.u32(&data, 0).unwrap_or(count),
                    _ => {}
                }
            }
            let at = cursor.at();
            let Some(next) = cursor.take(WORD) else { return Ok(None) };
            word = next;
            copy(file, out, at, cursor.at())?;
        }
        let mut all: Vec<(u64, u32, bool)> =
            tables.into_iter().map(|at| (at + WORD as u64, count, has_clock)).collect();
        for &(at, ..) in &all {
            copy(file, out, at.saturating_sub(WORD as u64), at)?;
        }
        if !word.starts_with(b"latency") {
            all.push((cursor.at(), cpus, has_clock));
        }
        Ok(Some(all))
    }

    /// A table of CPUs, and the text of their clock.
    fn table(
        &mut self,
        file: &File,
        at: u64,
        cpus: u32,
        has_clock: bool,
        order: Order,
        out: &File,
    ) -> Result<Option<()>> {
        let mut end = at.saturating_add(16 * u64::from(cpus));
        if has_clock {
            let Some(size) = read_at(file, end, 8)?.and_then(|bytes| order.u64(&bytes, 0)) else { return Ok(None) };
            end = end.saturating_add(8).saturating_add(size.min(1 << 12));
        }
        copy(file, out, at, end)?;
        Ok(Some(()))
    }
}

/// Copies bytes that hold no names.
fn copy(file: &File, out: &File, from: u64, to: u64) -> Result<()> {
    let size = to.saturating_sub(from);
    if size > MAX {
        return Err(bad!("trace.dat with {size} bytes of headers: it cannot be masked"));
    }
    if let Some(bytes) = read_at(file, from, size as usize)? {
        out.write_all_at(&bytes, from)?;
    }
    Ok(())
}
