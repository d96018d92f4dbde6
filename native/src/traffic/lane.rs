//! A CPU's softirqs and the events in them, as they come in.
//!
//! ```text
//!   softirq   | entry     received A    waking 9     received B     exit |     two units: A, which woke 9, and B
//! ```

use std::collections::VecDeque;

use crate::ledger::thief::Class;
use crate::traffic::events::{Event, Kind};
use crate::traffic::packets::{End, Packets};

/// No softirq contains this many events.
const MOST: usize = 1 << 19;

/// A softirq, or a poll of a NAPI thread.
#[derive(Debug, Clone, Copy)]
pub struct Handled {
    pub cpu: u32,
    /// The task that ran, and the code of its name; `None` if unknown.
    pub task: Option<End>,
    pub class: Class,
    pub ns: i64,
    /// Whether packets are received in it.
    pub is_network: bool,
    pub in_softirq: bool,
}

/// A softirq whose events are yet to come.
#[derive(Debug)]
pub struct Softirq {
    pub entry_ns: i64,
    pub exit_ns: i64,
    pub of: Handled,
}

/// A packet that a softirq received, with what followed. A softirq without packets is one unit.
#[derive(Debug, Clone, Default)]
pub struct Unit {
    pub receipt: Option<u32>,
    /// The first task that it woke.
    pub woken: Option<End>,
    /// The first socket on which it announced data.
    pub socket: Option<i64>,
}

impl Unit {
    fn add(&mut self, event: &Event) {
        match event.kind {
            Kind::Woken => drop(self.woken.get_or_insert((event.what, event.name))),
            Kind::Ready => drop(self.socket.get_or_insert(event.what)),
            _ => {}
        }
    }
}

fn pop_if<T>(queue: &mut VecDeque<T>, is_wanted: impl Fn(&T) -> bool) -> Option<T> {
    queue.front().is_some_and(is_wanted).then(|| queue.pop_front()).flatten()
}

#[derive(Default)]
pub struct Lane {
    pub softirqs: VecDeque<Softirq>,
    /// Events after the last finished softirq, each with its packet's receipt.
    events: VecDeque<(Event, Option<u32>)>,
}

impl Lane {
    /// Adds an event; returns a receipt that nobody will ask for.
    pub fn push(&mut self, event: Event, receipt: Option<u32>) -> Option<u32> {
        if self.softirqs.front().is_some_and(|next| event.time_ns < next.entry_ns) {
            return receipt;
        }
        self.events.push_back((event, receipt));
        let too_many = self.events.len() > MOST;
        too_many.then(|| self.events.pop_front()).flatten().and_then(|event| event.1)
    }

    /// Takes the next softirq that ended before `until_ns`, with its units in order of time.
    pub fn done(&mut self, until_ns: i64, packets: &mut Packets, units: &mut Vec<Unit>) -> Option<Handled> {
        units.clear();
        let softirq = pop_if(&mut self.softirqs, |next| next.exit_ns < until_ns)?;
        // If one softirq ends when the next begins, events at that time belong to the next.
        let next_ns = self.softirqs.front().map_or(i64::MAX, |next| next.entry_ns);
        let mut whole = Unit::default();
        let is_inside = |event: &Event| event.time_ns <= softirq.exit_ns && event.time_ns < next_ns;
        while let Some((event, receipt)) = pop_if(&mut self.events, |(event, _)| is_inside(event)) {
            let tid = softirq.of.task.map_or(-1, |task| task.0);
            if event.time_ns < softirq.entry_ns || event.tid != tid {
                receipt.into_iter().for_each(|receipt| packets.release(receipt));
            } else if event.kind == Kind::Received {
                match softirq.of.is_network {
                    true => units.push(Unit { receipt, ..Unit::default() }),
                    false => receipt.into_iter().for_each(|receipt| packets.release(receipt)),
                }
            } else {
                whole.add(&event);
                units.last_mut().into_iter().for_each(|unit| unit.add(&event));
            }
        }
        if units.is_empty() {
            units.push(whole);
        }
        Some(softirq.of)
    }
}
