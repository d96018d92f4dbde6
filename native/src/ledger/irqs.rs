//! Which device an interrupt line serves.
//!
//! Drivers name handlers and users name devices. These facts connect them, the best first: the line raises NET_RX and
//! the softirq then polls the device; its handler wakes the NAPI thread that polls the device; the handler is named
//! after the device; the bundle says so; another line of the same stem serves the device.

use rustc_hash::FxHashMap;

use crate::intern::{Interner, NONE};
use crate::ledger::devices::{ByName, Devices};
use crate::ledger::network::Network;
use crate::ledger::stem::{device_of_thread, stem};

/// Most tasks or devices of one line or thread that are told apart. Damaged input may have more.
const MAX: usize = 64;
/// Most handlers of one line.
const MAX_NAMES: usize = 8;

#[derive(Debug, Default)]
struct Line {
    /// Names, with the time at which each first occurred.
    names: Vec<(i64, u32)>,
    entries: i64,
    /// Handlers that were seen to end.
    exits: i64,
    net_rx: i64,
    /// It left work to a tasklet.
    deferred: bool,
    devices: Vec<(u32, i64)>,
    /// Tasks woken in the handler, by tid.
    woken: Vec<(i32, i64)>,
    /// NAPI threads switched in right after it.
    next: Vec<(i32, i64)>,
}

#[derive(Debug, Default)]
pub struct Irqs {
    lines: FxHashMap<i64, Line>,
    devices: Devices,
    /// A tasklet raised NET_RX or woke a NAPI thread, as in USB drivers.
    pub tasklets_lead: bool,
    /// Devices that each NAPI thread polled.
    threads: FxHashMap<i32, Vec<(u32, i64)>>,
}

/// What the recording can show of a line or a run that did nothing for the network.
#[derive(Debug, Default)]
pub struct IrqFacts {
    /// All raises of softirqs were recorded.
    pub raises: bool,
    /// All wake-ups were recorded, where the waker ran.
    pub wakings: bool,
    /// There may be NAPI threads.
    pub threads: bool,
    /// Names of the known NAPI threads, by tid.
    pub napi: FxHashMap<i32, u32>,
    /// Devices of lines as the bundle has them, by line number.
    pub lines: FxHashMap<i64, u32>,
}

impl IrqFacts {
    /// Whether network work would have been seen.
    pub fn all(&self) -> bool {
        self.raises && (self.wakings || !self.threads)
    }
}

/// What is finally known of a line.
#[derive(Debug, Clone)]
pub struct IrqRow {
    pub irq: i64,
    /// First name.
    pub name: u32,
    /// Interned device, or `NONE`.
    pub device: u32,
    /// How the device is known: an index into `KNOWN_BY`, or `NONE`.
    pub known_by: u32,
    pub network: Network,
    /// Times entered.
    pub count: i64,
}

/// How a line is known to serve the network.
pub const KNOWN_BY: [&str; 6] = ["polls", "wake-ups", "switches", "name", "bundle", "stem"];

fn add<K: PartialEq>(counts: &mut Vec<(K, i64)>, key: K, count: i64) {
    match counts.iter_mut().find(|(known, _)| *known == key) {
        Some((_, sum)) => *sum += count,
        None => counts.push((key, count)),
    }
}

/// Notes the first time of a value.
#[inline(always)]
fn note(first: &mut Vec<(i64, u32)>, value: u32, now: i64) {
    match first.iter_mut().find(|(_, known)| *known == value) {
        Some((earliest, _)) => *earliest = now.min(*earliest),
        None => first.push((now, value)),
    }
}

/// The same, up to a limit of keys.
fn add_few<K: PartialEq>(counts: &mut Vec<(K, i64)>, key: K, count: i64) {
    if counts.len() < MAX || counts.iter().any(|(known, _)| *known == key) {
        add(counts, key, count);
    }
}

/// The key with over half of all counts.
fn most(counts: &[(u32, i64)]) -> Option<u32> {
    let total: i64 = counts.iter().map(|(_, count)| count).sum();
    counts.iter().max_by_key(|(_, count)| *count).filter(|(_, count)| count * 2 > total).map(|(key, _)| *key)
}

impl Irqs {
    /// A handler of the line was entered.
    #[inline(always)]
    pub fn entered(&mut self, irq: i64, name: u32, now: i64) {
        let line = self.lines.entry(irq).or_default();
        line.entries += 1;
        if line.names.len() < MAX_NAMES {
            note(&mut line.names, name, now);
        }
    }

    /// The handler ended, and everything it did was recorded.
    #[inline(always)]
    pub fn exited(&mut self, irq: i64) {
        self.lines.entry(irq).or_default().exits += 1;
    }

    /// The line raised NET_RX.
    pub fn raised_net_rx(&mut self, irq: i64) {
        self.lines.entry(irq).or_default().net_rx += 1;
    }

    /// The line's handler left work to a tasklet.
    pub fn deferred(&mut self, irq: i64) {
        self.lines.entry(irq).or_default().deferred = true;
    }

    /// The line's handler woke a task that is or may be a NAPI thread.
    pub fn woke(&mut self, irq: i64, tid: i32) {
        add_few(&mut self.lines.entry(irq).or_default().woken, tid, 1);
    }

    /// A NAPI thread was switched in, and the last handler before that was this line's.
    pub fn switched_to(&mut self, irq: i64, tid: i32) {
        add_few(&mut self.lines.entry(irq).or_default().next, tid, 1);
    }

    /// A NAPI thread polled `device`.
    pub fn thread_polled(&mut self, tid: i32, device: u32) {
        add_few(self.threads.entry(tid).or_default(), device, 1);
    }

    /// A poll of `device` followed a NET_RX that these lines raised.
    #[inline(always)]
    pub fn polled(&mut self, lines: &[i64], device: u32, now: i64) {
        self.devices.polled(device, now);
        for irq in lines {
            add_few(&mut self.lines.entry(*irq).or_default().devices, device, 1);
        }
    }

    /// Adds another CPU's findings.
    pub fn add(&mut self, other: Irqs) {
        for (irq, found) in other.lines {
            let line = self.lines.entry(irq).or_default();
            found.names.iter().for_each(|&(at, name)| note(&mut line.names, name, at));
            line.entries += found.entries;
            line.exits += found.exits;
            line.net_rx += found.net_rx;
            line.deferred |= found.deferred;
            found.devices.into_iter().for_each(|(device, count)| add_few(&mut line.devices, device, count));
            found.woken.into_iter().for_each(|(tid, count)| add_few(&mut line.woken, tid, count));
            found.next.into_iter().for_each(|(tid, count)| add_few(&mut line.next, tid, count));
        }
        self.devices.add(other.devices);
        self.tasklets_lead |= other.tasklets_lead;
        for (tid, polled) in other.threads {
            let known = self.threads.entry(tid).or_default();
            polled.into_iter().for_each(|(device, count)| add_few(known, device, count));
        }
    }

    /// Sorts names by the time they first occurred, once every CPU was added.
    pub fn sort(&mut self) {
        for line in self.lines.values_mut() {
            line.names.sort_unstable();
            line.names.truncate(MAX_NAMES);
        }
    }

    /// Every line, by number. A line belongs to the device that it led to in over half of its polls.
    pub fn resolve(&self, strings: &mut Interner, facts: &IrqFacts) -> Vec<IrqRow> {
        let devices = self.devices.by_name(strings);
        let row = |(&irq, line)| self.row(irq, line, strings, facts, &devices);
        let mut rows: Vec<IrqRow> = self.lines.iter().map(row).collect();
        rows.sort_by_key(|row| row.irq);
        self.share_stems(&mut rows, strings);
        rows
    }

    fn row(&self, irq: i64, line: &Line, strings: &mut Interner, facts: &IrqFacts, devices: &ByName) -> IrqRow {
        let found = self.evidence(irq, line, strings, facts, devices);
        let (known_by, device) = found.unwrap_or((NONE, NONE));
        let shared = line.names.len() > 1;
        let network = match (found.is_some(), shared) {
            (true, true) => Network::Unknown,
            (true, false) => Network::Yes,
            (false, _) if facts.all() && line.exits > 0 && !(line.deferred && self.tasklets_lead) => Network::No,
            (false, _) => Network::Unknown,
        };
        let name = line.names.first().map_or(NONE, |first| first.1);
        IrqRow { irq, name, device, known_by, network, count: line.entries }
    }

    /// How the line is known to be network work, as an index into `KNOWN_BY`, and its device or `NONE`.
    fn evidence(
        &self,
        irq: i64,
        line: &Line,
        strings: &mut Interner,
        facts: &IrqFacts,
        devices: &ByName,
    ) -> Option<(u32, u32)> {
        let named = |strings: &Interner| devices.named_after(line.names.iter().map(|&(_, name)| strings.get(name)));
        let of_threads = |threads: &[(i32, i64)], strings: &mut Interner| {
            let mut devices = Vec::new();
            let napi = threads.iter().filter(|(tid, _)| facts.napi.contains_key(tid));
            napi.clone().for_each(|(tid, count)| add(&mut devices, self.of_thread(*tid, strings, facts), *count));
            (napi.count() > 0).then(|| most(&devices).unwrap_or(NONE))
        };
        let or_named = |device: u32, strings: &Interner| {
            Some(device).filter(|&device| device != NONE).or(named(strings)).unwrap_or(NONE)
        };
        if line.net_rx > 0 || !line.devices.is_empty() {
            let device = or_named(most(&line.devices).unwrap_or(NONE), strings);
            return Some((0, device));
        }
        if let Some(device) = of_threads(&line.woken, strings) {
            return Some((1, or_named(device, strings)));
        }
        // Where wake-ups were not recorded, a NAPI thread must have followed more than half of the handlers.
        let followed: i64 = line.next.iter().map(|(_, count)| count).sum();
        if !facts.wakings && followed * 2 > line.entries {
            let device = of_threads(&line.next, strings).unwrap_or(NONE);
            return Some((2, or_named(device, strings)));
        }
        named(strings).map(|device| (3, device)).or(facts.lines.get(&irq).map(|&device| (4, device)))
    }

    /// The device that a NAPI thread polled most, or that it is named after.
    fn of_thread(&self, tid: i32, strings: &mut Interner, facts: &IrqFacts) -> u32 {
        if let Some(device) = self.threads.get(&tid).and_then(|polled| most(polled)) {
            return device;
        }
        let comm = facts.napi.get(&tid).copied().filter(|&comm| comm != NONE);
        let device = comm.and_then(|comm| device_of_thread(strings.get(comm)).map(str::to_owned));
        device.map_or(NONE, |device| strings.code(device.as_bytes()))
    }

    /// Gives lines without evidence the device that all other lines of their stem serve.
    fn share_stems(&self, rows: &mut [IrqRow], strings: &Interner) {
        let mut known: FxHashMap<&str, u32> = FxHashMap::default();
        for row in rows.iter().filter(|row| row.network == Network::Yes) {
            if let Some(stem) = stem(strings.get(row.name)) {
                let device = known.entry(stem).or_insert(row.device);
                if *device != row.device {
                    *device = NONE;
                }
            }
        }
        for row in rows.iter_mut().filter(|row| row.known_by == NONE) {
            if let Some(&device) = stem(strings.get(row.name)).and_then(|stem| known.get(stem)) {
                let shared = self.lines.get(&row.irq).is_some_and(|line| line.names.len() > 1);
                row.network = if shared { Network::Unknown } else { Network::Yes };
                (row.device, row.known_by) = (device, 5);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_find_their_device() {
        let mut strings = Interner::default();
        let mut code = |text: &str| strings.code(text.as_bytes());
        let (input, eth0, link, disk) = (code("virtio2-input.0"), code("eth0"), code("eth0-link"), code("nvme0q1"));
        let (output, thread, woken) = (code("virtio2-output.0"), code("napi/eth1-8195"), code("virtio3-input.0"));
        let mut irqs = Irqs::default();
        for (irq, name) in [(25, input), (26, link), (27, disk), (28, output), (29, woken)] {
            irqs.entered(irq, name, 0);
            irqs.exited(irq);
        }
        irqs.raised_net_rx(25);
        irqs.polled(&[25], eth0, 0);
        irqs.woke(29, 70);
        let facts = IrqFacts {
            raises: true,
            wakings: true,
            threads: true,
            napi: [(70, thread)].into_iter().collect(),
            ..IrqFacts::default()
        };
        let rows = irqs.resolve(&mut strings, &facts);
        let eth1 = strings.code(b"eth1");
        let found: Vec<(i64, u32, Network)> = rows.iter().map(|row| (row.irq, row.device, row.network)).collect();
        let yes = |irq: i64, device: u32| (irq, device, Network::Yes);
        assert_eq!(found, vec![yes(25, eth0), yes(26, eth0), (27, NONE, Network::No), yes(28, eth0), yes(29, eth1)]);
        let blind = irqs.resolve(&mut strings, &IrqFacts { wakings: false, ..facts });
        assert_eq!(blind[2].network, Network::Unknown);
    }
}
