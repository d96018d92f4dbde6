//! Rows by what they have in common: how many there are, sums, and how often each length occurred.
//!
//! ```text
//!   polls of a round      eth0 64 | eth0 3 | eth1 64 | eth0 64 \
//!   by device and work    eth0 64: 2   eth0 3: 1   eth1 64: 1   > as many groups as keys, however long the recording
//! ```

mod fields;
mod lengths;

use arrow_array::types::Int64Type;
use arrow_array::RecordBatch;
use rustc_hash::FxHashMap;

use crate::error::{bad, Result};
use crate::ledger::cpu::Found;
use crate::ledger::migrated::Migrated;
use crate::ledger::resolve::Names;
use crate::ledger::rows::{HardirqRow, PollRow, SliceRow, SoftirqRow, ABSENT};
use crate::tables::{batch, optional, plain};
use fields::{field, Field, Kind, HARDIRQS, MIGRATIONS, POLLS, SLICES, SOFTIRQS};
use lengths::Lengths;

/// Rows of one table, as they are to be grouped.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Which: polls, softirqs, hardirqs, slices, migrations.
    pub rows: String,
    /// By which columns, at most [`MOST_KEYS`]; a null is a key too.
    pub by: Vec<String>,
    /// A column of times, and the width of blocks of these: the number of its block is a key, `block`.
    pub block: Option<(String, i64)>,
    /// Columns to add up; a null adds nothing.
    pub sums: Vec<String>,
    /// Columns whose known values are counted.
    pub known: Vec<String>,
    /// The column whose values are counted, each by itself, or in bins where there are many; negative ones as 0.
    pub lengths: Option<String>,
    /// Only rows whose column has a value within these, both included.
    pub within: Vec<(String, i64, i64)>,
    /// Only rows whose column has this text.
    pub texts: Vec<(String, String)>,
}

/// Columns that a group can go by.
pub const MOST_KEYS: usize = 6;

/// What a grouping comes to.
#[derive(Debug)]
pub struct Grouped {
    /// A row a group: its keys, how many rows, by the name of these, the sums (of `work` it is `packets`, of `self_ns` it
    /// is `ns`), `NAME_known`, and where lengths are asked for `least` and `most`.
    pub groups: RecordBatch,
    /// A row a group and length that occurred: `group` (its place), `low`, `high`, `count`, `total`.
    pub lengths: Option<RecordBatch>,
    /// Whether lengths are in bins.
    pub is_binned: bool,
}

/// A grouping on its way.
pub struct Group(Of);

enum Of {
    Polls(Cells<PollRow>),
    Softirqs(Cells<SoftirqRow>),
    Hardirqs(Cells<HardirqRow>),
    Slices(Cells<SliceRow>),
    Migrations(Cells<Migrated>),
}

impl Group {
    /// Of nothing yet.
    pub fn new(wanted: &Wanted, names: &Names) -> Result<Group> {
        Ok(Group(match wanted.rows.as_str() {
            "polls" => Of::Polls(Cells::new("polls", POLLS, wanted, names)?),
            "softirqs" => Of::Softirqs(Cells::new("softirqs", SOFTIRQS, wanted, names)?),
            "hardirqs" => Of::Hardirqs(Cells::new("hardirqs", HARDIRQS, wanted, names)?),
            "slices" => Of::Slices(Cells::new("slices", SLICES, wanted, names)?),
            "migrations" => Of::Migrations(Cells::new("migrations", MIGRATIONS, wanted, names)?),
            other => {
                let known = "polls, softirqs, hardirqs, slices, migrations";
                return Err(bad!(Refused, "no rows '{other}' to group; there are {known}"));
            }
        }))
    }

    /// Takes rows that are settled.
    pub fn take(&mut self, names: &Names, cpus: &[Found], migrated: &[Migrated]) {
        if let Of::Migrations(cells) = &mut self.0 {
            cells.take(names, 0, migrated);
        }
        for cpu in cpus {
            let rows = &cpu.rows;
            match &mut self.0 {
                Of::Polls(cells) => rows.polls.slices().for_each(|rows| cells.take(names, cpu.number, rows)),
                Of::Softirqs(cells) => rows.softirqs.slices().for_each(|rows| cells.take(names, cpu.number, rows)),
                Of::Hardirqs(cells) => rows.hardirqs.slices().for_each(|rows| cells.take(names, cpu.number, rows)),
                Of::Slices(cells) => cells.take(names, cpu.number, rows.slices.rows()),
                Of::Migrations(_) => {}
            }
        }
    }

    /// What it comes to.
    pub fn finish(self, names: &Names) -> Result<Grouped> {
        match self.0 {
            Of::Polls(cells) => cells.finish(names),
            Of::Softirqs(cells) => cells.finish(names),
            Of::Hardirqs(cells) => cells.finish(names),
            Of::Slices(cells) => cells.finish(names),
            Of::Migrations(cells) => cells.finish(names),
        }
    }
}

type Key = [i64; MOST_KEYS];

/// What a sum of a column is called.
fn summed(name: &str) -> &str {
    match name {
        "work" => "packets",
        "self_ns" => "ns",
        other => other,
    }
}

struct Cells<R: 'static> {
    /// The name of the rows, and so of their number.
    counted: &'static str,
    by: Vec<&'static Field<R>>,
    block: Option<(&'static Field<R>, i64)>,
    sums: Vec<&'static Field<R>>,
    known: Vec<&'static Field<R>>,
    within: Vec<(&'static Field<R>, i64, i64)>,
    lengths: Option<(&'static Field<R>, Lengths)>,
    places: FxHashMap<Key, usize>,
    /// Of each group the number of rows, sums, and numbers of known values.
    values: Vec<i64>,
}

impl<R> Cells<R> {
    fn new(counted: &'static str, fields: &'static [Field<R>], wanted: &Wanted, names: &Names) -> Result<Cells<R>> {
        let find = |name: &String| {
            let known = || fields.iter().map(|field| field.name).collect::<Vec<_>>().join(", ");
            field(fields, name)
                .ok_or_else(|| bad!(Refused, "{counted} have no '{name}' to go by; there are {}", known()))
        };
        let number = |name: &String| match find(name)? {
            found @ Field { kind: Kind::Number, .. } => Ok(found),
            _ => Err(bad!(Refused, "'{name}' of {counted} is no number")),
        };
        let all = |named: &[String]| named.iter().map(find).collect::<Result<Vec<_>>>();
        let block = match &wanted.block {
            Some((_, width)) if *width <= 0 => return Err(bad!(Refused, "a block of {width} ns has no length")),
            Some((name, width)) => Some((number(name)?, *width)),
            None => None,
        };
        if wanted.by.len() + usize::from(block.is_some()) > MOST_KEYS {
            return Err(bad!(Refused, "rows are grouped by {MOST_KEYS} columns at most"));
        }
        if let Some(name) = wanted.by.iter().enumerate().find(|(place, name)| wanted.by[..*place].contains(name)) {
            return Err(bad!(Refused, "'{}' is named twice", name.1));
        }
        let mut within = Vec::new();
        for (name, low, high) in &wanted.within {
            let of = find(name)?;
            if matches!(of.kind, Kind::Label(_)) && (*low, *high) != (i64::MIN, i64::MAX) {
                return Err(bad!(Refused, "'{name}' of {counted} is a text, and has no first and last"));
            }
            within.push((of, *low, *high));
        }
        for (name, text) in &wanted.texts {
            let of = find(name)?;
            let Kind::Label(labels) = of.kind else {
                return Err(bad!(Refused, "'{name}' of {counted} is a number: give the first and the last"));
            };
            // What never occurs is on no row.
            let key = labels(names).find(text).map_or(ABSENT, i64::from);
            within.push((of, key, key));
        }
        let lengths = wanted.lengths.as_ref().map(number).transpose()?.map(|of| (of, Lengths::default()));
        let sums = wanted.sums.iter().map(number).collect::<Result<Vec<_>>>()?;
        let (by, known) = (all(&wanted.by)?, all(&wanted.known)?);
        Ok(Cells { counted, by, block, sums, known, within, lengths, places: FxHashMap::default(), values: Vec::new() })
    }

    fn width(&self) -> usize {
        1 + self.sums.len() + self.known.len()
    }

    fn take(&mut self, names: &Names, cpu: u32, rows: &[R]) {
        let width = self.width();
        for row in rows {
            let of = |field: &Field<R>| (field.get)(names, cpu, row);
            let is_within = |(field, low, high): &(&Field<R>, i64, i64)| {
                of(field).is_some_and(|value| *low <= value && value <= *high)
            };
            if !self.within.iter().all(is_within) {
                continue;
            }
            let mut key = [ABSENT; MOST_KEYS];
            key.iter_mut().zip(&self.by).for_each(|(place, field)| *place = of(field).unwrap_or(ABSENT));
            if let Some((field, width)) = self.block {
                key[self.by.len()] = of(field).map_or(ABSENT, |time_ns| time_ns.div_euclid(width));
            }
            let next = self.places.len();
            let place = *self.places.entry(key).or_insert(next);
            if place == next {
                self.values.resize((next + 1) * width, 0);
            }
            let (sums, known) = self.values[place * width + 1..][..width - 1].split_at_mut(self.sums.len());
            sums.iter_mut().zip(&self.sums).for_each(|(sum, field)| *sum += of(field).unwrap_or(0));
            known.iter_mut().zip(&self.known).for_each(|(count, field)| *count += i64::from(of(field).is_some()));
            self.values[place * width] += 1;
            if let Some((field, lengths)) = &mut self.lengths {
                of(field).into_iter().for_each(|value| lengths.add(place, value.max(0)));
            }
        }
    }

    fn finish(self, names: &Names) -> Result<Grouped> {
        let width = self.width();
        let mut groups: Vec<(Key, usize)> = self.places.iter().map(|(key, place)| (*key, *place)).collect();
        groups.sort_unstable();
        let value = |number: usize| {
            let values = groups.iter().map(|group| self.values[group.1 * width + number]);
            plain::<Int64Type>(values)
        };
        let mut columns = Vec::new();
        let keys = self.by.iter().map(|field| (field.name, field.kind));
        for (number, (name, kind)) in keys.chain(self.block.map(|_| ("block", Kind::Number))).enumerate() {
            let keys = groups.iter().map(|(key, _)| Some(key[number]).filter(|&key| key != ABSENT));
            columns.push((name.to_owned(), kind.column(names, keys)));
        }
        let sums = self.sums.iter().map(|field| summed(field.name).to_owned());
        let known = self.known.iter().map(|field| format!("{}_known", field.name));
        let named = [self.counted.to_owned()].into_iter().chain(sums).chain(known);
        columns.extend(named.enumerate().map(|(number, name)| (name, value(number))));
        if let Some((_, lengths)) = &self.lengths {
            let ends = || groups.iter().map(|group| lengths.ends(group.1));
            columns.push(("least".to_owned(), optional::<Int64Type>(ends().map(|ends| ends.map(|ends| ends.0)))));
            columns.push(("most".to_owned(), optional::<Int64Type>(ends().map(|ends| ends.map(|ends| ends.1)))));
        }
        let mut order = vec![0; groups.len()];
        groups.iter().enumerate().for_each(|(number, group)| order[group.1] = number);
        let lengths = self.lengths.as_ref().map(|(_, lengths)| lengths.finish(&order)).transpose()?;
        let is_binned = self.lengths.as_ref().is_some_and(|(_, lengths)| lengths.is_binned());
        Ok(Grouped { groups: batch(columns)?, lengths, is_binned })
    }
}
