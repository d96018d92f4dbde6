//! Whose traffic softirqs carried, from packets, sockets and wake-ups.
//!
//! ```text
//!   CPU 0  client   | net_dev_queue A | softirq: netif_receive_skb A | sk_data_ready S | waking server
//!   CPU 1  server                                          | skb_copy_datagram_iovec A |
//! ```
//!
//! A unit is a packet that a softirq received, from its netif_receive_skb to the next one's. A softirq without packets
//! is one unit. The owner of a unit is known from this evidence, the strongest first:
//!
//! - packet: a task queued the same buffer before, or got it copied after, and no other packet had its address in
//!   between;
//! - socket: the unit announced data on a socket that, elsewhere in the recording, woke one task;
//! - wake-up: the unit woke a task.

mod events;
mod lane;
mod packets;
mod sums;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::intern::Interner;
use crate::ledger::aggregate::Aggregate;
use crate::ledger::cpu::Found;
use crate::ledger::migrated::Migrated;
use crate::ledger::network::Network;
use crate::ledger::resolve::Names;
use crate::ledger::rows::{known, PollRow, SoftirqRow};
use crate::ledger::shown::{Shown, Tables};
use crate::ledger::softirq::policy;
use crate::narrow::Narrow;
use events::{Event, Events};
pub use events::{Kind, Wanted};
use lane::{Handled, Lane, Softirq, Unit};
use packets::{End, Packets};
use sums::Sums;

/// Threads that exist to run softirqs and interrupts. Waking one does not show whose packets these are.
fn is_servant(name: &str) -> bool {
    const BEGIN: [&str; 10] =
        ["ksoftirqd/", "ktimers/", "rcu/", "rcu_", "rcuc/", "rcuc_", "migration/", "napi/", "irq/", "backlog_napi/"];
    let is_rcu = |rest: &str| rest.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    BEGIN.iter().any(|begin| name.starts_with(begin)) || name.strip_prefix("rcu").is_some_and(is_rcu)
}

/// Units so far.
pub struct Traffic {
    wanted: Arc<Wanted>,
    events: Events,
    /// Events before this are not needed.
    since_ns: Option<i64>,
    /// Time up to which events were read. More may follow at that time.
    read_ns: i64,
    packets: Packets,
    lanes: BTreeMap<u32, Lane>,
    /// Softirqs with a packet whose next event has not come yet.
    waiting: Vec<(Handled, Vec<Unit>)>,
    sums: Sums,
    strings: Interner,
    /// By victim number.
    tasks: Vec<Option<End>>,
    /// By name code.
    servants: Vec<Option<bool>>,
    failed: Option<Error>,
}

impl Traffic {
    /// Nothing seen yet.
    pub fn new(wanted: &Arc<Wanted>) -> Traffic {
        let mut strings = Interner::default();
        let sums = Sums::new(&wanted.longest, &wanted.sockets, &mut strings);
        Traffic {
            wanted: Arc::clone(wanted),
            events: Events::of(wanted),
            since_ns: None,
            read_ns: i64::MIN,
            packets: Packets::default(),
            lanes: BTreeMap::new(),
            waiting: Vec::new(),
            sums,
            strings,
            tasks: Vec::new(),
            servants: Vec::new(),
            failed: None,
        }
    }

    fn task(&mut self, names: &Names, victim: u32) -> Option<End> {
        let place = victim as usize;
        if let Some(&Some(known)) = self.tasks.get(place) {
            return Some(known);
        }
        let of = names.victim(victim)?;
        let task = (of.0.into(), self.strings.code(names.reader.strings.get(of.1).as_bytes()));
        if self.tasks.len() <= place {
            self.tasks.resize(place + 1, None);
        }
        self.tasks[place] = Some(task);
        Some(task)
    }

    fn softirq(&mut self, names: &Names, cpu: u32, row: &SoftirqRow) {
        let is_network = policy(row.vec.narrow()).network == Network::Yes;
        let task = self.task(names, row.victim);
        let of = Handled { cpu, task, class: row.class, ns: row.self_ns, is_network, in_softirq: true };
        match (known(row.entry_ns), known(row.exit_ns)) {
            (Some(entry_ns), Some(exit_ns)) => {
                self.lanes.entry(cpu).or_default().softirqs.push_back(Softirq { entry_ns, exit_ns, of });
            }
            _ => self.sums.add(&of, &[Unit::default()], &self.packets),
        }
    }

    fn poll(&mut self, names: &Names, cpu: u32, row: &PollRow) {
        let Some(ns) = known(row.self_ns).filter(|_| row.softirq.is_none()) else { return };
        let task = self.task(names, row.victim);
        let of = Handled { cpu, task, class: row.class, ns, is_network: true, in_softirq: false };
        self.sums.add(&of, &[Unit::default()], &self.packets);
    }

    /// Takes the next event, on a packet's path or near a softirq.
    fn event(&mut self, event: Event) {
        let receipt = match event.kind {
            Kind::Queued => return self.packets.queued(event.what, event.by_task()),
            Kind::Taken => return self.packets.taken(event.what, event.by_task()),
            Kind::Freed => return self.packets.taken(event.what, None),
            Kind::Received if self.wanted.follows => Some(self.packets.received(event.what, event.time_ns)),
            Kind::Received | Kind::Ready => None,
            Kind::Woken if event.what == 0 || self.is_servant(event.name) => return,
            Kind::Woken => None,
        };
        let cpu = u32::try_from(event.cpu).ok().filter(|cpu| {
            let is_shown = self.wanted.cpus.as_ref().is_none_or(|cpus| cpus.contains(cpu));
            is_shown && event.is_in_softirq() && self.since_ns.is_none_or(|since_ns| event.time_ns >= since_ns)
        });
        let unasked = match cpu {
            Some(cpu) => self.lanes.entry(cpu).or_default().push(event, receipt),
            None => receipt,
        };
        unasked.into_iter().for_each(|receipt| self.packets.release(receipt));
    }

    fn is_servant(&mut self, name: u32) -> bool {
        let place = name as usize;
        if self.servants.len() <= place {
            self.servants.resize(place + 1, None);
        }
        *self.servants[place].get_or_insert_with(|| is_servant(self.strings.get(name)))
    }

    /// Reads more events; false if there are none.
    fn read_on(&mut self) -> Result<bool> {
        let found = match self.events.next(&mut self.strings)? {
            Some(found) => found.to_vec(),
            None => {
                self.packets.end();
                self.read_ns = i64::MAX;
                return Ok(false);
            }
        };
        self.read_ns = found.last().map_or(self.read_ns, |event| event.time_ns);
        found.into_iter().for_each(|event| self.event(event));
        Ok(true)
    }

    /// Settles softirqs whose events were all read, and those that waited for packets.
    fn settle(&mut self) {
        let Traffic { lanes, packets, sums, waiting, read_ns, .. } = self;
        waiting.retain(|(of, units)| !settled(sums, packets, of, units));
        let mut units = Vec::new();
        for lane in lanes.values_mut() {
            while let Some(of) = lane.done(*read_ns, packets, &mut units) {
                if !settled(sums, packets, &of, &units) {
                    waiting.push((of, std::mem::take(&mut units)));
                }
            }
        }
    }

    fn add(&mut self, names: &Names, cpus: &[Found], window: (i64, i64)) -> Result<()> {
        for cpu in cpus {
            cpu.rows.softirqs.slices().flatten().for_each(|row| self.softirq(names, cpu.number, row));
            cpu.rows.polls.slices().flatten().for_each(|row| self.poll(names, cpu.number, row));
        }
        // The first softirq may have begun before the window.
        let first_ns = |lane: &Lane| lane.softirqs.front().map(|softirq| softirq.entry_ns);
        self.since_ns.get_or_insert(self.lanes.values().filter_map(first_ns).fold(window.0, i64::min));
        let last_ns = |lane: &Lane| lane.softirqs.back().map(|softirq| softirq.exit_ns);
        let until_ns = self.lanes.values().filter_map(last_ns).max().unwrap_or(i64::MIN);
        self.settle();
        while self.read_ns <= until_ns && self.read_ns != i64::MAX {
            self.read_on()?;
            self.settle();
        }
        Ok(())
    }
}

/// Counts a softirq if all of its packets are known.
fn settled(sums: &mut Sums, packets: &mut Packets, of: &Handled, units: &[Unit]) -> bool {
    let mut receipts = units.iter().filter_map(|unit| unit.receipt);
    let is_settled = receipts.all(|receipt| packets.ends(receipt).is_some());
    if is_settled {
        sums.add(of, units, packets);
        units.iter().filter_map(|unit| unit.receipt).for_each(|receipt| packets.release(receipt));
    }
    is_settled
}

impl Aggregate for Traffic {
    fn take(&mut self, names: &Names, cpus: &[Found], _: &[Migrated], shown: &Shown<'_>) {
        if self.failed.is_none() {
            self.failed = self.add(names, cpus, shown.window).err();
        }
    }

    fn finish(mut self: Box<Self>, _: &Names) -> Result<Tables> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        while !self.waiting.is_empty() {
            self.read_on()?;
            self.settle();
        }
        self.sums.tables(&self.strings, is_servant)
    }
}
