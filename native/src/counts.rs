//! Number of events between two readings of a counter, by CPU and by the value of a field.

use std::ops::ControlFlow;

use rustc_hash::FxHashMap;

use crate::bytes::slice;
use crate::error::Result;
use crate::events::missing;
use crate::format::{Field, Format, Kind};
use crate::narrow::Narrow;
use crate::progress::Progress;
use crate::recording::{Event, Recording, Unit};
use crate::together::{Reporter, Together};
use crate::visit::{Sample, Visitor};

/// What to count.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// The tracepoints to count together.
    pub names: Vec<String>,
    /// The field whose value is the key. `None` counts by CPU alone, under key 0.
    pub key: Option<String>,
    /// The field to add up instead of counting events.
    pub sum_of: Option<String>,
    /// Start and end of each window, both included.
    pub windows: Vec<(i64, i64)>,
}

/// By CPU and key. A key without events is absent.
pub type Counts = FxHashMap<(u32, i64), i64>;

/// How one event counts for one of `wanted`: where its key and weight lie.
struct Part {
    of: usize,
    key: Option<Field>,
    weight: Option<Field>,
    fixed_size: u32,
}

/// Counts what a pass shows.
pub struct Counter<'a> {
    wanted: &'a [Wanted],
    /// By event number.
    parts: Vec<Vec<Part>>,
    found: Vec<Vec<Counts>>,
    /// Which of `wanted` can be counted.
    known: Vec<bool>,
}

impl Visitor for Counter<'_> {
    fn samples(&mut self, block: &[u8], samples: &[Sample]) -> ControlFlow<()> {
        for sample in samples {
            for part in &self.parts[sample.event as usize] {
                // A payload shorter than its format has no row in a table, so it is not counted.
                if sample.raw_size < part.fixed_size {
                    continue;
                }
                let payload = sample.payload(block);
                let value =
                    |field: &Option<Field>, absent| field.as_ref().map_or(absent, |field| integer(field, payload));
                for (&(start, end), counts) in self.wanted[part.of].windows.iter().zip(&mut self.found[part.of]) {
                    if (start..=end).contains(&sample.time_ns) {
                        let count = counts.entry((sample.cpu, value(&part.key, 0))).or_default();
                        *count = count.saturating_add(value(&part.weight, 1));
                    }
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// An integer field's value. Unsigned ones of 64 bits wrap.
pub fn integer(field: &Field, payload: &[u8]) -> i64 {
    let bytes = slice(payload, field.offset, field.size).unwrap_or_default();
    let mut wide = [0; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    let (value, unused) = (i64::from_le_bytes(wide), 64 - 8 * bytes.len().max(1).narrow::<u32>());
    if field.kind == (Kind::Int { signed: true }) {
        value << unused >> unused
    } else {
        value
    }
}

/// A field that holds an integer.
pub fn countable(format: &Format, name: &str) -> Option<Field> {
    let known = |field: &&Field| matches!(field.kind, Kind::Int { .. } | Kind::Bool) && field.size <= 8;
    format.field(name).filter(known).cloned()
}

impl<'a> Counter<'a> {
    /// Starts counting. Fails if one of the tracepoints cannot be counted.
    pub fn new(recording: &Recording, wanted: &'a [Wanted]) -> Result<Counter<'a>> {
        let mut counter = Counter {
            wanted,
            parts: recording.events.iter().map(|_| Vec::new()).collect(),
            found: wanted.iter().map(|one| vec![Counts::default(); one.windows.len()]).collect(),
            known: vec![recording.unit == Unit::Nanoseconds; wanted.len()],
        };
        for (of, one) in wanted.iter().enumerate() {
            for name in &one.names {
                counter.add(recording, of, one, name)?;
            }
        }
        Ok(counter)
    }

    fn add(&mut self, recording: &Recording, of: usize, one: &Wanted, name: &str) -> Result<()> {
        let named = || recording.events.iter().enumerate().filter(|(_, event)| event.name == name);
        let shown = |event: &&(usize, &Event)| event.1.has_payload && event.1.format.is_some();
        let format = named().find(|event| shown(&event)).and_then(|(_, event)| event.format.as_deref());
        let format = format.ok_or_else(|| missing(recording, name))?;
        let field = |name: &Option<String>| name.as_ref().map(|name| countable(format, name));
        let (key, weight) = (field(&one.key), field(&one.sum_of));
        self.known[of] &= key != Some(None) && weight != Some(None);
        // Without a time or a CPU, an event has no place in the counts.
        if !named().all(|(_, event)| event.has_time && event.has_cpu) {
            return Ok(());
        }
        let fixed_size = format.fixed_size().narrow();
        for (number, _) in named().filter(|event| shown(&event)) {
            let (key, weight) = (key.clone().flatten(), weight.clone().flatten());
            self.parts[number].push(Part { of, key, weight, fixed_size });
        }
        Ok(())
    }

    /// For each of `wanted`, a map per window; `None` if one of its tracepoints lacks the field, or the clock does not
    /// count nanoseconds.
    pub fn finish(self) -> Vec<Option<Vec<Counts>>> {
        let found = self.found.into_iter().zip(self.known);
        found.map(|(found, known)| known.then_some(found)).collect()
    }
}

/// Counts everything in one pass: see `Counter`.
pub fn counts(recording: &Recording, wanted: &[Wanted], progress: Progress<'_>) -> Result<Vec<Option<Vec<Counts>>>> {
    let mut counter = Counter::new(recording, wanted)?;
    if counter.known.contains(&true) {
        recording.walk(&mut Together(&mut Reporter(progress), &mut [&mut counter]))?;
    }
    Ok(counter.finish())
}
