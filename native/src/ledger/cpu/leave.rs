//! Where rows are dealt in batches, final rows leave their CPU at the end of a round.
//!
//! ```text
//!   softirqs by entry   | done | done | parked ... |  done  |
//!                       |<-- leave -->|  waits for |  waits with it: rows leave in their table's order
//!                                     |  its exit  |
//! ```
//! Two things can still change. The last segment ends where the next begins. A slice can be doubted while the tail
//! holds segments of it, and gains the time of a poll that goes on after it.

use crate::ledger::cpu::napi_thread::Poll;
use crate::ledger::cpu::softirq::Softirq;
use crate::ledger::cpu::Cpu;
use crate::ledger::left::Left;
use crate::ledger::rows::{known, SoftirqRow};

impl Cpu {
    /// Takes the final rows: all of them once the recording is over.
    pub(super) fn leave(&mut self) -> Left {
        let first_open = |entry_ns: Option<i64>| entry_ns.filter(|_| !self.is_over).unwrap_or(i64::MAX);
        let parked = self.parked.values().filter_map(|parked| parked.softirq.as_ref());
        let softirqs = parked.chain(self.softirqs.open()).map(Softirq::entry_ns).min();
        let (softirqs, hardirqs) = (first_open(softirqs), first_open(self.hardirqs.first_entry_ns()));
        let changes_since = if self.is_over { i64::MAX } else { self.changes_since() };
        let slices = if self.is_over { usize::MAX } else { self.first_changing_slice(changes_since) };
        let migrations = self.causes.last_moved().filter(|_| !self.is_over).unwrap_or(usize::MAX);
        let Cpu { rows, finished, is_over, .. } = self;
        let entered = |row: &SoftirqRow| known(row.entry_ns).unwrap_or(row.exit_ns);
        rows.softirqs.sort_by_key(entered);
        rows.hardirqs.sort_by_key(|row| row.entry_ns.or(row.exit_ns));
        rows.coverage.sort_by_key(|row| row.start_ns);
        let gaps = rows.coverage.partition_point(|row| row.start_ns <= changes_since);
        let (segments, segments_end) = finished.leave(*is_over);
        Left {
            segments,
            segments_end,
            softirqs: rows.softirqs.take_while(|row| entered(row) <= softirqs),
            hardirqs: rows.hardirqs.take_while(|row| row.entry_ns.or(row.exit_ns) <= Some(hardirqs)),
            polls: rows.polls.take_while(|_| true),
            slices: rows.slices.leave(slices),
            migrations: std::mem::take(rows.migrations.leave(migrations).rows_mut()),
            coverage: rows.coverage.drain(..gaps).collect(),
            execs: std::mem::take(&mut rows.execs),
        }
    }

    /// No segment before this time can become unknown any more.
    fn changes_since(&self) -> i64 {
        self.tail.first_start().unwrap_or(i64::MAX).min(self.since).min(self.last_ns)
    }

    /// Nothing that began before this time can change any more: whatever is open or may still be doubted began later.
    pub(super) fn final_until(&self) -> i64 {
        if self.no_hardirq_ns == i64::MIN || self.no_softirq_ns == i64::MIN {
            // An exit without its entry would put the stretch before the first event in doubt.
            return i64::MIN;
        }
        let changes_since = self.changes_since();
        let slice = self.settings.has_slices.then(|| self.first_changing_slice(changes_since));
        let slice = slice.and_then(|row| self.rows.slices.get(row)).map(|slice| slice.in_ns);
        let parked = self.parked.values();
        let polls = parked.clone().filter_map(|parked| parked.poll.as_ref()).chain(&self.napi_poll).map(Poll::start_ns);
        let softirqs = parked.filter_map(|parked| parked.softirq.as_ref()).chain(self.softirqs.open());
        let open = softirqs.map(Softirq::entry_ns).chain(polls).chain(self.hardirqs.first_entry_ns()).chain(slice);
        open.fold(changes_since, i64::min)
    }

    fn first_changing_slice(&self, changes_since: i64) -> usize {
        let slices = &self.rows.slices;
        let changing = slices.rows().iter().rposition(|slice| slice.in_ns <= changes_since);
        let polls = self.parked.values().filter_map(|parked| parked.poll.as_ref()).chain(&self.napi_poll);
        let earlier = polls.flat_map(|poll| poll.earlier()).filter(|part| self.continued(part.number));
        let first = slices.first() + changing.unwrap_or(0);
        earlier.map(|part| part.row).chain([self.slice.row()]).fold(first, usize::min)
    }
}
