//! Counter values that samples carry (PERF_SAMPLE_READ): of the event itself, or of its group.

use std::sync::Arc;

use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{ArrayRef, PrimitiveArray};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

use crate::bytes::u64_at;
use crate::perf::ids::Ids;
use crate::perf::layout::{read, Layout, Parts};
use crate::recording::Event;

/// Groups are as large as the CPU has counters; more columns than this come from damage.
const MAX_MEMBERS: usize = 64;

/// Values by row, a column per event of the group.
#[derive(Debug, Default)]
pub struct Counters {
    members: IndexMap<u32, Values, FxBuildHasher>,
    enabled: Values,
    running: Values,
    rows: usize,
}

/// Values of some rows; the others have none.
#[derive(Debug, Default)]
struct Values {
    values: Vec<u64>,
    known: Vec<bool>,
}

impl Values {
    fn put(&mut self, row: usize, value: u64) {
        self.fill(row);
        if self.values.len() == row {
            self.values.push(value);
            self.known.push(true);
        }
    }

    fn fill(&mut self, rows: usize) {
        self.values.resize(rows.max(self.values.len()), 0);
        self.known.resize(self.values.len(), false);
    }
}

impl Counters {
    /// Notes the values of one more row.
    pub fn add(&mut self, ids: &Ids, event: u32, layout: &Layout, parts: &Parts, record: &[u8]) {
        let row = self.rows;
        self.rows += 1;
        let Some(at) = parts.read else { return };
        let has = |bit: u64| layout.read_format & bit != 0;
        let grouped = has(read::GROUP);
        let mut words = (at..).step_by(8).map_while(|at| u64_at(record, at));
        // The first word is the size of a group, or the value of a single event.
        let Some(first) = words.next() else { return };
        for (bit, times) in
            [(read::TOTAL_TIME_ENABLED, &mut self.enabled), (read::TOTAL_TIME_RUNNING, &mut self.running)]
        {
            if has(bit) {
                words.next().into_iter().for_each(|time| times.put(row, time));
            }
        }
        let count = if grouped { first } else { 1 };
        for _ in 0..count.min(MAX_MEMBERS as u64) {
            let Some(value) = (if grouped { words.next() } else { Some(first) }) else { break };
            let id = has(read::ID).then(|| words.next()).flatten();
            if has(read::LOST) {
                words.next();
            }
            // A single value is of the event itself; in a group the id says of which event.
            let member = if grouped { id.and_then(|id| ids.find(id)) } else { Some(event) };
            if let Some(values) = member.and_then(|member| self.member(member)) {
                values.put(row, value);
            }
        }
    }

    fn member(&mut self, event: u32) -> Option<&mut Values> {
        let has_room = self.members.len() < MAX_MEMBERS || self.members.contains_key(&event);
        has_room.then(|| self.members.entry(event).or_default())
    }

    /// The columns: times first, then one `read:EVENT` per event.
    pub fn finish(self, events: &[Event], rows: usize) -> Vec<(String, ArrayRef)> {
        let nulls = |known: Vec<bool>| Some(NullBuffer::from(known));
        let mut table: Vec<(String, ArrayRef)> = Vec::new();
        for (name, mut times) in [("time_enabled_ns", self.enabled), ("time_running_ns", self.running)] {
            if !times.values.is_empty() {
                times.fill(rows);
                let values = times.values.into_iter().map(|time| time as i64).collect::<Vec<i64>>();
                let column = PrimitiveArray::<Int64Type>::new(ScalarBuffer::from(values), nulls(times.known));
                table.push((name.to_owned(), Arc::new(column)));
            }
        }
        for (event, mut values) in self.members {
            values.fill(rows);
            let name = events.get(event as usize).map_or("", |event| &event.name);
            let column = PrimitiveArray::<UInt64Type>::new(ScalarBuffer::from(values.values), nulls(values.known));
            table.push((format!("read:{name}"), Arc::new(column)));
        }
        table
    }
}
