//! Who queued each packet before it was received, and who took it afterwards.
//!
//! ```text
//!   address A   queued by 7 | received | taken by 9 | received |   addresses are reused: the ends of a receipt are the
//!                             7 -> 9                               events of its address just before and just after it
//! ```

use rustc_hash::FxHashMap;

use crate::narrow::Narrow;

/// A task, and the code of its name.
pub type End = (i64, u32);

/// One receipt of a packet.
#[derive(Debug, Clone, Default)]
struct Receipt {
    sender: Option<End>,
    receiver: Option<End>,
    /// Whether the next event of its address has come.
    is_closed: bool,
    /// Number of holders: packets in flight, events and units.
    holders: u32,
}

/// The last event of an address, if the next one can add to it.
enum Last {
    Queued(End),
    /// Time and receipt.
    Received(i64, u32),
}

/// Packets in flight, and receipts that are still needed.
#[derive(Default)]
pub struct Packets {
    last: FxHashMap<i64, Last>,
    receipts: Vec<Receipt>,
    free: Vec<u32>,
}

impl Packets {
    /// A packet was queued. `end`: the task that did it, outside interrupts.
    pub fn queued(&mut self, address: i64, end: Option<End>) {
        self.taken(address, None);
        if let Some(end) = end {
            self.last.insert(address, Last::Queued(end));
        }
    }

    /// A packet was copied, consumed or dropped. `end`: the task that did it, outside interrupts.
    pub fn taken(&mut self, address: i64, end: Option<End>) {
        if let Some(Last::Received(_, receipt)) = self.last.remove(&address) {
            self.close(receipt, end);
        }
    }

    /// A packet was received. Returns its receipt, held once for the caller. Two at the same time are one, and end.
    pub fn received(&mut self, address: i64, time_ns: i64) -> u32 {
        let sender = match self.last.remove(&address) {
            Some(Last::Received(since_ns, receipt)) => {
                if since_ns == time_ns {
                    self.receipts[receipt as usize].holders += 1;
                    self.close(receipt, None);
                    return receipt;
                }
                self.close(receipt, None);
                None
            }
            Some(Last::Queued(end)) => Some(end),
            None => None,
        };
        let new = Receipt { sender, holders: 2, ..Receipt::default() };
        let receipt = match self.free.pop() {
            Some(place) => {
                self.receipts[place as usize] = new;
                place
            }
            None => {
                self.receipts.push(new);
                (self.receipts.len() - 1).narrow()
            }
        };
        self.last.insert(address, Last::Received(time_ns, receipt));
        receipt
    }

    /// No more events will come.
    pub fn end(&mut self) {
        for last in std::mem::take(&mut self.last).into_values() {
            if let Last::Received(_, receipt) = last {
                self.close(receipt, None);
            }
        }
    }

    /// Sender and receiver, as far as they are known; `None` if the next event may still show them.
    pub fn ends(&self, receipt: u32) -> Option<(Option<End>, Option<End>)> {
        let of = &self.receipts[receipt as usize];
        of.is_closed.then_some((of.sender, of.receiver))
    }

    /// Releases one hold.
    pub fn release(&mut self, receipt: u32) {
        let of = &mut self.receipts[receipt as usize];
        of.holders -= 1;
        if of.holders == 0 {
            self.free.push(receipt);
        }
    }

    fn close(&mut self, receipt: u32, receiver: Option<End>) {
        let of = &mut self.receipts[receipt as usize];
        (of.receiver, of.is_closed) = (receiver, true);
        self.release(receipt);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: End = (7, 0);
    const SERVER: End = (9, 1);

    #[test]
    fn the_ends_of_a_receipt_are_the_events_around_it() {
        let mut packets = Packets::default();
        packets.queued(1, Some(CLIENT));
        let first = packets.received(1, 10);
        assert_eq!(packets.ends(first), None);
        packets.taken(1, Some(SERVER));
        assert_eq!(packets.ends(first), Some((Some(CLIENT), Some(SERVER))));
        // Queued in a softirq, received twice, dropped.
        packets.queued(1, None);
        let (second, third) = (packets.received(1, 20), packets.received(1, 30));
        packets.taken(1, None);
        assert_eq!([second, third].map(|one| packets.ends(one)), [Some((None, None)); 2]);
        let (fourth, again) = (packets.received(2, 40), packets.received(2, 40));
        assert_eq!((fourth, packets.ends(fourth)), (again, Some((None, None))));
        packets.queued(3, Some(CLIENT));
        let last = packets.received(3, 50);
        packets.end();
        assert_eq!(packets.ends(last), Some((Some(CLIENT), None)));
    }

    /// Random events of a few addresses, compared with a search through all of them.
    #[test]
    fn receipts_are_what_a_search_finds() {
        let mut number = 1_u32;
        let mut drawn = |below: u32| {
            number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (number >> 16) % below
        };
        let events: Vec<(u32, i64, Option<End>)> = (0..2_000)
            .map(|_| (drawn(4), drawn(5).into(), Some((drawn(3).into(), 0)).filter(|_| drawn(2) == 0)))
            .collect();
        let mut packets = Packets::default();
        let mut receipts = Vec::new();
        for ((kind, address, end), time_ns) in events.iter().zip(0..) {
            match kind {
                0 => packets.queued(*address, *end),
                1 => receipts.push((time_ns, packets.received(*address, time_ns as i64))),
                2 => packets.taken(*address, *end),
                _ => packets.taken(*address, None),
            }
        }
        packets.end();
        for (place, receipt) in receipts {
            let is_same = |event: &&(u32, i64, Option<End>)| event.1 == events[place].1;
            let sender = events[..place].iter().rfind(is_same).filter(|event| event.0 == 0);
            let receiver = events[place + 1..].iter().find(is_same).filter(|event| event.0 == 2);
            let ends = [sender, receiver].map(|event| event.and_then(|event| event.2));
            assert_eq!(packets.ends(receipt), Some((ends[0], ends[1])), "event {place}");
        }
    }

    #[test]
    fn no_more_is_kept_than_is_on_its_way_or_asked_for() {
        let mut packets = Packets::default();
        for time_ns in 0..1_000 {
            packets.queued(time_ns % 7, Some(CLIENT));
            let receipt = packets.received(time_ns % 7, time_ns);
            packets.release(receipt);
        }
        assert!(packets.last.len() <= 7 && packets.receipts.len() <= 8);
    }
}
