//! Numbers back to names: tasks, interrupt lines and devices, once all of them are known.

use std::hash::Hash;

use arrow_array::types::Int32Type;
use arrow_array::ArrayRef;
use rustc_hash::FxHashMap;

use crate::intern::{Labels, NONE};
use crate::ledger::counters::Counters;
use crate::ledger::cpu::ORIGINS;
use crate::ledger::irqs::{IrqFacts, IrqRow, Irqs};
use crate::ledger::network::Network;
use crate::ledger::read::Reader;
use crate::ledger::rows::Cause;
use crate::ledger::schema::EventSchemas;
use crate::ledger::thief::{alike, place, softirq_thief, turned_to, Class, Context, Thief, TURNED_TO};
use crate::narrow::{low_half, Narrow};
use crate::tables::{each, optional, Plan};

/// Labels of `is_network`, indexed by `network_label`.
pub const NETWORKS: [&str; 3] = ["yes", "no", "unknown"];

/// Everything that rows refer to by number.
#[derive(Debug)]
pub struct Names {
    pub reader: Reader,
    pub irqs: Vec<IrqRow>,
    /// Names of tasks, devices and interrupts.
    pub strings: Labels,
    /// Contexts of thieves.
    pub contexts: Labels,
    /// Cost classes.
    pub classes: Labels,
    /// Whether a thief is network work.
    pub networks: Labels,
    /// Addresses of NAPI instances.
    pub napis: Labels,
    /// Origins of softirqs.
    pub origins: Labels,
    /// Causes of migrations.
    pub causes: Labels,
    /// Per thief, and once more for each entry of `TURNED_TO`, for runs that proved to be that.
    known: Vec<Known>,
    /// Tid and name per victim.
    victims: Vec<(i32, u32)>,
    /// Per victim: the first number with that tid and name. A task gets another number when it is forked or renamed.
    first: Vec<u32>,
    /// Per entry of `known`: the first equal one. A run may prove to be what its thief turns out to be.
    first_known: Vec<u32>,
}

/// What is known of a thief.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Known {
    /// Index into `Names::contexts`.
    pub context: u32,
    /// irq, vector number or softirq vec.
    pub id: Option<i64>,
    /// Index into `Names::strings`.
    pub name: u32,
    /// Index into `Names::napis`.
    pub napi: u32,
    /// Index into `Names::strings`.
    pub device: u32,
    /// Index into `Names::networks`.
    pub network: u32,
}

impl Names {
    /// Resolves everything.
    pub fn new(
        schemas: &EventSchemas,
        mut reader: Reader,
        irqs: Irqs,
        counters: &Counters,
        lines: &[(i64, String)],
    ) -> Names {
        let lines = lines.iter().map(|(irq, device)| (*irq, reader.strings.code(device.as_bytes()))).collect();
        let napi = reader.tasks.napi_threads();
        // Without sched_switch, polls may be the only sign of a NAPI thread.
        let unseen = !schemas.has_switch && (!schemas.has_poll || counters.polls_without_begin > 0);
        let threads = !napi.is_empty() || unseen;
        let facts = IrqFacts { raises: schemas.has_raise, wakings: schemas.has_waking, threads, napi, lines };
        let irqs = irqs.resolve(&mut reader.strings, &facts);
        let thieves = &reader.thieves.all;
        let mut napis: Vec<u64> = thieves.iter().filter_map(|thief| thief.napi).collect();
        napis.sort_unstable();
        napis.dedup();
        let proved = [None].into_iter().chain(TURNED_TO.map(Some));
        let runs = proved.flat_map(|proved| thieves.iter().map(move |thief| (thief, proved.unwrap_or(thief.network))));
        let known: Vec<Known> = runs.map(|(thief, network)| Known::of(thief, network, &irqs, &napis, &facts)).collect();
        let victims = reader.tasks.resolved();
        let (first, first_known) = (firsts(&victims), firsts(&known));
        Names {
            strings: Labels::new(reader.strings.values()),
            contexts: Labels::new(&Context::NAMES),
            classes: Labels::new(&Class::NAMES),
            networks: Labels::new(&NETWORKS),
            napis: Labels::of_numbers(napis),
            origins: Labels::new(&ORIGINS),
            causes: Labels::new(&Cause::ALL.map(Cause::name)),
            reader,
            irqs,
            known,
            victims,
            first,
            first_known,
        }
    }

    pub fn thief(&self, thief: u32) -> &Thief {
        &self.reader.thieves.all[place(thief)]
    }

    #[inline(always)]
    pub fn known(&self, thief: u32) -> &Known {
        &self.known[turned_to(thief) * self.reader.thieves.all.len() + place(thief)]
    }

    /// Interned name of a softirq vector.
    pub fn action(&self, vec: u8) -> u32 {
        self.thief(softirq_thief(vec)).name
    }

    pub fn texts(&self, codes: impl Iterator<Item = u32>) -> ArrayRef {
        self.strings.column(codes)
    }

    /// Thread id and name of a victim; `None` for nobody.
    #[inline(always)]
    pub fn victim(&self, victim: u32) -> Option<(i32, u32)> {
        self.victims.get(victim as usize).copied()
    }

    /// The first number with a victim's tid and name.
    #[inline(always)]
    pub fn first_of(&self, victim: u32) -> u32 {
        self.first.get(victim as usize).copied().unwrap_or(victim)
    }

    /// The first thief, with what its run proved to be, that is shown like this one.
    #[inline(always)]
    pub fn first_alike(&self, thief: u32) -> u32 {
        let thieves = self.reader.thieves.all.len();
        let first = self.first_known[turned_to(thief) * thieves + place(thief)] as usize;
        alike(thief, first % thieves, first / thieves)
    }

    /// Thread ids of victims; null for nobody.
    pub fn tids(&self, victims: impl Iterator<Item = u32>) -> ArrayRef {
        optional::<Int32Type>(victims.map(|victim| self.victim(victim).map(|found| found.0)))
    }

    /// Names of victims; null for nobody.
    pub fn comms(&self, victims: impl Iterator<Item = u32>) -> ArrayRef {
        self.strings.column(victims.map(|victim| self.victim(victim).map_or(NONE, |found| found.1)))
    }

    pub fn contexts(&self, thieves: impl Iterator<Item = u32>) -> ArrayRef {
        self.contexts.column(thieves.map(|thief| self.known(thief).context))
    }

    /// irq, vector or vec of thieves.
    pub fn ids(&self, thieves: impl Iterator<Item = u32>) -> ArrayRef {
        optional::<Int32Type>(thieves.map(|thief| self.known(thief).id.map(|id| low_half(id as u64) as i32)))
    }

    pub fn names(&self, thieves: impl Iterator<Item = u32>) -> ArrayRef {
        self.strings.column(thieves.map(|thief| self.known(thief).name))
    }

    /// NAPI instances of thieves. There are few, so this is a dictionary of addresses.
    pub fn napis(&self, thieves: impl Iterator<Item = u32>) -> ArrayRef {
        self.napis.column(thieves.map(|thief| self.known(thief).napi))
    }

    pub fn devices(&self, thieves: impl Iterator<Item = u32>) -> ArrayRef {
        self.strings.column(thieves.map(|thief| self.known(thief).device))
    }

    pub fn networks(&self, thieves: impl Iterator<Item = u32>) -> ArrayRef {
        self.networks.column(thieves.map(|thief| self.known(thief).network))
    }

    pub fn classes(&self, classes: impl Iterator<Item = Class>) -> ArrayRef {
        self.classes.column(classes.map(Class::code))
    }

    /// Adds the columns that say who owned a stretch, context to is_network.
    pub fn owners<'a, R: Sync>(
        &'a self,
        plan: &mut Plan<'a>,
        rows: &'a [&'a [R]],
        victim: fn(&R) -> u32,
        thief: fn(&R) -> u32,
        class: fn(&R) -> Class,
    ) {
        let victims = move || each(rows).map(victim);
        let thieves = move || each(rows).map(thief);
        let classes = move || each(rows).map(class);
        plan.add("context", move || self.contexts(thieves()))
            .add("tid", move || self.tids(victims()))
            .add("comm", move || self.comms(victims()))
            .add("id", move || self.ids(thieves()))
            .add("name", move || self.names(thieves()))
            .add("napi", move || self.napis(thieves()))
            .add("device", move || self.devices(thieves()))
            .add("cost_class", move || self.classes(classes()))
            .add("is_network", move || self.networks(thieves()));
    }
}

impl Known {
    fn of(thief: &Thief, network: Network, irqs: &[IrqRow], napis: &[u64], facts: &IrqFacts) -> Known {
        let line = |irq: i64| irqs.binary_search_by_key(&irq, |row| row.irq).ok().map(|index| &irqs[index]);
        let own_line = thief.id.filter(|_| thief.context == Context::Hardirq).and_then(line);
        let network = match network {
            Network::OfIrq => thief.id.and_then(line).map_or(Network::Unknown, |row| row.network),
            Network::OfRun if facts.all() => Network::No,
            Network::OfThread if facts.raises && !facts.threads => Network::No,
            network => network,
        };
        Known {
            context: thief.context as u32,
            id: thief.id,
            name: if thief.name == NONE { own_line.map_or(NONE, |row| row.name) } else { thief.name },
            napi: thief.napi.and_then(|napi| napis.binary_search(&napi).ok()).map_or(NONE, |index| index.narrow()),
            device: own_line.map_or(thief.device, |row| row.device),
            network: network_label(network),
        }
    }
}

/// Per value: the place of its first occurrence.
fn firsts<T: Copy + Eq + Hash>(values: &[T]) -> Vec<u32> {
    let mut first = FxHashMap::default();
    (0..).zip(values).map(|(place, value)| *first.entry(*value).or_insert(place)).collect()
}

/// Index into `NETWORKS`, or `NONE`.
pub fn network_label(network: Network) -> u32 {
    match network {
        Network::Yes => 0,
        Network::No => 1,
        Network::Unknown | Network::OfIrq | Network::OfRun | Network::OfThread => 2,
        Network::NotApplicable => NONE,
    }
}
