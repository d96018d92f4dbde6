//! A perf.data written anew: headers, records one after the other, and the parts behind them.

use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use super::repack::Stream;
use super::Mask;
use crate::bytes::Order;
use crate::error::{bad, Result};
use crate::input::{read_at, Window};
use crate::perf::header::{FileHeader, Magic, Section, FILE_HEADER, PIPE_HEADER};
use crate::perf::record::{self, kind};
use crate::perf::recording::PerfData;
use crate::perf::spans;
use crate::perf::stream::{is_old_feature, OLD_FEATURE_BASE};
use crate::perf::unpack::Unpacked;

/// What stands before the records: attrs and their ids.
const MAX_BEFORE: u64 = 64 << 20;
/// Parts behind the records that are read in one piece.
const MAX_FEATURE: u64 = 1 << 28;
const DATA_SIZE_AT: u64 = 48;

impl Mask<'_> {
    /// Writes a whole perf.data to `out`; of a folder its main file.
    pub(super) fn perf_data(
        &mut self,
        perf: &PerfData,
        file: &Arc<File>,
        out: &mut File,
        in_folder: bool,
    ) -> Result<()> {
        let length = file.metadata()?.len();
        let start = read_at(file, 0, PIPE_HEADER as usize)?.unwrap_or_default();
        let magic = Magic::parse(&start).ok_or_else(|| bad!("not a perf.data"))?;
        if magic.header == PIPE_HEADER {
            let mut out = BufWriter::new(out);
            out.write_all(&start)?;
            self.records(perf, file, (PIPE_HEADER, length), &mut out, true)?;
            return Ok(out.flush()?);
        }
        let order = magic.order;
        let size = magic.header.min(FILE_HEADER);
        let bytes = read_at(file, 0, size as usize)?.unwrap_or_default();
        let header = FileHeader::parse(&bytes, order).ok_or_else(|| bad!("perf.data header cut short"))?;
        self.before_records(file, &bytes, &header, order, out)?;
        let finished = header.data.size != 0 || in_folder;
        let end = if finished { header.data.end().min(length) } else { length };
        let from = header.data.offset.min(end);
        out.seek(SeekFrom::Start(header.data.offset))?;
        let mut writer = BufWriter::new(&mut *out);
        let written = self.records(perf, file, (from, end), &mut writer, false)?;
        if finished && written == 0 && from < end && !in_folder {
            return Err(bad!("damaged at byte {from}: no record before that, so there is nothing to mask"));
        }
        if finished {
            self.behind_records(file, &header, written, order, &mut writer)?;
        }
        writer.flush()?;
        drop(writer);
        if finished {
            out.write_all_at(&order.u64_bytes(written), DATA_SIZE_AT)?;
        }
        Ok(())
    }

    /// The header, the attrs with their ids, and names by number: all of it where it was.
    fn before_records(
        &mut self,
        file: &File,
        bytes: &[u8],
        header: &FileHeader,
        order: Order,
        out: &File,
    ) -> Result<()> {
        let most = header.data.offset;
        let inside = |section: &Section| section.size == 0 || section.end() <= most;
        if most > MAX_BEFORE || !inside(&header.attrs) {
            return Err(bad!(
                "a perf.data whose records begin at byte {most}, before the events are described, is not masked"
            ));
        }
        out.write_all_at(bytes, 0)?;
        let copy = |section: Section| -> Result<Vec<u8>> {
            let bytes = match inside(&section) {
                true => read_at(file, section.offset, section.size as usize)?.unwrap_or_default(),
                false => Vec::new(),
            };
            out.write_all_at(&bytes, section.offset)?;
            Ok(bytes)
        };
        let attrs = copy(header.attrs)?;
        for entry in attrs.chunks_exact(header.attr_size.max(1) as usize) {
            let ids = entry.len().checked_sub(16).and_then(|at| Section::parse(entry, at, order));
            copy(ids.filter(|ids| ids.size > 0).unwrap_or_default())?;
        }
        if header.event_types.size > 0 {
            copy(header.event_types)?;
        }
        Ok(())
    }

    /// The table of features and their sections, behind the records as long as they are now.
    fn behind_records(
        &mut self,
        file: &File,
        header: &FileHeader,
        written: u64,
        order: Order,
        out: &mut impl Write,
    ) -> Result<()> {
        let table = read_at(file, header.data.end(), header.features.len() * 16)?.unwrap_or_default();
        let mut next = header.data.offset + written + 16 * header.features.len() as u64;
        let (mut places, mut sections) = (Vec::new(), Vec::new());
        let mut left = file.metadata()?.len();
        for (index, &feature) in header.features.iter().enumerate() {
            let section = Section::parse(&table, index * 16, order).filter(|section| section.size <= MAX_FEATURE);
            let bytes = match section {
                Some(section) => read_at(file, section.offset, section.size as usize)?,
                None => None,
            };
            if bytes.is_none() {
                self.names.tell("damaged parts of the header left out", 1);
            }
            let mut bytes = bytes.unwrap_or_default();
            left = left
                .checked_sub(bytes.len() as u64)
                .ok_or_else(|| bad!("damaged: parts of the perf.data header lie over each other"))?;
            self.names.hide_all(&spans::feature(feature, &bytes, order), &mut bytes, order)?;
            places.extend(order.u64_bytes(next));
            places.extend(order.u64_bytes(bytes.len() as u64));
            next += bytes.len() as u64;
            sections.push(bytes);
        }
        out.write_all(&places)?;
        sections.iter().try_for_each(|section| out.write_all(section))?;
        Ok(())
    }

    /// Copies the records in `range`, masked; bytes written. What is damaged, and all behind it, is left out.
    pub(super) fn records(
        &mut self,
        perf: &PerfData,
        file: &Arc<File>,
        range: (u64, u64),
        out: &mut impl Write,
        is_stream: bool,
    ) -> Result<u64> {
        let order = perf.order;
        let mut window = Window::new(file, range.0, range.1);
        let (mut written, mut old_features, mut before_attrs) = (0u64, PIPE_HEADER, is_stream);
        let mut packed: Option<(Unpacked, Stream)> = None;
        loop {
            let offset = window.offset();
            let Some((kind, size)) = record::header(window.peek(record::HEADER)?, order) else { break };
            let bytes = window.peek(size)?.get(..size).filter(|_| size >= record::HEADER);
            let Some(mut bytes) = bytes.map(<[u8]>::to_vec) else { break };
            let mut skip = 0;
            if before_attrs && is_old_feature(kind, old_features, offset) {
                let section = &mut bytes[record::HEADER..];
                let spans = spans::feature((kind - OLD_FEATURE_BASE) as usize, section, order);
                self.names.hide_all(&spans, section, order)?;
                old_features = offset + size as u64;
            } else if matches!(kind, kind::COMPRESSED | kind::COMPRESSED2) {
                let (unpacked, stream) = match &mut packed {
                    Some(packed) => packed,
                    none => none.insert((Unpacked::new(), Stream::new()?)),
                };
                let from = if kind == kind::COMPRESSED { 8 } else { 16 };
                let told = order.u64(&bytes, 8).and_then(|size| usize::try_from(size).ok());
                let to = if kind == kind::COMPRESSED { size } else { told.unwrap_or(0).saturating_add(16).min(size) };
                let Some(inside) = bytes.get(from..to) else { break };
                let (plain, whole) = self.unpacked(perf, unpacked, inside)?;
                bytes = stream.records(&plain, kind, order)?;
                if !whole {
                    out.write_all(&bytes)?;
                    written += bytes.len() as u64;
                    break;
                }
            } else {
                before_attrs &= kind != kind::HEADER_ATTR;
                self.record(perf, &mut bytes)?;
                if kind == kind::AUXTRACE {
                    // Data of a tracer in the hardware, which nobody here takes apart: the record says that
                    // none follows.
                    skip = order.u64(&bytes, 8).unwrap_or(0);
                    if let Some(place) = bytes.get_mut(8..16) {
                        place.copy_from_slice(&[0; 8]);
                        self.names.tell("hardware traces (AUXTRACE) left out", 1);
                    }
                } else if kind == kind::HEADER_TRACING_DATA {
                    let extra = order.u32(&bytes, 8).unwrap_or(0);
                    let Some(mut section) = read_at(file, offset + size as u64, extra as usize)? else { break };
                    self.names.hide_all(&spans::feature(1, &section, order), &mut section, order)?;
                    skip = extra.into();
                    bytes.extend(section);
                }
            }
            out.write_all(&bytes)?;
            written += bytes.len() as u64;
            window.advance((size as u64).saturating_add(skip))?;
            if offset >> 20 != window.offset() >> 20 {
                let total = range.1.saturating_sub(range.0).max(1);
                self.names.progress((window.offset() - range.0) as f64 / total as f64)?;
            }
        }
        let left = range.1.saturating_sub(window.offset());
        if left > 0 {
            self.names.tell("bytes behind damage left out", left);
        }
        Ok(written)
    }

    /// The whole records that a compressed one ends, masked, and whether it is sound.
    fn unpacked(&mut self, perf: &PerfData, unpacked: &mut Unpacked, packed: &[u8]) -> Result<(Vec<u8>, bool)> {
        let mut plain = Vec::new();
        let mut failed = None;
        let fed = unpacked.feed(packed, |bytes| {
            let mut at = 0;
            while let Some((_, size)) = bytes.get(at..).and_then(|rest| record::header(rest, perf.order)) {
                let Some(one) = bytes.get(at..at + size).filter(|_| size >= record::HEADER) else {
                    if size < record::HEADER {
                        return Err("a record smaller than its header".to_owned());
                    }
                    break;
                };
                let begin = plain.len();
                plain.extend_from_slice(one);
                if let Err(error) = self.record(perf, &mut plain[begin..]) {
                    failed = Some(error);
                    return Err(String::new());
                }
                at += size;
            }
            Ok((at, ControlFlow::Continue(())))
        });
        match (failed, fed) {
            (Some(error), _) => Err(error),
            (None, fed) => Ok((plain, fed.is_ok())),
        }
    }
}
