//! Whose each unit was, as sums.

use std::hash::Hash;

use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::ArrayRef;
use indexmap::IndexMap;
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::error::Result;
use crate::intern::{Interner, Labels};
use crate::ledger::shown::Tables;
use crate::ledger::thief::Class;
use crate::lives::slice::NOBODY;
use crate::narrow::Narrow;
use crate::tables::{booleans, optional, plain, Plan};
use crate::traffic::lane::{Handled, Unit};
use crate::traffic::packets::{End, Packets};

/// How a unit's owner is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum By {
    Raiser,
    Packet,
    Socket,
    WakeUp,
    Unknown,
    NoNetwork,
}

const KNOWN_BY: [&str; 6] = ["raiser", "packet", "socket", "wake-up", "unknown", "no network"];
const SIDES: [&str; 2] = ["sender", "receiver"];

/// A task, or nobody.
type Task = (Option<i64>, u32);
/// A unit's owner, and how the owner is known.
type Owner = (Task, By);

/// Sums over rows with one key.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    softirqs: i64,
    units: i64,
    ns: i64,
    by_packet: i64,
    /// The last softirq that was counted.
    last: u64,
}

type Counts<Key> = IndexMap<Key, Count, FxBuildHasher>;

/// Sums over units.
#[derive(Default)]
pub struct Sums {
    /// By tid: the name that the task had for longest. Events know tasks by any name they ever had.
    longest: FxHashMap<i64, u32>,
    /// By socket: the one task that it woke.
    sockets: FxHashMap<i64, End>,
    nobody: u32,
    softirqs: u64,
    by_owner: Counts<(Task, Owner, bool)>,
    by_pair: Counts<(End, End)>,
    by_end: Counts<(usize, End)>,
    by_class: Counts<(u32, Task, Class, Owner)>,
    announced: Counts<(i64, End)>,
}

fn count<Key: Hash + Eq>(counts: &mut Counts<Key>, key: Key, softirq: u64, ns: i64, is_by_packet: bool) {
    let of = counts.entry(key).or_default();
    of.softirqs += i64::from(of.last != softirq);
    of.last = softirq;
    of.units += 1;
    of.ns += ns;
    of.by_packet += i64::from(is_by_packet);
}

impl Sums {
    pub fn new(longest: &[(i64, String)], sockets: &[(i64, i64, String)], strings: &mut Interner) -> Sums {
        let mut code = |name: &str| strings.code(name.as_bytes());
        Sums {
            nobody: code(std::str::from_utf8(NOBODY).unwrap_or_default()),
            longest: longest.iter().map(|(tid, name)| (*tid, code(name))).collect(),
            sockets: sockets.iter().map(|(socket, tid, name)| (*socket, (*tid, code(name)))).collect(),
            ..Sums::default()
        }
    }

    /// Adds a softirq or poll whose units' packets are all known. The remainder of the division goes to the first
    /// units, a nanosecond each.
    pub fn add(&mut self, of: &Handled, units: &[Unit], packets: &Packets) {
        self.softirqs += 1;
        let many = units.len() as i64;
        for (unit, place) in units.iter().zip(0..) {
            self.unit(of, unit, of.ns / many + i64::from(place < of.ns % many), packets);
        }
    }

    fn unit(&mut self, of: &Handled, unit: &Unit, ns: i64, packets: &Packets) {
        let softirq = self.softirqs;
        let task: Task = of.task.map_or((None, self.nobody), |(tid, name)| (Some(tid), name));
        if let (Some(socket), Some(woken)) = (unit.socket, unit.woken) {
            count(&mut self.announced, (socket, woken), softirq, 0, false);
        }
        let by_socket = unit.socket.and_then(|socket| self.sockets.get(&socket).copied());
        let woken = by_socket.or(unit.woken).filter(|_| of.is_network);
        let ends = unit.receipt.and_then(|receipt| packets.ends(receipt)).filter(|_| of.is_network);
        let (sent, taken) = ends.unwrap_or_default();
        // Buffers of other kinds of sockets leave no event when an address is reused.
        let taken = taken.filter(|end| by_socket.is_none_or(|owner| owner.0 == end.0));
        let is_raised = of.class == Class::Synchronous;
        let sender = if is_raised { Some(task) } else { sent.map(|end| (Some(end.0), end.1)) };
        let (receiver, received_by) = match (taken, by_socket, woken) {
            (Some(end), ..) => (Some(end), By::Packet),
            (None, Some(_), Some(end)) => (Some(end), By::Socket),
            (None, None, Some(end)) => (Some(end), By::WakeUp),
            _ => (None, By::Unknown),
        };
        let known = |end: Task| match end.0 {
            Some(tid) if task.0.is_some_and(|own| own != tid) => {
                (Some(tid), self.longest.get(&tid).copied().unwrap_or(end.1))
            }
            _ => end,
        };
        let sender = sender.map(known);
        let receiver = receiver.map(|end| known((Some(end.0), end.1)));
        let owner: Owner = if !of.is_network {
            ((None, self.nobody), By::NoNetwork)
        } else if is_raised {
            (sender.unwrap_or((None, self.nobody)), By::Raiser)
        } else if sender.is_some() && taken.is_none() {
            (sender.unwrap_or((None, self.nobody)), By::Packet)
        } else {
            (receiver.unwrap_or((None, self.nobody)), received_by)
        };
        count(&mut self.by_owner, (task, owner, of.is_network), softirq, ns, false);
        let end = |end: Option<Task>| end.and_then(|end| Some((end.0?, end.1)));
        let (sender, receiver) = (end(sender), end(receiver));
        for (side, end) in [sender, receiver].into_iter().enumerate() {
            if let Some(end) = end {
                count(&mut self.by_end, (side, end), softirq, ns, false);
            }
        }
        if let (Some(sender), Some(receiver)) = (sender, receiver) {
            count(&mut self.by_pair, (sender, receiver), softirq, ns, received_by == By::Packet);
        }
        // Nothing that a NAPI thread polls is stolen.
        if of.is_network && of.in_softirq {
            count(&mut self.by_class, (of.cpu, task, of.class, owner), softirq, ns, false);
        }
    }

    /// The sums as tables.
    pub fn tables(&self, strings: &Interner, is_servant: impl Fn(&str) -> bool + Sync) -> Result<Tables> {
        let labels = Labels::new(strings.values());
        let is_servant = |task: &Task| is_servant(strings.get(task.1));
        let (kinds, sides, classes) = (Labels::new(&KNOWN_BY), Labels::new(&SIDES), Labels::new(&Class::NAMES));
        let text = |codes: &mut dyn Iterator<Item = u32>| labels.column(codes);
        let mut owners = Plan::new();
        tasks(&mut owners, &text, "", &self.by_owner, |key| key.0);
        tasks(&mut owners, &text, "owner_", &self.by_owner, |key| key.1 .0);
        owners
            .add("owner_known_by", || kinds.column(self.by_owner.keys().map(|key| key.1 .1 as u32)))
            .add("is_network", || booleans(self.by_owner.keys().map(|key| key.2)))
            .add("is_servant", || booleans(self.by_owner.keys().map(|key| is_servant(&key.0))));
        let mut pairs = Plan::new();
        tasks(&mut pairs, &text, "sender_", &self.by_pair, |key| (Some(key.0 .0), key.0 .1));
        tasks(&mut pairs, &text, "receiver_", &self.by_pair, |key| (Some(key.1 .0), key.1 .1));
        let mut ends = Plan::new();
        ends.add("side", || sides.column(self.by_end.keys().map(|key| key.0.narrow())));
        tasks(&mut ends, &text, "", &self.by_end, |key| (Some(key.1 .0), key.1 .1));
        let mut of_classes = Plan::new();
        of_classes.add("cpu", || plain::<Int32Type>(self.by_class.keys().map(|key| key.0 as i32)));
        tasks(&mut of_classes, &text, "", &self.by_class, |key| key.1);
        of_classes.add("cost_class", || classes.column(self.by_class.keys().map(|key| key.2.code())));
        tasks(&mut of_classes, &text, "owner_", &self.by_class, |key| key.3 .0);
        of_classes.add("owner_known_by", || kinds.column(self.by_class.keys().map(|key| key.3 .1 as u32)));
        let mut announced = Plan::new();
        announced.add("socket", || plain::<Int64Type>(self.announced.keys().map(|key| key.0)));
        tasks(&mut announced, &text, "woken_", &self.announced, |key| (Some(key.1 .0), key.1 .1));
        counts(&mut owners, &self.by_owner);
        counts(&mut pairs, &self.by_pair);
        counts(&mut ends, &self.by_end);
        counts(&mut of_classes, &self.by_class);
        counts(&mut announced, &self.announced);
        Ok(vec![
            ("by_owner", owners.batch()?),
            ("by_pair", pairs.batch()?),
            ("by_end", ends.batch()?),
            ("by_class", of_classes.batch()?),
            ("announced", announced.batch()?),
        ])
    }
}

type Text<'t> = dyn Fn(&mut dyn Iterator<Item = u32>) -> ArrayRef + Send + Sync + 't;

fn tasks<'t, Key: Sync>(
    plan: &mut Plan<'t>,
    text: &'t Text<'t>,
    side: &str,
    counts: &'t Counts<Key>,
    task: fn(&Key) -> Task,
) {
    plan.add(format!("{side}tid"), move || optional::<Int64Type>(counts.keys().map(|key| task(key).0)))
        .add(format!("{side}comm"), move || text(&mut counts.keys().map(|key| task(key).1)));
}

fn counts<'t, Key: Sync>(plan: &mut Plan<'t>, counts: &'t Counts<Key>) {
    plan.add("softirqs", || plain::<Int64Type>(counts.values().map(|of| of.softirqs)))
        .add("units", || plain::<Int64Type>(counts.values().map(|of| of.units)))
        .add("ns", || plain::<Int64Type>(counts.values().map(|of| of.ns)))
        .add("by_packet", || plain::<Int64Type>(counts.values().map(|of| of.by_packet)));
}
