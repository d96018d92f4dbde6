//! Captures as text: what `perf script`, `trace-cmd report` and ftrace's `trace` and `trace_pipe` print.
//!
//! ```text
//!   file -> lines -> head (who, where, when, which) -> row (the event's own fields) -> payload
//!                                 \_ survey: one pass at the opening, which says what all have
//! ```
//! Known tracepoints get the fields and types that the kernel gives them, in formats built here, so
//! that tables and ledger read them as they read any recording's. What a text does not show is absent.

pub(crate) mod blanks;
mod buffers;
mod chains;
mod comms;
mod context;
pub mod encoding;
mod escapes;
mod found;
mod frame;
mod graph;
pub(crate) mod head;
mod irq;
mod known;
mod latency;
pub(crate) mod line;
pub(crate) mod lines;
mod notes;
mod order;
mod passed;
mod preamble;
pub(crate) mod prefix;
mod row;
mod scan;
mod sched;
mod shapes;
mod stamp;
mod survey;
mod switch;
mod tracepoints;
mod walk;
mod who;

use std::fs::File;
use std::sync::Arc;

use arrow_array::RecordBatch;
use rustc_hash::FxHashMap;

use crate::bytes::Order;
use crate::error::{bad, Result};
use crate::host::Session;
use crate::host::{Buffer, Host};
use crate::perf::command::{filters, fits, follows_tasks};
use crate::progress::Progress;
use crate::recording::{Event, Rate, Recording, Source, Unit, TYPE_TRACEPOINT};
use crate::visit::{Feed, Tally, Visitor};
use buffers::Share;
use context::Columns;
pub use encoding::LOOKED_AT;
use found::Found;
use head::Style;
use known::{Common, Known, Role};
use prefix::Prefix;
use survey::Survey;

/// A text, opened: events and columns are known; what the lines say has not been kept.
#[derive(Debug)]
pub struct Text {
    /// `perf script`, `trace-cmd report` or `ftrace`: who wrote most of its lines.
    pub writer: &'static str,
    /// Every event, in the order of their first lines.
    pub events: Arc<Vec<Event>>,
    /// What its headers say.
    pub host: Host,
    /// The clock, where a header names it.
    pub clock: Option<String>,
    /// What the last digit of a time stands for; `None` for a clock that counts no time.
    pub resolution_ns: Option<u32>,
    /// What is special about it, for people.
    pub notes: Vec<String>,
    /// The buffer that is read, empty for the top one; and every buffer, where lines name any.
    pub buffer: String,
    /// See `buffer`.
    pub buffers: Vec<Buffer>,
    file: Arc<File>,
    from: u64,
    end: u64,
    /// What stands before each line.
    prefix: Prefix,
    readings: Vec<Reading>,
    spellings: FxHashMap<Box<[u8]>, u32>,
    common: Common,
    /// Whether sched_switch tells who runs.
    has_switches: bool,
    has_cpu: bool,
    has_unit: bool,
    columns: Columns,
    /// Whether no line is of an earlier time than one before it.
    in_order: bool,
}

/// How an event's lines become payloads.
#[derive(Debug)]
struct Reading {
    known: Known,
    /// Optional fields that a line must have, because its event's others have them.
    needs: u8,
}

/// Kind of events that are no tracepoints: the text does not say it.
const OTHER_KIND: u32 = u32::MAX;
/// Whose texts have samples.
pub const PERF_SCRIPT: &str = "perf script";

/// Whether a file that starts like this may be read as text: it is one, or it has an event's line.
pub fn looks_like(start: &[u8]) -> bool {
    let start = &start[..start.len().min(LOOKED_AT)];
    let control = start.iter().filter(|&&byte| byte < b' ' && !byte.is_ascii_whitespace() && byte != 0x1b);
    let plain = !start.contains(&0) && control.count() * 64 <= start.len();
    let mut blanks = blanks::Blanks::of(start);
    let mut is_event =
        |line| matches!(line::Line::of(Prefix::default().strip(line, &mut blanks)), line::Line::Event(_));
    (!start.is_empty() && plain) || lines::each(start).any(&mut is_event)
}

impl Text {
    /// Reads a file once, to learn what is in it. Without a name of a buffer, it is the top one, or
    /// the first that there is.
    pub fn open(file: Arc<File>, buffer: Option<&str>) -> Result<Text> {
        let length = file.metadata()?.len();
        let from = encoding::mark(&file)?;
        Self::within(file, from, length, buffer)
    }

    /// The same for the bytes `from..end` of a file.
    pub fn within(file: Arc<File>, from: u64, end: u64, buffer: Option<&str>) -> Result<Text> {
        let prefix = Prefix::find(&file, from, end)?;
        let mut survey = Survey::of(&file, (from, end), &prefix, buffer.unwrap_or_default())?;
        if let (0, None, Some(other)) = (survey.lines, buffer, survey.shares.get(1)) {
            let other = other.name.clone();
            survey = Survey::of(&file, (from, end), &prefix, &other)?;
        }
        if survey.lines == 0 {
            return Err(bad!(NotACapture, "{}", notes::no_event(&survey)));
        }
        let common = survey.common();
        let has_cpu = survey.most(survey.with_cpu);
        let has_unit = survey.most(survey.with_unit);
        let filters = survey.preamble.host.cmdline.as_deref().map(filters).unwrap_or_default();
        let (mut events, mut readings) = (Vec::new(), Vec::new());
        for (number, found) in survey.events.values().enumerate() {
            let known = found.reading();
            let is_tracepoint = found.is_tracepoint(survey.style());
            let attr = survey.preamble.event(&found.name);
            let print_fmt = survey.print_fmt(&known);
            // A text has no IDs of events: their place is the ID.
            let format = known.format(&found.name, number as u64 + 1, found.needs(), common, print_fmt);
            readings.push(Reading { known, needs: found.needs() });
            events.push(Event {
                kind: if is_tracepoint { TYPE_TRACEPOINT } else { OTHER_KIND },
                rate: rate(found, &survey, is_tracepoint),
                has_cpu,
                follows_command: attr.is_some_and(|attr| attr.on_exec),
                filter: filters.iter().find(|(event, _)| fits(event, &found.name)).map(|found| found.1.clone()),
                name: found.name.clone(),
                ..Event::of_format(format)
            });
        }
        Ok(Text {
            writer: match (survey.style(), survey.preamble.columns.of_trace_cmd) {
                (Style::Perf, _) => PERF_SCRIPT,
                (_, true) => "trace-cmd report",
                (_, false) => "ftrace",
            },
            events: Arc::new(events),
            notes: prefix.note().into_iter().chain(notes::of(&survey)).collect(),
            clock: survey.preamble.clock.take(),
            resolution_ns: has_unit.then_some(survey.finest_ns),
            host: std::mem::take(&mut survey.preamble.host),
            buffer: survey.shares[0].name.clone(),
            buffers: buffers(&survey.shares),
            has_switches: readings.iter().any(|reading| reading.known.role == Role::Switch),
            file,
            from,
            end,
            prefix,
            readings,
            spellings: survey.spellings,
            common,
            has_cpu,
            has_unit,
            columns: survey.preamble.columns,
            in_order: !survey.falls,
        })
    }

    /// The event of this spelling: its number, and how it is read.
    #[inline(always)]
    fn reading(&self, spelled: &[u8]) -> Option<(u32, &Reading)> {
        let &number = self.spellings.get(spelled)?;
        Some((number, self.readings.get(number as usize)?))
    }
}

fn buffers(shares: &[Share]) -> Vec<Buffer> {
    let described = |share: &Share| {
        let (name, clock) = (share.name.clone(), "unknown".to_owned());
        Buffer { name, cpus: share.cpus(), bytes: share.bytes, clock }
    };
    let mut buffers: Vec<Buffer> = shares.iter().filter(|share| share.lines > 0).map(described).collect();
    buffers.sort_by(|one, other| one.name.cmp(&other.name));
    if buffers.iter().all(|buffer| buffer.name.is_empty()) {
        buffers.clear();
    }
    buffers
}

/// How often an event was recorded: a header tells, or the periods do; otherwise tracepoints were recorded
/// each time, and of others it is not known.
fn rate(found: &Found, survey: &Survey, is_tracepoint: bool) -> Rate {
    let (count, least, most) = found.periods;
    match survey.preamble.event(&found.name) {
        Some(attr) if attr.is_frequency => Rate::Frequency(attr.period),
        Some(attr) => Rate::Period(attr.period),
        None if count == found.lines && least == most => Rate::Period(least),
        None if is_tracepoint && count < found.lines => Rate::Period(1),
        None => Rate::Frequency(0),
    }
}

impl Source for Text {
    fn walk(&self, visitor: &mut dyn Visitor) -> Result<Tally> {
        self.walk_lines(&mut Feed::new(visitor))
    }

    fn samples(&self, name: &str, limit: Option<usize>, progress: Progress<'_>) -> Result<Option<RecordBatch>> {
        (self.writer == PERF_SCRIPT).then(|| self.chains(name, limit, progress)).transpose()
    }
}

impl From<Text> for Recording {
    fn from(mut text: Text) -> Recording {
        Recording {
            format: "text",
            mode: text.writer,
            version: 0,
            unit: if text.resolution_ns.is_some() { Unit::Nanoseconds } else { Unit::Order },
            resolution_ns: text.resolution_ns.map_or(1, u64::from),
            buffers: std::mem::take(&mut text.buffers),
            buffer: text.buffer.clone(),
            session: Session::default(),
            order: Order::Little,
            compressed: false,
            wrapping: None,
            finished: true,
            cut: false,
            events: Arc::clone(&text.events),
            clock: text.clock.take().unwrap_or_else(|| "unknown".to_owned()),
            follows_tasks: text.host.cmdline.as_deref().is_some_and(follows_tasks),
            host: std::mem::take(&mut text.host),
            notes: std::mem::take(&mut text.notes),
            files: Vec::new(),
            source: Box::new(text),
        }
    }
}
