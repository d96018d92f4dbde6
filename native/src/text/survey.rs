//! The first pass over a text: which events there are, and which columns its lines have. Both are
//! known only at its end, and every later pass needs them.

use std::fs::File;
use std::sync::Arc;

use indexmap::IndexMap;
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::blanks::Blanks;
use super::buffers::{Selection, Share};
use super::found::Found;
use super::head::{Head, Style};
use super::irq;
use super::known::{Common, Known, Role, OPTIONAL};
use super::line::Line;
use super::lines::{each, Blocks, LONGEST};
use super::passed::Passed;
use super::preamble::Preamble;
use super::prefix::Prefix;
use super::switch;
use super::tracepoints::full_name;
use crate::error::Result;
use crate::narrow::Narrow;

/// More events than kernels have: what has more is no capture, and each costs a table.
const MAX_EVENTS: usize = 1 << 14;
/// More buffers than anybody makes.
const MAX_BUFFERS: usize = 256;
/// Names of softirq vectors are looked for up to here.
const VECTORS: usize = 16;

/// What a text holds.
#[derive(Debug, Default)]
pub struct Survey {
    pub events: IndexMap<String, Found, FxBuildHasher>,
    /// Events by the way lines spell them.
    pub spellings: FxHashMap<Box<[u8]>, u32>,
    pub preamble: Preamble,
    /// Lines by style.
    pub styles: [u64; 3],
    /// Event lines, and those of them with a thread id, a CPU, flags and preemption
    /// depth of the context, a time with a unit.
    pub lines: u64,
    pub with_tid: u64,
    pub with_cpu: u64,
    pub with_flags: u64,
    pub with_depth: u64,
    pub with_unit: u64,
    /// The smallest unit of a time.
    pub finest_ns: u32,
    /// Lines in which the event's name is followed by several spaces, as trace-cmd pads it.
    padded: u64,
    /// Lines of any kind, of call chains, and such as should not be there, with the first of those.
    pub lines_in_all: u64,
    pub frames: u64,
    pub others: u64,
    pub first_other: Option<(u64, String)>,
    /// Of these, and of overlong ones, those between two events.
    pub between: u64,
    passed: Passed,
    /// Whether a line says that events were lost.
    pub tells_losses: bool,
    /// Numbers printed for sched_switch's state that may mean "preempted", by bit from 8.
    preempted: [u64; 5],
    /// Names of the softirq vectors.
    actions: Vec<Option<String>>,
    pub overlong: u64,
    /// Buffers that lines are of, the one that is read first.
    pub shares: Vec<Share>,
    selection: Selection,
    /// The latest time so far, and whether one was earlier than another before it.
    latest: Option<i64>,
    pub falls: bool,
}

impl Survey {
    /// Reads the bytes `from..end` of a file: the lines of one buffer, and how many others there are.
    pub fn of(file: &Arc<File>, (from, end): (u64, u64), prefix: &Prefix, buffer: &str) -> Result<Survey> {
        let mut survey = Survey {
            finest_ns: u32::MAX,
            actions: vec![None; VECTORS],
            shares: vec![Share::new(buffer.to_owned())],
            selection: Selection::of(buffer.as_bytes()),
            ..Survey::default()
        };
        let mut blocks = Blocks::of(file, from, end);
        while let Some((block, overlong)) = blocks.next_counted()? {
            survey.passed.overlong(overlong);
            let mut blanks = Blanks::of(block);
            for line in each(block) {
                survey.line(prefix.strip(line, &mut blanks));
            }
        }
        survey.overlong += blocks.overlong;
        survey.preamble.columns.of_trace_cmd =
            survey.style() != Style::Perf && (survey.preamble.of_trace_cmd || survey.padded * 2 > survey.lines);
        Ok(survey)
    }

    fn line(&mut self, line: &[u8]) {
        self.lines_in_all += 1;
        match Line::of(line) {
            Line::Event(head) => {
                self.between += self.passed.event(head.name);
                if self.selection.takes(&head) {
                    self.shares[0].add(&head, line.len());
                    self.event(&head);
                } else {
                    self.of_another(&head, line.len());
                }
            }
            Line::Lost(_, _, buffer) => {
                self.tells_losses = true;
                self.selection.marks(buffer);
            }
            Line::Begun(_) => self.tells_losses = true,
            Line::Record(head) => self.tells_losses |= head.text.windows(4).any(|word| word == b"LOST"),
            Line::Comment => self.preamble.comment(line),
            Line::Frame => self.frames += 1,
            Line::Blank => {}
            Line::Other if line.len() > LONGEST => {
                self.overlong += 1;
                self.passed.overlong(1);
            }
            Line::Other => {
                self.passed.other(line);
                self.preamble.other(line);
                if !Preamble::expects(line) {
                    self.others += 1;
                    self.first_other.get_or_insert_with(|| (self.lines_in_all, excerpt(line)));
                }
            }
        }
    }

    /// A line of a buffer that is not read. The one behind a loss counts as the top one's.
    fn of_another(&mut self, head: &Head<'_>, bytes: usize) {
        let known = self.shares.iter().position(|share| share.name.as_bytes() == head.buffer);
        let place = match known {
            Some(place) => place,
            None if self.shares.len() == MAX_BUFFERS => return,
            None => {
                self.shares.push(Share::new(String::from_utf8_lossy(head.buffer).into_owned()));
                self.shares.len() - 1
            }
        };
        self.shares[place].add(head, bytes);
    }

    fn event(&mut self, head: &Head<'_>) {
        let Some(number) = self.number(head) else {
            self.others += 1;
            self.first_other.get_or_insert_with(|| (self.lines_in_all, excerpt(head.name)));
            return;
        };
        self.lines += 1;
        self.falls |= Some(head.stamp.time) < self.latest;
        self.latest = self.latest.max(Some(head.stamp.time));
        self.styles[head.style as usize] += 1;
        self.with_tid += u64::from(head.tid.is_some());
        self.with_cpu += u64::from(head.cpu.is_some());
        self.with_flags += u64::from(head.context.has_flags());
        self.with_depth += u64::from(head.context.has_depth());
        if head.stamp.unit_ns > 0 {
            self.with_unit += 1;
            self.finest_ns = self.finest_ns.min(head.stamp.unit_ns);
        }
        self.padded += u64::from(head.padded);
        let event = &mut self.events[number as usize];
        event.lines += 1;
        if let Some(period) = head.period {
            let (count, least, most) = &mut event.periods;
            (*count, *least, *most) = (*count + 1, period.min(*least), period.max(*most));
        }
        let Some(known) = event.known else { return };
        match (known.read)(head.text) {
            Some(row) => {
                event.readable += 1;
                event.optional += u64::from(row.found & OPTIONAL != 0);
                match known.role {
                    Role::Switch if row.found & switch::STATE_IS_NUMBER != 0 => {
                        let state = row.long_at(switch::PREV_STATE);
                        if let Some(count) = (8..13).position(|bit| state == 1 << bit) {
                            self.preempted[count] += 1;
                        }
                    }
                    Role::Softirq => self.action(head.text),
                    _ => {}
                }
            }
            None => {
                event.unreadable.get_or_insert_with(|| (self.lines_in_all, excerpt(head.text)));
            }
        }
    }

    fn action(&mut self, text: &[u8]) {
        let Some((vec, name)) = irq::action(text) else { return };
        let slot = usize::try_from(vec).ok().and_then(|vec| self.actions.get_mut(vec));
        if let (Some(slot @ None), true) = (slot, name.iter().all(u8::is_ascii_graphic) && name.len() < 32) {
            *slot = Some(String::from_utf8_lossy(name).into_owned());
        }
    }

    /// The event of a line, new or known.
    fn number(&mut self, head: &Head<'_>) -> Option<u32> {
        if let Some(&number) = self.spellings.get(head.name) {
            return Some(number);
        }
        let spelled = std::str::from_utf8(head.name).ok()?;
        // Which tool wrote the line does not matter here: a damaged line may look like another tool's.
        let name = if spelled.contains(':') { spelled.to_owned() } else { full_name(spelled) };
        if self.events.len() == MAX_EVENTS && !self.events.contains_key(&name) {
            return None;
        }
        let found = self.events.entry(name);
        let number = found.index().narrow();
        found.or_insert_with_key(|name| Found::new(name.clone()));
        if self.spellings.len() < 2 * MAX_EVENTS {
            self.spellings.insert(head.name.into(), number);
        }
        Some(number)
    }

    /// The style of most lines.
    pub fn style(&self) -> Style {
        let [perf, ftrace, latency] = self.styles;
        if latency > ftrace && latency > perf {
            Style::Latency
        } else if ftrace > perf {
            Style::Ftrace
        } else {
            Style::Perf
        }
    }

    /// What this many lines have, most have: the others are damaged.
    pub fn most(&self, count: u64) -> bool {
        count * 2 > self.lines
    }

    /// The common fields that its lines have.
    pub fn common(&self) -> Common {
        Common { flags: self.most(self.with_flags), depth: self.most(self.with_depth), pid: self.most(self.with_tid) }
    }

    /// The kernel's way of saying what an event's numbers mean, for those of which the ledger asks.
    pub fn print_fmt(&self, known: &Known) -> String {
        if known.role == Role::Softirq {
            let named = self.actions.iter().enumerate();
            let pairs = named.filter_map(|(vec, name)| Some(format!("{{ {vec}, \"{}\" }}", name.as_ref()?)));
            let pairs: Vec<String> = pairs.collect();
            if !pairs.is_empty() {
                return format!("__print_symbolic(REC->vec, {})", pairs.join(", "));
            }
        } else if known.role == Role::Switch {
            let most = (0..self.preempted.len()).rev().max_by_key(|&bit| self.preempted[bit]);
            let bit = most.filter(|&bit| self.preempted[bit] > 0).unwrap_or(0);
            return format!("REC->prev_state & {:#x} ? \"+\" : \"\"", switch::PREEMPTED << bit);
        }
        String::new()
    }
}

/// A line for a message: what of it can be shown in one.
pub fn excerpt(line: &[u8]) -> String {
    let text: String = String::from_utf8_lossy(&line[..line.len().min(200)]).chars().take(60).collect();
    text.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect()
}
