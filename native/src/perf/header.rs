//! The fixed header of a perf.data file and its feature sections (`tools/perf/util/header.h`).

use crate::bytes::{slice, text, Order};
use crate::perf::attr::Attr;
use crate::perf::build_ids::{self, BuildIds};
use crate::perf::{command, feature};
use crate::tracing::Tracing;

/// What a file's first 16 bytes say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Magic {
    /// 1 before perf 2.6.34, 2 since.
    pub version: u8,
    /// Byte order of the recorder.
    pub order: Order,
    /// Bytes of the header that begins with the magic.
    pub header: u64,
}

/// Header of a stream: the magic and its own size.
pub const PIPE_HEADER: u64 = 16;
/// Header of a file before perf 2.6.32, which had no features.
pub const SHORT_HEADER: u64 = 72;
/// Header of a file since.
pub const FILE_HEADER: u64 = 104;

impl Magic {
    /// Reads them; `None` where they are no perf.data's.
    pub fn parse(start: &[u8]) -> Option<Magic> {
        let size = |order: Order| order.u64(start, 8);
        let (version, order) = match start.get(..8)? {
            b"PERFILE2" => (2, Order::Little),
            b"2ELIFREP" => (2, Order::Big),
            // This magic is text, the same in either order; but a header is small in only one of them.
            b"PERFFILE" if size(Order::Little)? < 1 << 32 => (1, Order::Little),
            b"PERFFILE" => (1, Order::Big),
            _ => return None,
        };
        Some(Magic { version, order, header: size(order)? })
    }
}

/// Offset and size of a part of the file.
#[derive(Debug, Clone, Copy, Default)]
pub struct Section {
    /// Bytes from the start of the file.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
}

impl Section {
    /// The section described at `at`.
    pub fn parse(bytes: &[u8], at: usize, order: Order) -> Option<Section> {
        Some(Section { offset: order.u64(bytes, at)?, size: order.u64(bytes, at + 8)? })
    }

    /// Where the section ends.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.size)
    }
}

/// The header of a seekable file.
#[derive(Debug, Clone)]
pub struct FileHeader {
    /// Bytes per entry of the attr table, its id section included.
    pub attr_size: u64,
    /// The attr table.
    pub attrs: Section,
    /// The records. Size 0: the recording was never finished.
    pub data: Section,
    /// Names by `config`, before features had them.
    pub event_types: Section,
    /// Numbers of the features whose sections follow the data.
    pub features: Vec<usize>,
}

impl FileHeader {
    /// Parses a header with its magic; one of 72 bytes has no features.
    pub fn parse(bytes: &[u8], order: Order) -> Option<FileHeader> {
        Some(FileHeader {
            attr_size: order.u64(bytes, 16)?,
            attrs: Section::parse(bytes, 24, order)?,
            data: Section::parse(bytes, 40, order)?,
            event_types: Section::parse(bytes, 56, order)?,
            features: slice(bytes, 72, 32).map_or(Vec::new(), |words| feature_bits(words, order)),
        })
    }
}

/// Bits are numbered through the recorder's `long`s, whose size only shows in where the host's
/// name, which every recorder since has noted, would be.
fn feature_bits(words: &[u8], order: Order) -> Vec<usize> {
    let numbers = |long: usize| -> Vec<usize> {
        let bit = |number: &usize| {
            let (in_long, byte) = (number / (8 * long) * long, number / 8 % long);
            let byte = if order == Order::Big { long - 1 - byte } else { byte };
            words[in_long + byte] >> (number % 8) & 1 == 1
        };
        (0..8 * words.len()).filter(bit).collect()
    };
    let of_64 = numbers(8);
    if of_64.contains(&feature::HOSTNAME) {
        return of_64;
    }
    let of_32 = numbers(4);
    if of_32.contains(&feature::HOSTNAME) {
        return of_32;
    }
    of_64
}

/// What the features say. Everything is optional: recorders differ.
#[derive(Debug, Default)]
pub struct Features {
    /// Name of the recorded host.
    pub hostname: Option<String>,
    /// `uname -r`.
    pub os_release: Option<String>,
    /// perf's version.
    pub version: Option<String>,
    /// `uname -m`.
    pub arch: Option<String>,
    /// CPUs the host could have, CPUs online.
    pub nr_cpus: Option<(u32, u32)>,
    /// The recorder's command line.
    pub cmdline: Option<Vec<String>>,
    /// Names and ids of the events.
    pub event_desc: Vec<(String, Vec<u64>)>,
    /// Formats of the recorded tracepoints.
    pub tracing: Tracing,
    /// Build ids of files that were mapped.
    pub build_ids: BuildIds,
    /// Whether records were compressed.
    pub compressed: bool,
}

impl Features {
    /// Takes over one feature's section. A damaged one leaves its value unknown.
    pub fn read(&mut self, feature: usize, bytes: &[u8], order: Order) {
        let string = || string_at(bytes, 0, order).map(|found| found.0);
        match feature {
            feature::TRACING_DATA => self.tracing = Tracing::of_perf(bytes),
            feature::BUILD_ID => build_ids::section(bytes, order, &mut self.build_ids),
            feature::HOSTNAME => self.hostname = string(),
            feature::OSRELEASE => self.os_release = string(),
            feature::VERSION => self.version = string(),
            feature::ARCH => self.arch = string(),
            feature::NRCPUS => self.nr_cpus = order.u32(bytes, 0).zip(order.u32(bytes, 4)),
            feature::CMDLINE => self.cmdline = strings(bytes, order),
            feature::EVENT_DESC => self.event_desc = event_desc(bytes, order).unwrap_or_default(),
            // The version, then the method. perf stat writes this part too, with method 0.
            feature::COMPRESSED => self.compressed = order.u32(bytes, 4).is_some_and(|method| method != 0),
            _ => {}
        }
    }

    /// The filter of each event that the recorder's command line set one for.
    pub fn filters(&self) -> Vec<(String, String)> {
        command::filters(self.cmdline.as_deref().unwrap_or_default())
    }

    /// Whether the recorder was told to follow tasks.
    pub fn follows_tasks(&self) -> bool {
        command::follows_tasks(self.cmdline.as_deref().unwrap_or_default())
    }
}

/// A length-prefixed string and where the next thing starts.
pub(super) fn string_at(bytes: &[u8], at: usize, order: Order) -> Option<(String, usize)> {
    let size = order.u32(bytes, at)? as usize;
    Some((text(slice(bytes, at + 4, size)?), at + 4 + size))
}

fn strings(bytes: &[u8], order: Order) -> Option<Vec<String>> {
    let count = order.u32(bytes, 0)?;
    let mut at = 4;
    let mut strings = Vec::new();
    for _ in 0..count {
        let (string, next) = string_at(bytes, at, order)?;
        strings.push(string);
        at = next;
    }
    Some(strings)
}

fn event_desc(bytes: &[u8], order: Order) -> Option<Vec<(String, Vec<u64>)>> {
    let (count, attr_size) = (order.u32(bytes, 0)?, order.u32(bytes, 4)? as usize);
    let mut at = 8;
    let mut events = Vec::new();
    for _ in 0..count {
        Attr::parse(slice(bytes, at, attr_size)?, order)?;
        at += attr_size;
        let id_count = order.u32(bytes, at)? as usize;
        let (name, next) = string_at(bytes, at + 4, order)?;
        let ids = slice(bytes, next, id_count.checked_mul(8)?)?;
        at = next + ids.len();
        events.push((name, ids.chunks_exact(8).filter_map(|id| order.u64(id, 0)).collect()));
    }
    Some(events)
}
