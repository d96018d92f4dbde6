//! What trace-cmd, and perf like it, record about a machine's tracing: every event's `format` file, the layout of
//! ring-buffer pages, symbols and task names. A trace.dat of version 6 begins with it, one of version 7 has it in
//! sections, a perf.data in its TRACING_DATA.

use std::borrow::Cow;
use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::bytes::{slice, text, until_nul, Order};
use crate::format::Format;
use crate::input::read_at;
use crate::kinds::{Kind, Span};
use crate::recording::Event;

/// First bytes of a trace.dat, and of perf's section.
pub const MAGIC: &[u8] = b"\x17\x08\x44tracing";
/// Nothing larger than this is read in one piece.
const MAX: usize = 256 << 20;

/// Bytes read front to back.
#[derive(Debug)]
pub struct Cursor<'a> {
    source: Source<'a>,
    at: u64,
    pub order: Order,
}

#[derive(Debug)]
enum Source<'a> {
    Bytes(&'a [u8]),
    File(&'a File),
}

impl<'a> Cursor<'a> {
    /// Reads bytes in memory.
    pub fn new(bytes: &'a [u8], order: Order) -> Cursor<'a> {
        Cursor { source: Source::Bytes(bytes), at: 0, order }
    }

    /// Reads a file, from `at` on.
    pub fn of_file(file: &'a File, at: u64, order: Order) -> Cursor<'a> {
        Cursor { source: Source::File(file), at, order }
    }

    pub fn at(&self) -> u64 {
        self.at
    }

    /// The next `size` bytes; `None` past the end.
    pub fn take(&mut self, size: usize) -> Option<Cow<'a, [u8]>> {
        let taken = match self.source {
            Source::Bytes(bytes) => Cow::Borrowed(slice(bytes, usize::try_from(self.at).ok()?, size)?),
            Source::File(_) if size > MAX => return None,
            Source::File(file) => Cow::Owned(read_at(file, self.at, size).ok()??),
        };
        self.at += size as u64;
        Some(taken)
    }

    /// Text up to a NUL, which is skipped.
    pub fn string(&mut self) -> Option<String> {
        const LONGEST: usize = 4096;
        let ahead = self.peek(LONGEST);
        let end = ahead.iter().position(|&byte| byte == 0)?;
        let found = text(&ahead[..end]);
        self.at += end as u64 + 1;
        Some(found)
    }

    /// Up to `size` bytes from here, without consuming them.
    fn peek(&self, size: usize) -> Cow<'a, [u8]> {
        match self.source {
            Source::Bytes(bytes) => {
                let rest = usize::try_from(self.at).ok().and_then(|at| bytes.get(at..)).unwrap_or_default();
                Cow::Borrowed(&rest[..rest.len().min(size)])
            }
            Source::File(file) => {
                let mut ahead = vec![0; size];
                let read = file.read_at(&mut ahead, self.at).unwrap_or(0);
                ahead.truncate(read);
                Cow::Owned(ahead)
            }
        }
    }

    pub fn u16(&mut self) -> Option<u16> {
        let order = self.order;
        self.take(2).and_then(|bytes| order.u16(&bytes, 0))
    }

    pub fn u32(&mut self) -> Option<u32> {
        let order = self.order;
        self.take(4).and_then(|bytes| order.u32(&bytes, 0))
    }

    pub fn u64(&mut self) -> Option<u64> {
        let order = self.order;
        self.take(8).and_then(|bytes| order.u64(&bytes, 0))
    }

    fn size(&mut self) -> Option<usize> {
        self.u64().and_then(|size| usize::try_from(size).ok())
    }
}

/// What was recorded, as far as it is intact, and what was wrong with the rest.
#[derive(Debug, Default)]
pub struct Tracing {
    pub formats: Vec<Format>,
    /// The kernel's `events/header_page`.
    pub header_page: String,
    /// Size of a `long` on the recorder's machine, in bytes.
    pub long_bytes: Option<u8>,
    /// Size of its memory pages, in bytes.
    pub page_size: u32,
    /// `/proc/kallsyms`, which perf recorded until 2015.
    pub kallsyms: Option<String>,
    /// Task names by pid, as the kernel had them at the end.
    pub cmdlines: Vec<(i32, String)>,
    /// Kinds of content in the bytes read, from the first byte on and without gaps.
    pub spans: Vec<Span>,
    /// Why something could not be read.
    pub problem: Option<String>,
}

impl Tracing {
    /// Takes the formats as one event each.
    pub fn events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.formats).into_iter().map(Event::of_format).collect()
    }

    /// Reads perf's section. It never fails as a whole.
    pub fn of_perf(bytes: &[u8]) -> Tracing {
        let mut found = Tracing::default();
        let mut cursor = Cursor::new(bytes, Order::Little);
        match found.start(&mut cursor).and_then(|_| found.metadata(&mut cursor)) {
            // Symbols and task names follow. Old recordings lack them, and the formats are of use without them.
            Some(()) => drop(found.behind_formats(&mut cursor)),
            None => found.problem = Some("the recorded event formats (TRACING_DATA) are cut short".to_owned()),
        }
        if found.spans.is_empty() {
            found.hold(&cursor, Kind::Symbols);
        }
        found
    }

    /// Symbols, trace_printk texts and task names.
    pub fn behind_formats(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        self.kallsyms(cursor)?;
        self.printk(cursor)?;
        self.saved_cmdlines(cursor)
    }

    /// Notes the kind of content from the last noted position to here.
    pub fn hold(&mut self, cursor: &Cursor<'_>, kind: Kind) {
        let from = self.spans.last().map_or(0, |(range, _)| range.end);
        self.spans.push((from..cursor.at(), kind));
    }

    /// Reads magic, version, byte order (which `cursor` then uses), word size and page size; returns the version.
    pub fn start(&mut self, cursor: &mut Cursor<'_>) -> Option<String> {
        if *cursor.take(MAGIC.len())? != *MAGIC {
            return None;
        }
        let version = cursor.string()?;
        if cursor.take(1)?[0] != 0 {
            cursor.order = Order::Big;
        }
        self.long_bytes = Some(cursor.take(1)?[0]).filter(|size| matches!(size, 4 | 8));
        self.page_size = cursor.u32()?;
        Some(version)
    }

    /// Reads the page layout and all formats, in sequence.
    pub fn metadata(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        self.header_info(cursor)?;
        self.ftrace_formats(cursor)?;
        self.event_formats(cursor)
    }

    /// Reads the layout of ring-buffer pages.
    pub fn header_info(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        cursor.string()?; // "header_page"
        let size = cursor.size()?;
        self.header_page = text(&cursor.take(size)?);
        cursor.string()?; // "header_event"
        let size = cursor.size()?;
        cursor.take(size).map(|_| ())
    }

    /// Reads the formats of ftrace's own tracers.
    pub fn ftrace_formats(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        for _ in 0..cursor.u32()? {
            let size = cursor.size()?;
            let format = cursor.take(size)?;
            self.add("ftrace", &format);
        }
        Some(())
    }

    /// Reads the formats of events, by system.
    pub fn event_formats(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        for _ in 0..cursor.u32()? {
            let system = cursor.string()?;
            for _ in 0..cursor.u32()? {
                let size = cursor.size()?;
                let format = cursor.take(size)?;
                self.add(&system, &format);
            }
        }
        Some(())
    }

    pub fn kallsyms(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        let size = cursor.u32()? as usize;
        self.kallsyms = Some(text(&cursor.take(size)?)).filter(|found| !found.is_empty());
        Some(())
    }

    /// Skips the formats of trace_printk.
    pub fn printk(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        let size = cursor.u32()? as usize;
        cursor.take(size).map(|_| ())
    }

    pub fn saved_cmdlines(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        let size = cursor.size()?;
        self.hold(cursor, Kind::Symbols);
        self.add_cmdlines(&cursor.take(size)?);
        self.hold(cursor, Kind::TaskLines);
        Some(())
    }

    /// Adds task names from lines of pid and name.
    pub fn add_cmdlines(&mut self, bytes: &[u8]) {
        let of_line = |line: &[u8]| {
            let line = String::from_utf8_lossy(until_nul(line)).into_owned();
            let (pid, comm) = line.trim_start().split_once(' ')?;
            Some((pid.parse().ok()?, comm.to_owned()))
        };
        self.cmdlines.extend(bytes.split(|&byte| byte == b'\n').filter_map(of_line));
    }

    /// Adds one `format` file.
    pub fn add(&mut self, system: &str, bytes: &[u8]) {
        match Format::parse(system, &text(bytes), self.long_bytes.unwrap_or(8).into()) {
            Ok(format) => self.formats.push(format),
            Err(error) => self.problem = Some(error),
        }
    }
}
