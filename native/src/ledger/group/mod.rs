//! Rows by what they have in common: their number, sums, and how often each length occurred.
//!
//! ```text
//!   polls of a round      eth0 64 | eth0 3 | eth1 64 | eth0 64 \
//!   by device and work    eth0 64: 2   eth0 3: 1   eth1 64: 1   > as many groups as keys, however long the recording
//! ```

mod beside;
mod fields;
mod lengths;

use arrow_array::types::Int64Type;
use rustc_hash::FxHashMap;

use crate::error::{bad, Result};
use crate::ledger::aggregate::Aggregate;
use crate::ledger::cpu::Found;
use crate::ledger::migrated::Migrated;
use crate::ledger::resolve::Names;
use crate::ledger::rows::{HardirqRow, PollRow, SliceRow, SoftirqRow, ABSENT};
use crate::ledger::segment::Packed;
use crate::ledger::shown::{Shown, Tables};
use crate::narrow::Narrow;
use crate::tables::{batch, optional, plain};
use beside::{Ended, Gap, Lines, OfPolls, Polled, Row, Stays, Told};
use fields::{field, Field, Kind, HARDIRQS, MIGRATIONS, POLLS, SEGMENTS, SLICES, SOFTIRQS};
pub use lengths::Lengths;

/// How to group the rows of one table.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// The table: polls, softirqs, hardirqs, slices, segments, migrations.
    pub rows: String,
    /// Columns to group by, at most [`MOST_KEYS`]. A null is a key too.
    pub by: Vec<String>,
    /// A column of times, and the width of blocks of time: the block's number is a key, `block`.
    pub block: Option<(String, i64)>,
    /// Columns, each with ascending values: the number of those not above the row's value is a key, `NAME_place`.
    pub edges: Vec<(String, Vec<i64>)>,
    /// Columns to add up. A null adds nothing.
    pub sums: Vec<String>,
    /// Columns whose known values are counted.
    pub known: Vec<String>,
    /// Columns whose least and most values are returned.
    pub ends: Vec<String>,
    /// The column whose values are counted, each separately, or in bins if there are many. Negative values count as 0.
    pub lengths: Option<String>,
    /// Only rows whose column has a value in this range, both ends included.
    pub within: Vec<(String, i64, i64)>,
    /// Only rows whose column has this text.
    pub texts: Vec<(String, String)>,
}

/// Most columns to group by.
pub const MOST_KEYS: usize = 6;

/// A grouping in progress.
pub struct Group(Of);

enum Of {
    Polls(Cells<PollRow>),
    Softirqs(Cells<SoftirqRow>, Option<Polled>),
    Hardirqs(Cells<HardirqRow>, Option<Lines>),
    Slices(Cells<SliceRow>, Option<Stays>),
    Segments(Cells<Packed>),
    Migrations(Cells<Migrated>),
}

impl Group {
    pub fn new(wanted: &Wanted, names: &Names) -> Result<Group> {
        Ok(Group(match wanted.rows.as_str() {
            "polls" => Of::Polls(Cells::new("polls", POLLS, wanted, names)?),
            "softirqs" => {
                let beside = wanted.names(&["polled_ns", "full_polls"]).then(Polled::default);
                Of::Softirqs(Cells::new("softirqs", SOFTIRQS, wanted, names)?, beside)
            }
            "hardirqs" => {
                let beside = wanted.names(&["gap_ns"]).then(Lines::default);
                Of::Hardirqs(Cells::new("hardirqs", HARDIRQS, wanted, names)?, beside)
            }
            "slices" => {
                let beside = wanted.names(&["waited_ns", "asleep_ns", "left_state"]).then(Stays::default);
                Of::Slices(Cells::new("slices", SLICES, wanted, names)?, beside)
            }
            "segments" => Of::Segments(Cells::new("segments", SEGMENTS, wanted, names)?),
            "migrations" => Of::Migrations(Cells::new("migrations", MIGRATIONS, wanted, names)?),
            other => {
                let known = "polls, softirqs, hardirqs, slices, segments, migrations";
                return Err(bad!(Refused, "no rows '{other}' to group; there are {known}"));
            }
        }))
    }
}

impl Aggregate for Group {
    fn take(&mut self, names: &Names, cpus: &[Found], migrated: &[Migrated], shown: &Shown<'_>) {
        match &mut self.0 {
            Of::Polls(cells) => each(cpus, |cpu| cpu.rows.polls.slices(), |cpu, row| cells.take(names, cpu, row, ())),
            Of::Softirqs(cells, polled) => {
                if let Some(polled) = polled {
                    each(cpus, |cpu| cpu.rows.polls.slices(), |cpu, row| polled.poll(cpu, row));
                }
                each(
                    cpus,
                    |cpu| cpu.rows.softirqs.slices(),
                    |cpu, row| {
                        let beside = polled.as_mut().map_or(OfPolls::default(), |polled| polled.softirq(cpu, row));
                        cells.take(names, cpu, row, beside);
                    },
                );
            }
            Of::Hardirqs(cells, lines) => {
                if let Some(lines) = lines {
                    cpus.iter().for_each(|cpu| lines.lose(cpu));
                }
                each(
                    cpus,
                    |cpu| cpu.rows.hardirqs.slices(),
                    |cpu, row| {
                        let beside = lines.as_mut().map_or(Gap::default(), |lines| lines.gap(names, cpu, row));
                        cells.take(names, cpu, row, beside);
                    },
                );
            }
            Of::Slices(cells, stays) => {
                let before = stays.as_mut().map(|stays| stays.before(names, cpus, shown.window));
                for (place, cpu) in cpus.iter().enumerate() {
                    for (number, row) in cpu.rows.slices.rows().iter().enumerate() {
                        let beside = before.as_ref().map(|before| before[place][number]).unwrap_or_default();
                        cells.take(names, cpu.number, row, beside);
                    }
                }
            }
            Of::Segments(cells) => cpus.iter().for_each(|cpu| {
                cpu.finished.each(|row, end_ns| cells.take(names, cpu.number, row, Ended { end_ns }));
            }),
            Of::Migrations(cells) => migrated.iter().for_each(|row| cells.take(names, 0, row, ())),
        }
    }

    fn finish(self: Box<Self>, names: &Names) -> Result<Tables> {
        match self.0 {
            Of::Polls(cells) => cells.finish(names),
            Of::Softirqs(cells, _) => cells.finish(names),
            Of::Hardirqs(cells, _) => cells.finish(names),
            Of::Slices(cells, _) => cells.finish(names),
            Of::Segments(cells) => cells.finish(names),
            Of::Migrations(cells) => cells.finish(names),
        }
    }
}

/// Shows every row of a table with its CPU.
fn each<'c, R: 'c, I: Iterator<Item = &'c [R]>>(
    cpus: &'c [Found],
    rows: impl Fn(&'c Found) -> I,
    mut take: impl FnMut(u32, &'c R),
) {
    cpus.iter().for_each(|cpu| rows(cpu).flatten().for_each(|row| take(cpu.number, row)));
}

impl Wanted {
    /// Whether any of these columns is used.
    fn names(&self, columns: &[&str]) -> bool {
        let of = |name: &String| columns.contains(&name.as_str());
        let plain = [&self.by, &self.sums, &self.known, &self.ends];
        plain.into_iter().flatten().any(of)
            || self.lengths.as_ref().is_some_and(of)
            || self.within.iter().any(|within| of(&within.0))
            || self.edges.iter().any(|edges| of(&edges.0))
    }

    /// The tables whose rows it takes.
    pub fn tables(&self) -> Vec<&str> {
        let mut tables = vec![self.rows.as_str()];
        match self.rows.as_str() {
            "softirqs" if self.names(&["polled_ns", "full_polls"]) => tables.push("polls"),
            "hardirqs" if self.names(&["gap_ns"]) => tables.push("coverage"),
            _ => {}
        }
        tables
    }
}

type Key = [i64; MOST_KEYS];

/// The name of a column's sum.
fn summed(name: &str) -> &str {
    match name {
        "work" => "packets",
        "self_ns" => "ns",
        other => other,
    }
}

struct Cells<R: Row> {
    /// The name of the rows, which is also that of their number.
    counted: &'static str,
    by: Vec<&'static Field<R>>,
    block: Option<(&'static Field<R>, i64)>,
    edges: Vec<(&'static Field<R>, Vec<i64>)>,
    sums: Vec<&'static Field<R>>,
    known: Vec<&'static Field<R>>,
    ends: Vec<&'static Field<R>>,
    within: Vec<(&'static Field<R>, i64, i64)>,
    lengths: Option<(&'static Field<R>, Lengths)>,
    places: FxHashMap<Key, usize>,
    /// Per group: the number of rows, the sums, and the numbers of known values.
    values: Vec<i64>,
    /// Per group and column of `ends`: the least and the most value.
    bounds: Vec<Option<(i64, i64)>>,
}

impl<R: Row> Cells<R> {
    fn new(counted: &'static str, fields: &'static [Field<R>], wanted: &Wanted, names: &Names) -> Result<Cells<R>> {
        let find = |name: &String| {
            let known = || fields.iter().map(|field| field.name).collect::<Vec<_>>().join(", ");
            field(fields, name).ok_or_else(|| bad!(Refused, "{counted} have no column '{name}'; there are {}", known()))
        };
        let number = |name: &String| match find(name)? {
            found @ Field { kind: Kind::Number, .. } => Ok(found),
            _ => Err(bad!(Refused, "'{name}' of {counted} is not a number")),
        };
        let all = |named: &[String]| named.iter().map(find).collect::<Result<Vec<_>>>();
        let block = match &wanted.block {
            Some((_, width)) if *width <= 0 => {
                return Err(bad!(Refused, "a block has to be longer than 0 ns, not {width}"))
            }
            Some((name, width)) => Some((number(name)?, *width)),
            None => None,
        };
        if wanted.edges.iter().any(|(_, edges)| !edges.is_sorted()) {
            return Err(bad!(Refused, "edges have to be in rising order"));
        }
        let edges = wanted.edges.iter().map(|(name, edges)| Ok((number(name)?, edges.clone())));
        let edges = edges.collect::<Result<Vec<_>>>()?;
        if wanted.by.len() + usize::from(block.is_some()) + edges.len() > MOST_KEYS {
            return Err(bad!(Refused, "rows are grouped by {MOST_KEYS} columns at most"));
        }
        if let Some(name) = wanted.by.iter().enumerate().find(|(place, name)| wanted.by[..*place].contains(name)) {
            return Err(bad!(Refused, "'{}' is named twice", name.1));
        }
        let mut within = Vec::new();
        for (name, low, high) in &wanted.within {
            let of = find(name)?;
            if matches!(of.kind, Kind::Label(_)) && (*low, *high) != (i64::MIN, i64::MAX) {
                return Err(bad!(Refused, "'{name}' of {counted} is a text: it takes no first and last"));
            }
            within.push((of, *low, *high));
        }
        for (name, text) in &wanted.texts {
            let of = find(name)?;
            let Kind::Label(labels) = of.kind else {
                return Err(bad!(Refused, "'{name}' of {counted} is a number: give the first and the last"));
            };
            // A text that never occurs is in no row.
            let key = labels(names).find(text).map_or(ABSENT, i64::from);
            within.push((of, key, key));
        }
        let lengths = wanted.lengths.as_ref().map(number).transpose()?.map(|of| (of, Lengths::default()));
        let sums = wanted.sums.iter().map(number).collect::<Result<Vec<_>>>()?;
        let ends = wanted.ends.iter().map(number).collect::<Result<Vec<_>>>()?;
        let (by, known) = (all(&wanted.by)?, all(&wanted.known)?);
        let (places, values, bounds) = (FxHashMap::default(), Vec::new(), Vec::new());
        Ok(Cells { counted, by, block, edges, sums, known, ends, within, lengths, places, values, bounds })
    }

    fn width(&self) -> usize {
        1 + self.sums.len() + self.known.len()
    }

    #[inline]
    fn take(&mut self, names: &Names, cpu: u32, row: &R, beside: R::Beside) {
        let width = self.width();
        let row = Told { told: row, beside };
        let of = |field: &Field<R>| (field.get)(names, cpu, &row);
        let is_within =
            |(field, low, high): &(&Field<R>, i64, i64)| of(field).is_some_and(|value| *low <= value && value <= *high);
        if !self.within.iter().all(is_within) {
            return;
        }
        let mut key = [ABSENT; MOST_KEYS];
        let mut places = key.iter_mut();
        places.by_ref().zip(&self.by).for_each(|(place, field)| *place = of(field).unwrap_or(ABSENT));
        if let (Some((field, width)), Some(place)) = (self.block, places.next()) {
            *place = of(field).map_or(ABSENT, |time_ns| time_ns.div_euclid(width));
        }
        let placed = |value: i64, edges: &[i64]| edges.partition_point(|&edge| edge <= value) as i64;
        let first = self.by.len() + usize::from(self.block.is_some());
        let edged = key[first..].iter_mut().zip(&self.edges);
        edged.for_each(|(place, (field, edges))| *place = of(field).map_or(ABSENT, |value| placed(value, edges)));
        let next = self.places.len();
        let place = *self.places.entry(key).or_insert(next);
        if place == next {
            self.values.resize((next + 1) * width, 0);
            self.bounds.resize((next + 1) * self.ends.len(), None);
        }
        let (sums, known) = self.values[place * width + 1..][..width - 1].split_at_mut(self.sums.len());
        sums.iter_mut().zip(&self.sums).for_each(|(sum, field)| *sum += of(field).unwrap_or(0));
        known.iter_mut().zip(&self.known).for_each(|(count, field)| *count += i64::from(of(field).is_some()));
        self.values[place * width] += 1;
        for (bounds, field) in self.bounds[place * self.ends.len()..].iter_mut().zip(&self.ends) {
            let Some(value) = of(field) else { continue };
            let (least, most) = bounds.unwrap_or((value, value));
            *bounds = Some((least.min(value), most.max(value)));
        }
        if let Some((field, lengths)) = &mut self.lengths {
            of(field).into_iter().for_each(|value| lengths.add(place, value.max(0)));
        }
    }

    /// Groups in the order of their keys' values: texts alphabetically, unknown last. A poll without a device is shown
    /// as "(no_device)", which comes first.
    fn in_order(&self, names: &Names) -> Vec<(Key, usize)> {
        let ranks = self.by.iter().map(|field| match field.kind {
            Kind::Label(labels) => Some(labels(names).ranks()),
            _ => None,
        });
        let ranks: Vec<Option<Vec<i64>>> = ranks.collect();
        let is_first = |field: &&Field<R>| self.counted == "polls" && field.name == "device";
        let first = self.by.iter().position(is_first);
        let rank = |key: &Key| {
            let mut ranked = *key;
            for (number, of) in ranked.iter_mut().enumerate() {
                *of = match ranks.get(number) {
                    _ if *of == ABSENT && first == Some(number) => i64::MIN,
                    _ if *of == ABSENT => i64::MAX,
                    Some(Some(ranks)) => ranks[(*of).narrow::<usize>()],
                    _ => *of,
                };
            }
            ranked
        };
        let mut groups: Vec<(Key, usize)> = self.places.iter().map(|(key, place)| (*key, *place)).collect();
        groups.sort_by_cached_key(|group| rank(&group.0));
        groups
    }

    fn finish(self, names: &Names) -> Result<Tables> {
        let width = self.width();
        let groups = self.in_order(names);
        let value = |number: usize| {
            let values = groups.iter().map(|group| self.values[group.1 * width + number]);
            plain::<Int64Type>(values)
        };
        let mut columns = Vec::new();
        let keys = self.by.iter().map(|field| (field.name.to_owned(), field.kind));
        let keys = keys.chain(self.block.map(|_| ("block".to_owned(), Kind::Number)));
        let edged = self.edges.iter().map(|(field, _)| (format!("{}_place", field.name), Kind::Number));
        for (number, (name, kind)) in keys.chain(edged).enumerate() {
            let keys = groups.iter().map(|(key, _)| Some(key[number]).filter(|&key| key != ABSENT));
            columns.push((name, kind.column(names, keys)));
        }
        let sums = self.sums.iter().map(|field| summed(field.name).to_owned());
        let known = self.known.iter().map(|field| format!("{}_known", field.name));
        let named = [self.counted.to_owned()].into_iter().chain(sums).chain(known);
        columns.extend(named.enumerate().map(|(number, name)| (name, value(number))));
        for (number, field) in self.ends.iter().enumerate() {
            let bounds = || groups.iter().map(|group| self.bounds[group.1 * self.ends.len() + number]);
            let (least, most) = (bounds().map(|of| of.map(|of| of.0)), bounds().map(|of| of.map(|of| of.1)));
            columns.push((format!("{}_least", field.name), optional::<Int64Type>(least)));
            columns.push((format!("{}_most", field.name), optional::<Int64Type>(most)));
        }
        if let Some((_, lengths)) = &self.lengths {
            let ends = || groups.iter().map(|group| lengths.ends(group.1));
            columns.push(("least".to_owned(), optional::<Int64Type>(ends().map(|ends| ends.map(|ends| ends.0)))));
            columns.push(("most".to_owned(), optional::<Int64Type>(ends().map(|ends| ends.map(|ends| ends.1)))));
        }
        let mut order = vec![0; groups.len()];
        groups.iter().enumerate().for_each(|(number, group)| order[group.1] = number);
        let mut tables = vec![("groups", batch(columns)?)];
        if let Some((_, lengths)) = &self.lengths {
            tables.push(("lengths", lengths.finish(&order)?));
        }
        Ok(tables)
    }
}
