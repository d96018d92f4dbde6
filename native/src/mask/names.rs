//! What stands in the place of what: asked once for each name, then remembered.

use std::collections::BTreeMap;
use std::ops::Range;

use rustc_hash::FxHashMap;

use super::symbols::hide_bpf;
use crate::bytes::{text, until_nul, Order};
use crate::error::{bad, Result};
use crate::kinds::{Kind, Span};
use crate::narrow::Narrow;
use crate::perf::record;

/// Bytes of names remembered of one kind; beyond that they are asked for again.
const MAX: usize = 64 << 20;

/// The caller: it says what replaces what, and is told how far masking is.
pub trait Replacements {
    /// What stands in the place of something, in no more bytes than that has.
    fn replace(&mut self, kind: Kind, original: &[u8]) -> Result<Vec<u8>>;
    /// Called now and then with the fraction done: an error ends the work.
    fn progress(&mut self, fraction: f64) -> Result<()>;
}

/// What was done, by what it was done to; texts are for people.
pub type Changes = BTreeMap<String, u64>;

#[derive(Default)]
struct Known {
    names: FxHashMap<Box<[u8]>, Box<[u8]>>,
    bytes: usize,
}

pub struct Names<'m> {
    asked: &'m mut dyn Replacements,
    known: FxHashMap<Kind, Known>,
    replaced: BTreeMap<Kind, u64>,
    changes: Changes,
}

impl<'m> Names<'m> {
    pub fn new(asked: &'m mut dyn Replacements) -> Names<'m> {
        Names { asked, known: FxHashMap::default(), replaced: BTreeMap::new(), changes: Changes::new() }
    }

    pub fn progress(&mut self, fraction: f64) -> Result<()> {
        self.asked.progress(fraction)
    }

    /// Counts what was done.
    pub fn tell(&mut self, what: &str, count: u64) {
        match self.changes.get_mut(what) {
            Some(found) => *found += count,
            None if count > 0 => drop(self.changes.insert(what.to_owned(), count)),
            None => {}
        }
    }

    /// What was done, with how often something else was put in the place of something.
    pub fn changes(mut self) -> Changes {
        for (kind, count) in std::mem::take(&mut self.replaced) {
            self.tell(&format!("{} replaced", kind.name()), count);
        }
        self.changes
    }

    /// What stands for `original`: the same bytes, or others. Only a map of another hand has longer ones.
    pub fn replacement(&mut self, kind: Kind, original: &[u8]) -> Result<&[u8]> {
        let known = self.known.entry(kind).or_default();
        if !known.names.contains_key(original) {
            let found = self.asked.replace(kind, original)?;
            known.bytes += original.len() + found.len();
            if known.bytes > MAX {
                *known = Known::default();
            }
            known.names.insert(original.into(), found.into());
        }
        let found = known.names.get(original).map_or(&[][..], |found| found);
        if found != original {
            *self.replaced.entry(kind).or_default() += 1;
        }
        Ok(found)
    }

    /// Masks what a reader found in these bytes; all else becomes zeros.
    pub fn hide_all(&mut self, spans: &[Span], bytes: &mut [u8], order: Order) -> Result<()> {
        let most = bytes.len();
        let place = |range: &Range<u64>| range.start.narrow::<usize>().min(most)..range.end.narrow::<usize>().min(most);
        let words = spans.iter().filter(|(_, kind)| *kind == Kind::Arguments);
        self.arguments(&words.map(|(range, _)| place(range)).collect::<Vec<_>>(), bytes)?;
        let (mut done, mut build_id) = (0, 0..0);
        for (range, kind) in spans {
            let place = place(range);
            bytes[done.min(place.start)..place.start].fill(0);
            done = done.max(place.end);
            match kind {
                Kind::Arguments => {}
                Kind::BuildId => build_id = place,
                // A build id names a program too: it goes with the path.
                _ if self.hide(*kind, &mut bytes[place], order)? => bytes[build_id.clone()].fill(0),
                _ => {}
            }
        }
        bytes[done..].fill(0);
        Ok(())
    }

    /// The recorder's command line: all words at once, since what one is depends on those before it.
    fn arguments(&mut self, places: &[Range<usize>], bytes: &mut [u8]) -> Result<()> {
        if places.is_empty() {
            return Ok(());
        }
        let words: Vec<&[u8]> = places.iter().map(|place| until_nul(&bytes[place.clone()])).collect();
        let masked = self.replacement(Kind::Arguments, &words.join(&0))?;
        let mut masked = masked.split(|&byte| byte == 0);
        for place in places {
            let place = &mut bytes[place.clone()];
            let word = masked.next().unwrap_or_default();
            let room = until_nul(place).len();
            place.fill(0);
            if word.len() <= room {
                place[..word.len()].copy_from_slice(word);
            }
        }
        Ok(())
    }

    /// Masks what stands in a place, in as many bytes; whether it is another name now.
    pub fn hide(&mut self, kind: Kind, place: &mut [u8], order: Order) -> Result<bool> {
        match kind {
            Kind::Keep | Kind::BuildId => {}
            Kind::Zero => place.fill(0),
            Kind::Hidden(what) => self.leave_out(what, place),
            Kind::UnknownOption(option) => self.leave_out(&format!("option {option} left out"), place),
            Kind::UnknownFeature(feature) => self.leave_out(&format!("feature {feature} of the header zeroed"), place),
            Kind::Text => {
                let end = until_nul(place).len();
                place[end..].fill(0);
            }
            Kind::UnknownRecord(_) if place.iter().all(|&byte| byte == 0) => {}
            Kind::UnknownRecord(kind) => self.leave_out(&format!("records of {} zeroed", record::name(kind)), place),
            Kind::Symbols => {
                let count = hide_bpf(place);
                self.tell("names of BPF programs among the kernel's functions hidden", count);
            }
            Kind::TaskLines => self.task_lines(place)?,
            Kind::Uname => {
                let uname = self.uname(&text(place))?.into_bytes();
                let size = uname.len().min(place.len());
                place[..size].copy_from_slice(&uname[..size]);
                place[size..].fill(0);
            }
            Kind::Guest => {
                let end = until_nul(place).len();
                let place = &mut place[..end];
                let mut found = self.replacement(Kind::Host, place)?.to_vec();
                found.resize(place.len(), b'_');
                place.copy_from_slice(&found);
            }
            Kind::Ipv4 => self.address(kind, 4, place)?,
            Kind::Ipv6 => self.address(kind, 16, place)?,
            Kind::Mac => self.address(kind, 6, place)?,
            Kind::Socket => self.socket(place, order)?,
            _ => return self.text(kind, place),
        }
        Ok(false)
    }

    fn leave_out(&mut self, told: &str, place: &mut [u8]) {
        self.tell(told, 1);
        place.fill(0);
    }

    /// Replaces the text at the start of `place` and zeroes what is behind it.
    fn text(&mut self, kind: Kind, place: &mut [u8]) -> Result<bool> {
        let original = until_nul(place);
        let size = original.len();
        if size == 0 {
            place.fill(0);
            return Ok(false);
        }
        let found = self.replacement(kind, original)?;
        let (length, changed) = (found.len(), found != original);
        // If there is a NUL behind it, it keeps its room.
        if length > place.len().saturating_sub(1).max(size) {
            return Err(too_long(kind, size));
        }
        place[..length].copy_from_slice(found);
        place[length..].fill(0);
        Ok(changed)
    }

    /// One address at the start of the place; hardware addresses may have room for longer ones behind.
    fn address(&mut self, kind: Kind, size: usize, place: &mut [u8]) -> Result<()> {
        let (first, rest) = place.split_at_mut(size.min(place.len()));
        rest.fill(0);
        if first.len() < size {
            first.fill(0);
        } else if first.iter().any(|&byte| byte != 0) {
            let found = self.replacement(kind, first)?;
            if found.len() != size {
                return Err(bad!(Refused, "a {} of {size} bytes got a replacement of {}", kind.name(), found.len()));
            }
            first.copy_from_slice(found);
        }
        Ok(())
    }

    fn socket(&mut self, place: &mut [u8], order: Order) -> Result<()> {
        const INET: u16 = 2;
        const INET6: u16 = 10;
        match (order.u16(place, 0), place.len()) {
            (Some(INET), 8..) => self.address(Kind::Ipv4, 4, &mut place[4..]),
            (Some(INET6), 24..) => self.address(Kind::Ipv6, 16, &mut place[8..]),
            _ => {
                place.fill(0);
                Ok(())
            }
        }
    }

    /// The lines of `pid name` that tracefs keeps, replaced; in as many bytes, the rest newlines.
    fn task_lines(&mut self, bytes: &mut [u8]) -> Result<()> {
        let mut masked = Vec::with_capacity(bytes.len());
        for line in bytes.split(|&byte| byte == b'\n') {
            let line = until_nul(line).trim_ascii_start();
            let Some(space) = line.iter().position(|&byte| byte == b' ') else { continue };
            let (pid, comm) = (&line[..space], &line[space + 1..]);
            if pid.iter().all(u8::is_ascii_digit) && !pid.is_empty() {
                masked.extend_from_slice(pid);
                masked.push(b' ');
                masked.extend_from_slice(self.replacement(Kind::Task, comm)?);
                masked.push(b'\n');
            }
        }
        if masked.len() > bytes.len() {
            return Err(too_long(Kind::Task, bytes.len()));
        }
        masked.resize(bytes.len(), b'\n');
        bytes.copy_from_slice(&masked);
        Ok(())
    }

    /// What `uname -snrm` says, its second word another.
    pub fn uname(&mut self, uname: &str) -> Result<String> {
        // More that uname may say (host and date of the build) is not needed.
        let mut words: Vec<String> = uname.split(' ').take(4).map(str::to_owned).collect();
        if let Some(host) = words.get_mut(1).filter(|host| !host.is_empty()) {
            *host = String::from_utf8_lossy(self.replacement(Kind::Host, host.as_bytes())?).into_owned();
        }
        let mut masked = words.join(" ");
        if uname.ends_with('\n') && !masked.ends_with('\n') {
            masked.push('\n');
        }
        Ok(masked)
    }
}

fn too_long(kind: Kind, size: usize) -> crate::error::Error {
    let kind = kind.name();
    bad!(Refused, "the map replaces a {kind} of {size} bytes with a longer one, and the recording has no room for it")
}
