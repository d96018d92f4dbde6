//! trace.dat of version 7: its sections one after the other, and options that say where they are now.

use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
use std::sync::Arc;

use tempfile::tempfile;

use super::sections::Writer;
use super::Mask;
use crate::bytes::Order;
use crate::error::{bad, Result};
use crate::input::read_at;
use crate::kinds::Kind;
use crate::narrow::Narrow;
use crate::ring::check_apart;
use crate::tracedat::sections::{packing, Section};
use crate::tracedat::{id, Headers, Instance, Part};

/// Pages that trace-cmd packs in one piece.
const CHUNK_PAGES: usize = 10;

impl Mask<'_> {
    pub(super) fn version_7(&mut self, file: &Arc<File>, headers: &Headers, out: File) -> Result<()> {
        let order = headers.order;
        let packed = packing(&headers.compression).ok();
        let mut writer = Writer { out: BufWriter::new(out), order, packed, strings: Vec::new() };
        let first = read_at(file, 0, headers.first_at.narrow::<usize>() + 8)?;
        let length = file.metadata()?.len();
        let cut_short = || bad!(CutShort(length), "trace.dat cut short at byte {length}: it cannot be masked");
        writer.out.write_all(&first.ok_or_else(cut_short)?)?;
        let mut options = Vec::new();
        for part in &headers.parts {
            match part {
                Part::Option(number, data) => {
                    let (kind, mut data) = (id::kind(*number), data.clone());
                    self.names.hide(kind, &mut data, order)?;
                    if !matches!(kind, Kind::Hidden(_) | Kind::UnknownOption(_)) {
                        append(&mut options, order, *number, &data);
                    }
                }
                Part::Section(number, at, spans) => {
                    let Ok(Section { mut body, packed }) = headers.section(file, *at, *number) else {
                        self.names.tell("damaged sections left out", 1);
                        continue;
                    };
                    body.truncate(spans.last().map_or(0, |(range, _)| range.end.narrow()));
                    self.names.hide_all(spans, &mut body, order)?;
                    let at = writer.section(*number, &body, packed)?;
                    append(&mut options, order, *number, &order.u64_bytes(at));
                }
                Part::Buffer(instance) => {
                    let instance = &headers.instances[*instance];
                    let number = if instance.text.is_some() { id::BUFFER_TEXT } else { id::BUFFER };
                    let data = self.buffer(file, headers, instance, number, &mut writer)?;
                    append(&mut options, order, number, &data);
                }
            }
        }
        append(&mut options, order, id::OPTIONS, &[0; 8]);
        let at = writer.section(id::OPTIONS, &options, headers.packed)?;
        let strings = [writer.strings.as_slice(), b"strings\0"].concat();
        writer.section(id::STRINGS, &strings, false)?;
        writer.patch(headers.first_at, &order.u64_bytes(at))
    }

    /// A buffer's pages, or the text that a latency tracer left: what its option says now.
    fn buffer(
        &mut self,
        file: &Arc<File>,
        headers: &Headers,
        instance: &Instance,
        number: u16,
        writer: &mut Writer,
    ) -> Result<Vec<u8>> {
        let order = headers.order;
        let start = writer.at()?;
        let mut data = order.u64_bytes(start).to_vec();
        for text in [instance.name.as_str(), instance.clock.as_deref().unwrap_or_default()] {
            data.extend_from_slice(text.as_bytes());
            data.push(0);
        }
        let called = if instance.text.is_some() { "latency" } else { "flyrecord" };
        writer.head(number, instance.compressed, 0, &format!("buffer {called} {}", instance.name))?;
        let packed = headers.packing(instance)?;
        if instance.text.is_some() {
            let (text, problem) = headers.latency(file, instance)?;
            if let Some(error) = problem {
                return Err(error.followed_by("it cannot be masked"));
            }
            let (length, mut masked) = (text.metadata()?.len(), tempfile()?);
            self.text(&text, 0, length, &mut masked)?;
            masked.rewind()?;
            let copy = |out: &mut dyn Write| {
                io::copy(&mut masked, out)?;
                Ok(())
            };
            writer.pieces(packed, CHUNK_PAGES << 12, copy)?;
        } else {
            let layout = headers.page_layout(instance)?;
            data.extend(order.u32_bytes(instance.page_size.narrow()));
            data.extend(order.u32_bytes(instance.cpus.len().narrow()));
            let ranges: Vec<_> = instance.cpus.iter().map(|cpu| (cpu.start, cpu.end)).collect();
            check_apart(&ranges, file.metadata()?.len())?;
            for cpu in &instance.cpus {
                let pages = headers.cpu_pages(file, instance, &layout, cpu)?;
                if pages.is_some() {
                    // As far as the original has it so: what a header claims alone makes no file larger.
                    let aligned = 1u64 << cpu.start.trailing_zeros().min(31);
                    writer.align(aligned.min(headers.tracing.page_size.into()))?;
                }
                let begin = writer.at()?;
                if let Some(pages) = pages {
                    let piece = CHUNK_PAGES * layout.size;
                    writer.pieces(packed, piece, |mut out| self.pages(&layout, pages, &mut out))?;
                }
                data.extend(order.u32_bytes(cpu.cpu));
                data.extend(order.u64_bytes(begin));
                data.extend(order.u64_bytes(writer.at()? - begin));
            }
        }
        let size = writer.at()? - start - 16;
        writer.patch(start + 8, &order.u64_bytes(size))?;
        Ok(data)
    }
}

fn append(options: &mut Vec<u8>, order: Order, number: u16, data: &[u8]) {
    options.extend(order.u16_bytes(number));
    options.extend(order.u32_bytes(data.len().narrow()));
    options.extend_from_slice(data);
}
