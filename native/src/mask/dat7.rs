//! trace.dat of version 7: its sections one after the other, and options that say where they are now.

use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::sync::Arc;

use tempfile::tempfile;

use super::dat::{option, Shape};
use super::sections::{Chunks, Writer, PRINTK, STRINGS};
use super::Mask;
use crate::bytes::{until_nul, Order};
use crate::error::{bad, Result};
use crate::input::read_at;
use crate::ring::{PageLayout, Pages};
use crate::tracedat::sections::{id, packing, FLAG_COMPRESSED};
use crate::tracedat::Instance;
use crate::tracing::{Cursor, MAGIC};

/// Pages that trace-cmd packs in one piece.
const CHUNK_PAGES: usize = 10;

impl Mask<'_> {
    pub(super) fn version_7(&mut self, file: &Arc<File>, shape: &Shape, out: File) -> Result<()> {
        let headers = &shape.headers;
        let order = headers.order;
        let mut cursor = Cursor::of_file(file, MAGIC.len() as u64, order);
        let start = (cursor.string(), cursor.take(6), cursor.string(), cursor.string());
        let cut = || bad!("trace.dat cut short: it cannot be masked");
        let (_, Some(_), Some(compression), Some(_)) = start else { return Err(cut()) };
        let place = cursor.at();
        let first = cursor.u64().ok_or_else(cut)?;
        let packed = packing(&compression).ok();
        let mut writer = Writer { out: BufWriter::new(out), order, packed, strings: Vec::new() };
        writer.out.write_all(&read_at(file, 0, place as usize)?.ok_or_else(cut)?)?;
        writer.out.write_all(&[0; 8])?;
        let mut options = Vec::new();
        for (number, mut data) in headers.list_options(file, first)?.0 {
            let kept = match number {
                id::BUFFER | id::BUFFER_TEXT => {
                    let Some(instance) = headers.read_buffer(file, number, &data) else { continue };
                    data = match number {
                        id::BUFFER => self.buffer_7(file, shape, &instance, &mut writer)?,
                        _ => self.text_7(file, shape, &instance, &mut writer)?,
                    };
                    true
                }
                id::HEADER_INFO..=id::KALLSYMS | PRINTK | id::CMDLINES => {
                    match self.section_7(file, shape, number, &data, &mut writer)? {
                        Some(at) => {
                            data = order.u64_bytes(at).to_vec();
                            true
                        }
                        None => false,
                    }
                }
                _ => self.option(number, &mut data)?,
            };
            if kept {
                append(&mut options, order, number, &data);
            }
        }
        append(&mut options, order, option::DONE, &[0; 8]);
        let packed_options = self.is_packed(file, shape, first);
        let at = writer.section(id::OPTIONS, &options, packed_options)?;
        let strings = [writer.strings.as_slice(), b"strings\0"].concat();
        writer.section(STRINGS, &strings, false)?;
        writer.patch(place, &order.u64_bytes(at))
    }

    fn is_packed(&self, file: &File, shape: &Shape, at: u64) -> bool {
        let head = shape.headers.section_header(&mut Cursor::of_file(file, at, shape.headers.order));
        head.is_some_and(|(_, flags, _)| flags & FLAG_COMPRESSED != 0)
    }

    /// Formats, symbols, names of tasks: where the section is now; `None` where it is damaged.
    fn section_7(
        &mut self,
        file: &File,
        shape: &Shape,
        number: u16,
        data: &[u8],
        writer: &mut Writer,
    ) -> Result<Option<u64>> {
        let order = shape.headers.order;
        let Some(at) = order.u64(data, 0) else { return Ok(None) };
        let Ok((mut body, _)) = shape.headers.section(file, at, number) else {
            self.tell("damaged sections left out", 1);
            return Ok(None);
        };
        if number == id::KALLSYMS {
            self.symbols(&mut body);
        }
        if number == id::CMDLINES {
            let size = order.u64(&body, 0).and_then(|size| usize::try_from(size).ok()).unwrap_or(0);
            let end = size.saturating_add(8).min(body.len());
            body.truncate(end);
            if let Some(lines) = body.get_mut(8..) {
                self.names.cmdlines(lines)?;
            }
        }
        let packed = self.is_packed(file, shape, at);
        writer.section(number, &body, packed).map(Some)
    }

    /// A buffer's pages: what its option says now.
    fn buffer_7(
        &mut self,
        file: &Arc<File>,
        shape: &Shape,
        instance: &Instance,
        writer: &mut Writer,
    ) -> Result<Vec<u8>> {
        let order = shape.headers.order;
        let layout = shape.headers.page_layout(instance)?;
        let length = file.metadata()?.len();
        let start = writer.at()?;
        let packed = writer.packed.filter(|_| instance.compressed);
        writer.head(id::BUFFER, instance.compressed, 0, &format!("buffer flyrecord {}", instance.name))?;
        let mut data = option_start(order, start, instance);
        data.extend(order.u32_bytes(instance.page_size as u32));
        data.extend(order.u32_bytes(instance.cpus.len() as u32));
        for cpu in &instance.cpus {
            writer.align(shape.headers.tracing.page_size.into())?;
            let begin = writer.at()?;
            let end = cpu.end.min(length);
            match packed {
                Some(packed) if cpu.start < end => {
                    let pages = Pages::packed(file, cpu.start, end, packed, order);
                    let mut chunks =
                        Chunks { writer, packed, room: Vec::new(), each: CHUNK_PAGES * layout.size, count: 0 };
                    chunks.writer.out.write_all(&[0; 4])?;
                    self.pages(&layout, &shape.by_type, pages, &mut chunks)?;
                    chunks.flush()?;
                    let count = chunks.count;
                    writer.patch(begin, &order.u32_bytes(count))?;
                }
                _ => self.plain_7(file, shape, &layout, (cpu.start, end), writer)?,
            }
            let size = writer.at()? - begin;
            data.extend(order.u32_bytes(cpu.cpu));
            data.extend(order.u64_bytes(begin));
            data.extend(order.u64_bytes(size));
        }
        let size = writer.at()? - start - 16;
        writer.patch(start + 8, &order.u64_bytes(size))?;
        Ok(data)
    }

    fn plain_7(
        &mut self,
        file: &Arc<File>,
        shape: &Shape,
        layout: &PageLayout,
        range: (u64, u64),
        writer: &mut Writer,
    ) -> Result<()> {
        let whole = range.1.saturating_sub(range.0) / layout.size as u64 * layout.size as u64;
        let pages = Pages::new(file, range.0, range.0 + whole);
        self.pages(layout, &shape.by_type, pages, &mut writer.out)
    }

    /// What a latency tracer left: text.
    fn text_7(&mut self, file: &Arc<File>, shape: &Shape, instance: &Instance, writer: &mut Writer) -> Result<Vec<u8>> {
        let order = shape.headers.order;
        let (from, to) = instance.text.unwrap_or_default();
        let packed = writer.packed.filter(|_| instance.compressed);
        let mut pages = match packed {
            Some(packed) => Pages::packed(file, from, to, packed, order),
            None => Pages::new(file, from, to),
        };
        let mut copy = tempfile()?;
        let mut room = vec![0; 1 << 18];
        loop {
            let (filled, problem) = pages.fill(&mut room);
            if let Some(error) = problem {
                return Err(bad!("{error}: it cannot be masked"));
            }
            copy.write_all(until_nul(&room[..filled]))?;
            if filled < room.len() {
                break;
            }
        }
        let length = copy.stream_position()?;
        let mut masked = tempfile()?;
        self.text(&Arc::new(copy), 0, length, &mut masked)?;
        let length = masked.seek(SeekFrom::End(0))?;
        let text = read_at(&masked, 0, length as usize)?.unwrap_or_default();
        let body = match packed {
            Some(packed) => {
                let pieces = text.chunks(CHUNK_PAGES << 12);
                let mut body = order.u32_bytes(pieces.len() as u32).to_vec();
                for piece in pieces {
                    body.extend(writer.block(packed, piece)?);
                }
                body
            }
            None => text,
        };
        let start = writer.at()?;
        let called = format!("buffer latency {}", instance.name);
        writer.head(id::BUFFER_TEXT, packed.is_some(), body.len() as u64, &called)?;
        writer.out.write_all(&body)?;
        Ok(option_start(order, start, instance))
    }
}

/// Where a buffer is, what it is called, and its clock.
fn option_start(order: Order, start: u64, instance: &Instance) -> Vec<u8> {
    let mut data = order.u64_bytes(start).to_vec();
    for text in [&instance.name, instance.clock.as_ref().unwrap_or(&String::new())] {
        data.extend_from_slice(text.as_bytes());
        data.push(0);
    }
    data
}

fn append(options: &mut Vec<u8>, order: Order, number: u16, data: &[u8]) {
    options.extend(order.u16_bytes(number));
    options.extend(order.u32_bytes(data.len() as u32));
    options.extend_from_slice(data);
}
