//! Sums over all softirqs, interrupts and polls, and the first of them.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::first::First;
use crate::intern::NONE;
use crate::ledger::thief::{Class, Context};
use crate::pairing::chain::Chain;
use crate::pairing::line::added;
use crate::pairing::polled::{OfSoftirq, Polls};
use crate::pairing::rows::Irq;
use crate::pairing::runs::{Run, MAX_SOFTIRQ_RESTART};
use crate::pairing::settings::Settings;

/// What chains are counted by.
pub const COUNTED: [&str; 4] = ["origin", "name", "in_kthread", "raised"];
/// Why a run ended.
pub const REASONS: [&str; 6] = ["nothing pending", "rounds", "time", "time or need_resched", "need_resched", "unknown"];
const UNKNOWN: usize = 5;

/// Whether it is in a thread, its rounds, whether something was pending, and the index of the reason.
pub type Kind = (bool, i64, Option<bool>, usize);

/// Sums, each by its keys.
pub struct Sums {
    pub polls: Polls,
    /// Number and ns of device interrupts, by CPU, device and interrupt line.
    pub lines: FxHashMap<(i64, u32, Option<i64>), [i64; 2]>,
    /// By device, CPU, polls of the softirq and its line (-1 for none): polls that another poll of the device followed
    /// in their softirq. Then, added once per poll: time outside polls, time of the interrupt, and 1 if there was one;
    /// and the same three for the known polls only.
    pub around: FxHashMap<(u32, i64, i64, i64), [i64; 7]>,
    /// By the device polled first (`None` if nothing was polled, `NONE` if unknown): softirqs, packets, and the sum and
    /// known count of each part.
    pub by_device: FxHashMap<Option<u32>, [i64; 12]>,
    /// By whether there were polls (-1 if not recorded): polls, packets, wall, poll, softirqs, own, not nested.
    pub by_polls: BTreeMap<i64, [i64; 7]>,
    /// By index in `COUNTED`, and value: the number of an origin, the key of a name, 0 or 1.
    pub counts: FxHashMap<(usize, u32), i64>,
    /// Own time of stolen chains that a vector raised, by CPU, task and name.
    pub steered: FxHashMap<(i64, Option<i64>, u32), i64>,
    /// The first chains, the longest ones, and those that took long for few packets.
    pub chains: First<Chain>,
    pub longest: First<Chain>,
    pub strange: First<Chain>,
    /// The first runs, and their number by kind and by CPU.
    pub runs: First<(Run, Kind)>,
    pub run_counts: FxHashMap<Kind, i64>,
    pub runs_of_cpu: BTreeMap<i64, i64>,
    /// Settings that apply to all rows.
    pub has_polls: bool,
    pub window: (i64, i64),
}

impl Sums {
    pub fn new(settings: &Settings) -> Sums {
        let most = settings.shown.most;
        Sums {
            polls: Polls::default(),
            lines: FxHashMap::default(),
            around: FxHashMap::default(),
            by_device: FxHashMap::default(),
            by_polls: BTreeMap::new(),
            counts: FxHashMap::default(),
            steered: FxHashMap::default(),
            chains: First::new(most),
            longest: First::new(settings.shown.longest),
            strange: First::new(most),
            runs: First::new(most),
            run_counts: FxHashMap::default(),
            runs_of_cpu: BTreeMap::new(),
            has_polls: settings.has_polls,
            window: settings.window,
        }
    }

    /// Adds an interrupt, whole or not.
    pub fn add_line(&mut self, cpu: i64, irq: &Irq) {
        if irq.context == Context::Hardirq && irq.device != NONE {
            added(self.lines.entry((cpu, irq.device, irq.irq)).or_default(), &[1, irq.self_ns]);
        }
    }

    /// Adds a softirq's polls. `chain`: the softirq, if it is a NET_RX that was seen whole.
    pub fn add_polled(&mut self, cpu: i64, polled: Option<OfSoftirq>, chain: Option<&Chain>) {
        let Some(polled) = polled else { return };
        let raiser = chain.and_then(|chain| chain.raiser);
        let (shared, outside_ns) = chain.map_or((0, 0), |chain| (chain.softirq.polls, chain.softirq.outside_ns));
        let (irq_ns, raised) = raiser.map_or((0, 0), |irq| (irq.of.self_ns, 1));
        // A line's own interrupts count in full, whether or not they raised anything.
        let line = raiser.filter(|irq| irq.of.context == Context::Hardirq).and_then(|irq| irq.of.irq).unwrap_or(-1);
        for one in polled.each() {
            let (all, known) = (one.polls, one.known);
            let again = known - i64::from(one.last_known);
            let [outside, of_irq, irqs] =
                [outside_ns, irq_ns, raised].map(|ns| (all.saturating_mul(ns), known.saturating_mul(ns)));
            let values = [again, outside.0, of_irq.0, irqs.0, outside.1, of_irq.1, irqs.1];
            added(self.around.entry((one.device, cpu, shared, line)).or_default(), &values);
        }
    }

    /// Adds a NET_RX that was seen whole.
    pub fn add_chain(&mut self, chain: Chain, settings: &Settings) {
        let (of, cpu) = (&chain.softirq, chain.place.cpu);
        let (is_cut, has_polls, wall_ns) = (chain.is_cut(settings.window), settings.has_polls, chain.wall_ns());
        let of_polls = |value: i64| if has_polls { value } else { 0 };
        let (polls, packets) = (of_polls(of.polls), of_polls(of.packets));
        let own = |value: i64| Some(value).filter(|_| has_polls && !is_cut);
        let (outside, poll, nested) = (own(of.outside_ns), own(chain.poll_ns()), Some(chain.nested_ns()));
        let nested = nested.filter(|_| !is_cut);
        let is_without = of.is_from(&["task", "softirq"]);
        let irq = chain.raiser.map(|irq| irq.of.self_ns).or(is_without.then_some(0));
        let [irq, delay, outside, poll, nested] = [irq, chain.raise_delay_ns(), outside, poll, nested]
            .map(|part| (part.unwrap_or(0), i64::from(part.is_some())));
        let polled = Some(chain.device).filter(|_| !has_polls || of.polls > 0);
        let (first, second) = ([1, packets, irq.0, irq.1, delay.0, delay.1], [outside.0, outside.1]);
        let parts = [poll.0, poll.1, nested.0, nested.1];
        let mut values = [0; 12];
        let all = first.into_iter().chain(second).chain(parts);
        values.iter_mut().zip(all).for_each(|(value, part)| *value = part);
        added(self.by_device.entry(polled).or_default(), &values);

        let which = if has_polls { i64::from(of.polls > 0) } else { -1 };
        // The own and not nested parts exclude chains that are cut.
        let unnested = if is_cut { 0 } else { wall_ns - nested.0 };
        let sums = [polls, packets, wall_ns, poll.0, 1, poll.0 + outside.0, unnested];
        added(self.by_polls.entry(which).or_default(), &sums);

        let name = chain.raiser.map_or(NONE, |irq| irq.of.name);
        let keys = [of.origin.into(), name, of.in_kthread.into(), of.raise_ns.is_some().into()];
        for (what, which) in keys.into_iter().enumerate().filter(|key| key.1 != NONE) {
            *self.counts.entry((what, which)).or_default() += 1;
        }
        if matches!(of.class, Class::Stolen | Class::Either)
            && chain.raiser.is_some_and(|irq| irq.of.context == Context::Vector)
        {
            *self.steered.entry((cpu, of.tid, of.comm)).or_default() += of.self_ns;
        }
        let (shown, order) = (&settings.shown, -wall_ns);
        let is_strange = has_polls && of.packets < shown.fewer_packets && wall_ns >= shown.longer_ns;
        if self.longest.takes(order) {
            self.longest.add(order, cpu, chain.clone());
        }
        if is_strange && self.strange.takes(order) {
            self.strange.add(order, cpu, chain.clone());
        }
        if self.chains.takes(chain.softirq.entry_ns) {
            self.chains.add(chain.softirq.entry_ns, cpu, chain);
        }
    }

    /// Adds a run that is fully known.
    pub fn add_run(&mut self, cpu: i64, run: Run, settings: &Settings) {
        let wall_ns = run.end_ns - run.start_ns;
        let reason = match run.still_pending {
            _ if !settings.has_raises => UNKNOWN,
            false => 0,
            true if run.rounds == MAX_SOFTIRQ_RESTART => 1,
            true if wall_ns >= settings.limit_ns.1 => 2,
            true if wall_ns > settings.limit_ns.0 => 3,
            true => 4,
        };
        let pending = Some(run.still_pending).filter(|_| settings.has_raises);
        let kind = (run.in_kthread, run.rounds, pending, reason);
        *self.run_counts.entry(kind).or_default() += 1;
        *self.runs_of_cpu.entry(cpu).or_default() += 1;
        if self.runs.takes(run.start_ns) {
            self.runs.add(run.start_ns, cpu, (run, kind));
        }
    }
}
