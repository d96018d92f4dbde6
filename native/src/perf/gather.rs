//! What a recording's headers say, gathered from a file's sections or from the records that a
//! stream begins with.

use std::fs::File;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::bytes::{text, Order};
use crate::error::{bad, Result};
use crate::format::Format;
use crate::perf::attr::{Attr, SMALLEST, TYPE_TRACEPOINT};
use crate::perf::command::fits;
use crate::perf::header::{Features, FileHeader, Magic, Section, FILE_HEADER, PIPE_HEADER, SHORT_HEADER};
use crate::perf::ids::Ids;
use crate::perf::input::{read_at, Window};
use crate::perf::naming;
use crate::perf::record::{self, kind};
use crate::perf::recording::{Event, Mode, Part, Recording};

/// Ids of 8 bytes, one per event and CPU: enough for a thousand events on four thousand CPUs.
const MOST_ID_BYTES: u64 = 32 << 20;
/// Some ten thousand events.
const MOST_ATTR_BYTES: u64 = 2 << 20;
/// Bytes of a name's entry before features had them: a number and 64 characters.
const EVENT_TYPE: usize = 72;
/// Records of perf's own that may stand before a file's first sample and still be looked at.
const MOST_LEADING: usize = 1 << 16;

#[derive(Default)]
struct Gathered {
    order: Order,
    attrs: Vec<(Attr, Vec<u64>)>,
    /// From EVENT_UPDATE records, by id.
    names: Vec<(u64, String)>,
    /// From before features had them, by `config`.
    names_by_config: FxHashMap<u64, String>,
    /// Guest process of an id.
    guests: FxHashMap<u64, i32>,
    features: Features,
    notes: Vec<String>,
    cut: bool,
    /// Where a stream's leading records end, and why there.
    stopped: Option<String>,
}

/// Opens a file, and the further files of a folder.
pub fn gather(file: Arc<File>, more: Option<Vec<File>>) -> Result<Recording> {
    let length = file.metadata()?.len();
    let Some(start) = read_at(&file, 0, PIPE_HEADER as usize)? else {
        return Err(bad!("not a capture: the file has {length} bytes, too few for a perf.data header"));
    };
    let magic = Magic::parse(&start).ok_or_else(|| unknown_magic(&start))?;
    let mut gathered = Gathered { order: magic.order, ..Default::default() };
    let (mode, part, finished) = match magic.header {
        PIPE_HEADER => (Mode::Pipe, gathered.read_pipe(&file, length)?, true),
        SHORT_HEADER | FILE_HEADER.. => gathered.read_file(&file, length, magic.header, more.is_some())?,
        size => {
            return Err(bad!(
                "perf.data header claims {size} bytes at offset 8; expected {PIPE_HEADER} (pipe), {FILE_HEADER} or {SHORT_HEADER} (file)"
            ))
        }
    };
    let mut parts = vec![part];
    let mode = if let Some(more) = more {
        for file in more {
            let end = file.metadata()?.len();
            parts.push(Part { file: Arc::new(file), start: 0, end });
        }
        Mode::Directory
    } else {
        mode
    };
    gathered.finish(magic, mode, finished, parts)
}

fn unknown_magic(start: &[u8]) -> crate::error::Error {
    match start {
        [0x17, 0x08, 0x44, b't', b'r', b'a', b'c', ..] => {
            bad!("not readable: a trace-cmd trace.dat, which this version does not read")
        }
        _ => bad!("not a capture: the file starts with {:02x?} where perf.data has 'PERFILE2'", &start[..8]),
    }
}

impl Gathered {
    fn read_file(&mut self, file: &Arc<File>, length: u64, size: u64, directory: bool) -> Result<(Mode, Part, bool)> {
        let size = size.min(FILE_HEADER);
        let header = read_at(file, 0, size as usize)?.and_then(|bytes| FileHeader::parse(&bytes, self.order));
        let header =
            header.ok_or_else(|| bad!("perf.data header cut short: the file has {length} bytes, the header {size}"))?;
        self.read_attrs(file, &header)?;
        self.read_event_types(file, header.event_types)?;
        // A directory's main file may hold no records of its own and still be finished.
        let finished = header.data.size != 0 || directory;
        let end = if finished { header.data.end().min(length) } else { length };
        if header.data.end() > length {
            self.cut = true;
            self.notes.push(format!(
                "file cut short: its data should end at byte {}, the file does at {length}; whole records are kept",
                header.data.end()
            ));
        }
        let start = header.data.offset.min(end);
        if finished {
            self.read_features(file, &header)?;
        } else if start == end {
            return Err(bad!("no records: the recording was never finished (data size 0 at offset 48), and the file ends with its header at byte {length}"));
        } else {
            self.notes.push("the recording was never finished (data size 0): records are read to the end of the file, event formats may be missing".into());
        }
        self.read_leading(file, start, end)?;
        Ok((Mode::File, Part { file: Arc::clone(file), start, end }, finished))
    }

    fn read_attrs(&mut self, file: &File, header: &FileHeader) -> Result<()> {
        let damaged = || {
            bad!(
                "perf.data attr table damaged: {} bytes of {}-byte entries at offset {}",
                header.attrs.size,
                header.attr_size,
                header.attrs.offset
            )
        };
        let smallest = SMALLEST as u64 + 16;
        if header.attr_size < smallest || header.attr_size > 1 << 16 || header.attrs.size > MOST_ATTR_BYTES {
            return Err(damaged());
        }
        let table = read_at(file, header.attrs.offset, header.attrs.size as usize)?.ok_or_else(damaged)?;
        let mut bytes_of_ids = 0u64;
        for entry in table.chunks_exact(header.attr_size as usize) {
            let (attr, ids) = entry.split_at(entry.len() - 16);
            let attr = Attr::parse(attr, self.order).ok_or_else(damaged)?;
            let ids = Section::parse(ids, 0, self.order).ok_or_else(damaged)?;
            bytes_of_ids = bytes_of_ids.saturating_add(ids.size);
            let ids = if bytes_of_ids > MOST_ID_BYTES { None } else { read_at(file, ids.offset, ids.size as usize)? };
            self.attrs.push((attr, self.words(&ids.ok_or_else(damaged)?)));
        }
        Ok(())
    }

    fn read_event_types(&mut self, file: &File, section: Section) -> Result<()> {
        // Later recorders leave it empty, or unwritten.
        if section.size < MOST_ATTR_BYTES {
            if let Some(bytes) = read_at(file, section.offset, section.size as usize)? {
                bytes.chunks_exact(EVENT_TYPE).for_each(|entry| self.name_by_config(entry));
            }
        }
        Ok(())
    }

    fn name_by_config(&mut self, entry: &[u8]) {
        let name = entry.get(8..).map(text).filter(|name| !name.is_empty());
        if let Some((config, name)) = self.order.u64(entry, 0).zip(name) {
            self.names_by_config.entry(config).or_insert(name);
        }
    }

    fn read_features(&mut self, file: &File, header: &FileHeader) -> Result<()> {
        let table = read_at(file, header.data.end(), header.features.len() * 16)?;
        let mut left_out: Vec<String> = Vec::new();
        for (index, &feature) in header.features.iter().enumerate() {
            let section = table.as_ref().and_then(|table| Section::parse(table, index * 16, self.order));
            if !Features::wants(feature) {
                continue;
            }
            match section.filter(|section| section.size <= 1 << 28) {
                Some(section) => match read_at(file, section.offset, section.size as usize)? {
                    Some(bytes) => self.features.read(feature, &bytes, self.order),
                    None => left_out.push(feature.to_string()),
                },
                None => left_out.push(feature.to_string()),
            }
        }
        if !left_out.is_empty() {
            self.notes
                .push(format!("header features {} lie outside the file or are damaged: left out", left_out.join(", ")));
        }
        Ok(())
    }

    /// Looks at the records that a file's data begins with, for what perf says of the ids.
    fn read_leading(&mut self, file: &Arc<File>, start: u64, end: u64) -> Result<()> {
        let mut window = Window::new(file, start, end.min(start + (1 << 20)));
        for _ in 0..MOST_LEADING {
            let Some((kind, size)) = record::header(window.peek(record::HEADER)?, self.order) else { break };
            let other = matches!(kind, kind::AUXTRACE | kind::TRACING_DATA | kind::COMPRESSED | kind::COMPRESSED2);
            if size < record::HEADER || kind == kind::SAMPLE || other {
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

    /// Ids of guests: after the entries {id, index, cpu, tid} there is a second list {pid, vcpu}.
    fn id_index(&mut self, bytes: &[u8]) {
        let Some(count) = self.order.u64(bytes, 8).and_then(|count| usize::try_from(count).ok()) else { return };
        let Some(second) = count.checked_mul(32).and_then(|size| size.checked_add(16)) else { return };
        for entry in 0..count.min(bytes.len() / 48) {
            let id = self.order.u64(bytes, 16 + 32 * entry);
            let pid = self.order.u64(bytes, second + 16 * entry).map(|pid| pid as i32);
            if let (Some(id), Some(pid @ 1..)) = (id, pid) {
                self.guests.insert(id, pid);
            }
        }
    }

    /// Reads a stream's own records up to its first sample.
    fn read_pipe(&mut self, file: &Arc<File>, length: u64) -> Result<Part> {
        let mut window = Window::new(file, PIPE_HEADER, length);
        let mut start = PIPE_HEADER;
        let mut before_attrs = true;
        loop {
            let offset = window.offset();
            let Some((kind, size)) = record::header(window.peek(record::HEADER)?, self.order) else {
                self.stopped = Some(format!("the stream ends at byte {length}"));
                break;
            };
            if size < record::HEADER {
                self.stopped = Some(format!("the record at byte {offset} claims {size} bytes"));
                break;
            }
            let old_feature = before_attrs && is_old_feature(kind, start, offset);
            if matches!(kind, kind::SAMPLE | kind::COMPRESSED | kind::COMPRESSED2) && !old_feature {
                self.stopped = Some(format!("samples begin at byte {offset}"));
                break;
            }
            let bytes = window.peek(size)?;
            let Some(bytes) = bytes.get(..size) else {
                self.stopped = Some(format!("the record at byte {offset} claims {size} bytes and is cut short"));
                break;
            };
            before_attrs &= kind != kind::HEADER_ATTR;
            let skip = match kind {
                _ if old_feature => {
                    self.features.read((kind - OLD_FEATURE_BASE) as usize, &bytes[record::HEADER..], self.order);
                    start = offset + size as u64;
                    0
                }
                kind::TRACING_DATA => {
                    let extra = self.order.u32(bytes, 8).unwrap_or(0);
                    let at = offset + size as u64;
                    match read_at(file, at, extra as usize)? {
                        Some(section) => self.features.read(1, &section, self.order),
                        None => self.notes.push(format!("event formats cut short at byte {at}")),
                    }
                    extra.into()
                }
                kind::AUXTRACE => self.order.u64(bytes, 8).unwrap_or(0),
                _ => {
                    self.pipe_record(kind, bytes);
                    0
                }
            };
            window.advance((size as u64).saturating_add(skip))?;
        }
        Ok(Part { file: Arc::clone(file), start, end: length })
    }

    fn pipe_record(&mut self, kind: u32, bytes: &[u8]) {
        const UPDATE_NAME: u64 = 2;
        let order = self.order;
        match kind {
            kind::HEADER_ATTR => {
                let attr = &bytes[record::HEADER..];
                let size = Attr::size(attr, order);
                if let Some((parsed, size)) = Attr::parse(attr, order).zip(size) {
                    self.attrs.push((parsed, self.words(attr.get(size..).unwrap_or_default())));
                }
            }
            kind::HEADER_EVENT_TYPE => self.name_by_config(&bytes[record::HEADER..]),
            kind::EVENT_UPDATE if order.u64(bytes, 8) == Some(UPDATE_NAME) => {
                let name = text(bytes.get(24..).unwrap_or_default());
                self.names.extend(order.u64(bytes, 16).map(|id| (id, name)));
            }
            kind::HEADER_FEATURE => {
                let feature = order.u64(bytes, 8).and_then(|feature| usize::try_from(feature).ok());
                let section = bytes.get(16..).unwrap_or_default();
                self.features.read(feature.unwrap_or(usize::MAX), section, order);
            }
            kind::ID_INDEX => self.id_index(bytes),
            _ => {}
        }
    }

    fn words(&self, bytes: &[u8]) -> Vec<u64> {
        bytes.chunks_exact(8).filter_map(|word| self.order.u64(word, 0)).collect()
    }

    fn finish(mut self, magic: Magic, mode: Mode, finished: bool, parts: Vec<Part>) -> Result<Recording> {
        if self.attrs.is_empty() {
            let place = self.stopped.unwrap_or("its attr table at offset 24 is empty".to_owned());
            return Err(bad!("no events: the perf.data header names none, so no sample can be read; {place}"));
        }
        self.notes.extend(self.features.tracing.problem.take());
        let mut ids = Ids::default();
        let mut by_common_type = FxHashMap::default();
        for (index, (attr, own_ids)) in self.attrs.iter().enumerate() {
            own_ids.iter().for_each(|&id| ids.add(id, index as u32));
            if attr.kind == TYPE_TRACEPOINT {
                by_common_type.entry(attr.config).or_insert(index as u32);
            }
        }
        ids.seal();
        let events = self.events();
        let alike = |event: &Event| {
            let first = &events[0].layout;
            let of = |layout: &crate::perf::layout::Layout| (layout.sample_type, layout.read_format, layout.trailer);
            of(&event.layout) == of(first)
        };
        Ok(Recording {
            mode,
            version: magic.version,
            order: magic.order,
            wrapping: None,
            finished,
            cut: self.cut,
            id_at: events.iter().find_map(|event| event.layout.id),
            uniform: events.iter().all(alike),
            by_common_type,
            events,
            ids,
            features: self.features,
            parts,
            notes: self.notes,
        })
    }

    fn events(&mut self) -> Vec<Event> {
        let formats = std::mem::take(&mut self.features.tracing.formats).into_iter();
        let formats: FxHashMap<u64, Arc<Format>> = formats.map(|format| (format.id, Arc::new(format))).collect();
        let described = self.features.event_desc.iter();
        let described_by_id: FxHashMap<u64, &String> =
            described.flat_map(|(name, ids)| ids.iter().map(move |&id| (id, name))).collect();
        let mut of_config: FxHashMap<u64, usize> = FxHashMap::default();
        for (attr, _) in &self.attrs {
            *of_config.entry(attr.config).or_default() += 1;
        }
        let filters = self.features.filters();
        let mut events = Vec::new();
        for (index, (attr, own_ids)) in self.attrs.iter().enumerate() {
            let format = formats.get(&attr.config).filter(|_| attr.kind == TYPE_TRACEPOINT).cloned();
            let described = own_ids.first().and_then(|id| described_by_id.get(id).copied());
            let described = described.or_else(|| self.features.event_desc.get(index).map(|found| &found.0));
            let updated = || self.names.iter().find(|(id, _)| own_ids.contains(id)).map(|found| &found.1);
            // The oldest lists say nothing of an event's type: two of one number are not told apart.
            let listed = || self.names_by_config.get(&attr.config).filter(|_| of_config[&attr.config] == 1);
            let name = format.as_ref().map(|format| format.full_name());
            let name = name.or_else(|| described.or_else(updated).or_else(listed).cloned());
            let mut name = name.unwrap_or_else(|| naming::name(attr));
            let filter = filters.iter().find(|(event, _)| fits(event, &name)).map(|found| found.1.clone());
            let guest = own_ids.first().and_then(|id| self.guests.get(id).copied());
            if let Some(pid) = guest {
                name = format!("{name} (guest {pid})");
            }
            events.push(Event { name, layout: attr.layout(), attr: attr.clone(), format, filter, guest });
        }
        events
    }
}

/// Types of the records in which ChromeOS' perf 3.3 put features at the start of a stream, which
/// mainline later gave to others.
const OLD_FEATURES: u32 = 69;
const OLD_FEATURE_BASE: u32 = 66;
const LAST_OLD_FEATURE: u32 = 81;

/// They stand first, one after the other; mainline begins with an attr or with HEADER_FEATURE.
fn is_old_feature(kind: u32, start: u64, offset: u64) -> bool {
    offset == start
        && (OLD_FEATURES..=LAST_OLD_FEATURE).contains(&kind)
        && (start > PIPE_HEADER || kind != kind::HEADER_FEATURE)
}
