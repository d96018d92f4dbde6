//! Version 7: sections anywhere in the file, found through options.

use std::borrow::Cow;
use std::fs::File;

use super::headers::{CpuData, Headers, Instance, Part};
use super::id;
use crate::error::{bad, Result};
use crate::kinds::Kind;
use crate::ring::Packed;
use crate::tracing::Cursor;
use crate::visit::MAX_CPUS;
use crate::wrapped::most;

pub(crate) const FLAG_COMPRESSED: u16 = 1;
/// Options sections that are followed; more than that go round in circles.
const MAX_SECTIONS: usize = 1 << 10;
/// Bytes of a section once unpacked.
const MAX_UNPACKED: usize = 256 << 20;

/// How a file says that it is compressed.
pub fn packing(name: &str) -> Result<Packed> {
    match name {
        "zstd" => Ok(Packed::Zstd),
        "zlib" => Ok(Packed::Zlib),
        _ => Err(bad!(Unsupported, "compressed with '{name}'; zstd and zlib are read")),
    }
}

/// What a section holds.
pub(crate) struct Section {
    pub body: Vec<u8>,
    /// Whether it does so in packed bytes.
    pub packed: bool,
}

/// Numbers of options, and what each says.
type Options = Vec<(u16, Vec<u8>)>;

impl Headers {
    /// Reads on behind the magic.
    pub(super) fn read_version_7(&mut self, file: &File, cursor: &mut Cursor<'_>) -> Result<()> {
        self.version = 7;
        let length = self.length;
        let start = (cursor.string(), cursor.string());
        self.first_at = cursor.at();
        let ((Some(compression), Some(_)), Some(next)) = (start, cursor.u64()) else {
            let at = cursor.at();
            return Err(bad!(CutShort(at), "trace.dat cut short at byte {at}: the file has {length}"));
        };
        self.compression = compression;
        let (options, whole) = self.list_options(file, next)?;
        if !whole {
            self.cut = true;
            self.notes.push(format!("file cut short: it ends at byte {length}, within its options"));
        }
        if options.is_empty() && !whole {
            return Err(bad!(CutShort(length), "trace.dat cut short: it ends at byte {length}, within its options"));
        }
        if options.is_empty() {
            return Err(bad!(Damaged(self.first_at), "trace.dat has no options: it does not say where its events are"));
        }
        // Formats need the size of a long, buffers the formats' page: their order in the file is free.
        let sections = options.iter().map(|(option, data)| self.metadata_section(file, *option, data));
        let sections: Vec<Option<Part>> = sections.collect();
        for ((option, data), section) in options.into_iter().zip(sections) {
            let part = match option {
                id::BUFFER | id::BUFFER_TEXT => self.buffer(file, option, &data),
                id::HEADER_INFO..=id::CMDLINES => section,
                _ => {
                    self.options.read(option, &data, self.order);
                    Some(Part::Option(option, data))
                }
            };
            self.parts.extend(part);
        }
        self.options.instances.clear();
        Ok(())
    }

    /// All options, from the section at `next` on, and whether they end as they should.
    fn list_options(&mut self, file: &File, mut next: u64) -> Result<(Options, bool)> {
        let mut whole = true;
        let mut options = Vec::new();
        for _ in 0..MAX_SECTIONS {
            if next == 0 {
                break;
            }
            let at = next;
            let section = self.section(file, at, id::OPTIONS)?;
            self.packed |= section.packed;
            let mut cursor = Cursor::new(&section.body, self.order);
            (next, whole) = (0, false);
            while let Some((option, data)) = option(&mut cursor) {
                if option == id::OPTIONS {
                    whole = true;
                    next = self.order.u64(&data, 0).unwrap_or(0);
                    break;
                }
                options.push((option, data.into_owned()));
            }
        }
        Ok((options, whole))
    }

    fn metadata_section(&mut self, file: &File, option: u16, data: &[u8]) -> Option<Part> {
        if !(id::HEADER_INFO..=id::CMDLINES).contains(&option) {
            return None;
        }
        let at = self.order.u64(data, 0)?;
        let section = match self.section(file, at, option) {
            Ok(section) => section,
            Err(error) => {
                // Formats of trace_printk are not read: nothing is lost with them.
                self.notes.extend((option != id::PRINTK).then(|| error.to_string()));
                return Some(Part::Section(option, at, Vec::new()));
            }
        };
        let mut cursor = Cursor::new(&section.body, self.order);
        let (tracing, mut kind) = (&mut self.tracing, Kind::Keep);
        let whole = match option {
            id::HEADER_INFO => tracing.header_info(&mut cursor),
            id::FTRACE_EVENTS => tracing.ftrace_formats(&mut cursor),
            id::EVENT_FORMATS => tracing.event_formats(&mut cursor),
            id::KALLSYMS => {
                kind = Kind::Symbols;
                tracing.kallsyms(&mut cursor)
            }
            id::PRINTK => tracing.printk(&mut cursor).or(Some(())),
            _ => tracing.saved_cmdlines(&mut cursor),
        };
        tracing.hold(&cursor, kind);
        let spans = std::mem::take(&mut tracing.spans);
        if whole.is_none() {
            self.notes.push(format!("section {option} at byte {at} is cut short: what it holds up to there is kept"));
        }
        Some(Part::Section(option, at, spans))
    }

    /// What a section holds, unpacked.
    pub(crate) fn section(&self, file: &File, at: u64, wanted: u16) -> Result<Section> {
        let mut cursor = Cursor::of_file(file, at, self.order);
        let damaged = |why: &str| bad!(Damaged(at), "section {wanted} at byte {at} is damaged: {why}");
        let (number, flags, size) = self.section_header(&mut cursor).ok_or_else(|| {
            let what = if wanted == id::OPTIONS { "its options".to_owned() } else { format!("section {wanted}") };
            let length = self.length;
            bad!(CutShort(length), "trace.dat cut short: {what} should be at byte {at}, but the file ends at {length}")
        })?;
        if number != wanted {
            return Err(damaged(&format!("there is section {number}")));
        }
        let begin = cursor.at();
        if flags & FLAG_COMPRESSED == 0 {
            let left = self.length.saturating_sub(begin);
            let size = usize::try_from(size.min(left)).unwrap_or(usize::MAX);
            let bytes = cursor.take(size).ok_or_else(|| damaged("it is too large"))?;
            return Ok(Section { body: bytes.into_owned(), packed: false });
        }
        let sizes = cursor.u32().zip(cursor.u32()).ok_or_else(|| damaged("it is cut short"))?;
        let (packed, unpacked) = (sizes.0 as usize, sizes.1 as usize);
        if unpacked > MAX_UNPACKED || unpacked as u64 > most(packed as u64) {
            return Err(damaged("it claims to expand too far"));
        }
        let bytes: Cow<'_, [u8]> = cursor.take(packed).ok_or_else(|| damaged("it is cut short"))?;
        let unpacked = packing(&self.compression)?.unpack(&bytes, unpacked);
        Ok(Section { body: unpacked.map_err(|error| damaged(&error.to_string()))?, packed: true })
    }

    fn section_header(&self, cursor: &mut Cursor<'_>) -> Option<(u16, u16, u64)> {
        let (number, flags) = (cursor.u16()?, cursor.u16()?);
        cursor.u32()?; // what it is called
        Some((number, flags, cursor.u64()?))
    }

    fn buffer(&mut self, file: &File, option: u16, data: &[u8]) -> Option<Part> {
        match self.read_buffer(file, option, data) {
            Some(instance) => self.instances.push(instance),
            None => {
                self.notes.push("a buffer's description is damaged: left out".to_owned());
                return None;
            }
        }
        Some(Part::Buffer(self.instances.len() - 1))
    }

    fn read_buffer(&self, file: &File, option: u16, data: &[u8]) -> Option<Instance> {
        let mut cursor = Cursor::new(data, self.order);
        let at = cursor.u64()?;
        let mut instance = Instance { name: cursor.string()?, clock: cursor.string(), ..Default::default() };
        let mut section = Cursor::of_file(file, at, self.order);
        let header = self.section_header(&mut section);
        instance.compressed = header.is_some_and(|(_, flags, _)| flags & FLAG_COMPRESSED != 0);
        if option == id::BUFFER_TEXT {
            let size = header.map_or(0, |header| header.2);
            instance.text = Some((section.at(), section.at().saturating_add(size).min(self.length)));
            return Some(instance);
        }
        instance.page_size = cursor.u32()? as usize;
        for _ in 0..cursor.u32().filter(|&count| count <= MAX_CPUS)? {
            let (cpu, start, size) = (cursor.u32()?, cursor.u64()?, cursor.u64()?);
            if size > 0 && cpu < MAX_CPUS {
                instance.cpus.push(CpuData { cpu, start, end: start.saturating_add(size) });
            }
        }
        instance.cpus.sort_by_key(|data| data.cpu);
        instance.cpus.dedup_by_key(|data| data.cpu);
        Some(instance)
    }
}

/// The next option: its number and data.
fn option<'a>(cursor: &mut Cursor<'a>) -> Option<(u16, Cow<'a, [u8]>)> {
    let number = cursor.u16()?;
    let size = cursor.u32()? as usize;
    Some((number, cursor.take(size)?))
}
