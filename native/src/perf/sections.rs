//! A seekable file's headers: attr table, names and features, and the records its data begins with.

use std::fs::File;
use std::sync::Arc;

use crate::error::{bad, Result};
use crate::input::{read_at, Window};
use crate::narrow::Narrow;
use crate::perf::attr::{Attr, SMALLEST};
use crate::perf::blocks::is_last;
use crate::perf::feature;
use crate::perf::gather::{Gathered, EVENT_TYPE};
use crate::perf::header::{FileHeader, Section, FILE_HEADER};
use crate::perf::record::{self, kind};
use crate::perf::recording::{Mode, Part};

/// Ids of 8 bytes, one per event and CPU: enough for a thousand events on four thousand CPUs.
const MAX_ID_BYTES: u64 = 32 << 20;
/// Some ten thousand events.
const MAX_ATTR_BYTES: u64 = 2 << 20;
/// Records of perf's own that may stand before a file's first sample and still be looked at.
const MAX_LEADING: usize = 1 << 16;

impl Gathered {
    /// Reads a file's sections; says whether the recorder closed it.
    pub(super) fn read_file(
        &mut self,
        file: &Arc<File>,
        length: u64,
        size: u64,
        directory: bool,
    ) -> Result<(Mode, Part, bool)> {
        let size = size.min(FILE_HEADER);
        let header = read_at(file, 0, size as usize)?.and_then(|bytes| FileHeader::parse(&bytes, self.order));
        let header = header.ok_or_else(|| {
            bad!(CutShort(length), "perf.data header cut short: the file has {length} bytes, the header {size}")
        })?;
        self.around.before = vec![Section { offset: 0, size }, header.attrs];
        self.around.records_at = header.data.offset;
        self.read_attrs(file, &header)?;
        self.read_event_types(file, header.event_types)?;
        // A directory's main file may hold no records of its own and still be finished.
        let finished = header.data.size != 0 || directory;
        let end = if finished { header.data.end().min(length) } else { length };
        if header.data.end() > length {
            self.cut = true;
            self.notes.push(format!(
                "file cut short: its data should end at byte {}, but the file ends at {length}; whole records are kept",
                header.data.end()
            ));
        }
        let start = header.data.offset.min(end);
        if finished {
            self.read_features(file, &header, directory)?;
        } else if start == end {
            return Err(bad!(CutShort(length), "no records: the recording was never finished (data size 0 at offset 48), and the file ends with its header at byte {length}"));
        } else {
            self.notes.push("the recording was never finished (data size 0): records are read to the end of the file, and event formats may be missing".into());
        }
        self.read_leading(file, start, end)?;
        Ok((Mode::File, Part { file: Arc::clone(file), start, end }, finished))
    }

    fn read_attrs(&mut self, file: &File, header: &FileHeader) -> Result<()> {
        let length = file.metadata()?.len();
        let damaged = || {
            bad!(
                Damaged(header.attrs.offset.min(length)),
                "perf.data attr table damaged: {} bytes of {}-byte entries at offset {}",
                header.attrs.size,
                header.attr_size,
                header.attrs.offset
            )
        };
        let smallest = SMALLEST as u64 + 16;
        if header.attr_size < smallest || header.attr_size > 1 << 16 || header.attrs.size > MAX_ATTR_BYTES {
            return Err(damaged());
        }
        if header.attrs.end() > length {
            return Err(bad!(
                CutShort(length),
                "cut short: the file has {length} bytes, and its table of events ends at byte {}",
                header.attrs.end()
            ));
        }
        let table = read_at(file, header.attrs.offset, header.attrs.size.narrow())?.ok_or_else(damaged)?;
        let mut bytes_of_ids = 0u64;
        for entry in table.chunks_exact(header.attr_size.narrow()) {
            let (attr, ids) = entry.split_at(entry.len() - 16);
            let attr = Attr::parse(attr, self.order).ok_or_else(damaged)?;
            let ids = Section::parse(ids, 0, self.order).ok_or_else(damaged)?;
            bytes_of_ids = bytes_of_ids.saturating_add(ids.size);
            let bytes = if bytes_of_ids > MAX_ID_BYTES { None } else { read_at(file, ids.offset, ids.size.narrow())? };
            self.attrs.push((attr, self.words(&bytes.ok_or_else(damaged)?)));
            self.around.before.push(ids);
        }
        Ok(())
    }

    fn read_event_types(&mut self, file: &File, section: Section) -> Result<()> {
        // Later recorders leave it empty, or do not write it at all.
        if section.size < MAX_ATTR_BYTES {
            if let Some(bytes) = read_at(file, section.offset, section.size.narrow())? {
                bytes.chunks_exact(EVENT_TYPE).for_each(|entry| self.name_by_config(entry));
                self.around.before.push(section);
            }
        }
        Ok(())
    }

    fn read_features(&mut self, file: &File, header: &FileHeader, directory: bool) -> Result<()> {
        let table = read_at(file, header.data.end(), header.features.len() * 16)?;
        let mut left_out: Vec<&str> = Vec::new();
        let length = file.metadata()?.len();
        let mut end = header.data.end().saturating_add(header.features.len() as u64 * 16);
        if header.features.contains(&feature::DIR_FORMAT) && !directory {
            self.notes.push("part of a recording in a folder (perf record --threads): the events of the files beside it are not read; open the folder".to_owned());
        }
        for (index, &feature) in header.features.iter().enumerate() {
            let section = table.as_ref().and_then(|table| Section::parse(table, index * 16, self.order));
            end = end.max(section.map_or(0, |section| section.end()));
            let section = section.filter(|section| section.size <= 1 << 28);
            self.around.features.push((feature, section));
            let Some(about) = feature::about(feature) else { continue };
            let read = |section: Section| read_at(file, section.offset, section.size.narrow());
            match section.map(read).transpose()?.flatten() {
                Some(bytes) => self.features.read(feature, &bytes, self.order),
                None => left_out.push(about),
            }
        }
        if !left_out.is_empty() {
            let cut = end > length;
            self.cut |= cut;
            let why = if cut {
                format!("file cut short: it should end at byte {end}, but ends at {length}")
            } else {
                "the header is damaged".to_owned()
            };
            self.notes.push(format!("{why}; these parts of it are unknown: {}", left_out.join(", ")));
        } else if length > end {
            self.notes
                .push(format!("{} bytes follow the capture's end at byte {end}: they are not read", length - end));
        }
        Ok(())
    }

    /// Looks at the records that a file's data begins with, for what perf says of the ids.
    fn read_leading(&mut self, file: &Arc<File>, start: u64, end: u64) -> Result<()> {
        let mut window = Window::new(file, start, end.min(start + (1 << 20)));
        for _ in 0..MAX_LEADING {
            let Some((kind, size)) = record::header(window.peek(record::HEADER)?, self.order) else { break };
            if size < record::HEADER || kind == kind::SAMPLE || is_last(kind) {
                break;
            }
            if kind == kind::ID_INDEX {
                let bytes = window.peek(size)?.get(..size).map(<[u8]>::to_vec);
                self.id_index(&bytes.unwrap_or_default());
            }
            window.advance(size as u64)?;
        }
        Ok(())
    }
}
