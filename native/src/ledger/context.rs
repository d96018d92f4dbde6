//! What all CPUs share during a pass.

use rustc_hash::FxHashMap;

use crate::intern::{CommCache, Interner, NONE};
use crate::ledger::irqs::Irqs;
use crate::ledger::request::Want;
use crate::ledger::rows::{CoverageRow, Rows};
use crate::ledger::schema::EventSchemas;
use crate::ledger::segment::{Finished, Segment};
use crate::ledger::task::Tasks;
use crate::ledger::thief::{Class, Context, Network, Thieves};
use crate::ledger::wait::Waits;

/// What went wrong, counted.
#[derive(Debug, Default, Clone, Copy)]
pub struct Counters {
    /// Events whose flags or task contradict what came before.
    pub disagreements: u64,
    /// Exits whose entry was not seen.
    pub orphan_exits: u64,
    /// Records that perf had written twice.
    pub repeats: u64,
    /// Timestamps earlier than the ring's previous one.
    pub backwards: u64,
    /// Polls outside softirqs and NAPI threads.
    pub polls_without_begin: u64,
    /// Samples of the ledger's events that are cut short or name no possible CPU or vector.
    pub unreadable: u64,
    /// Places where records were lost and the kernel did not say how many.
    pub lost_unknown: u64,
}

/// In `LedgerContext::likely`: the last handler's name.
pub const LIKELY_HANDLER: usize = 0;
/// The last device's.
pub const LIKELY_DEVICE: usize = 1;

/// Shared state.
#[derive(Debug)]
pub struct LedgerContext {
    /// Every string.
    pub strings: Interner,
    /// The last handler's name, and the last device's.
    pub likely: [u32; 2],
    /// Fast path to task names.
    pub comms: CommCache,
    /// Tasks.
    pub tasks: Tasks,
    /// Thieves.
    pub thieves: Thieves,
    /// Interrupt lines.
    pub irqs: Irqs,
    /// Waiting tasks.
    pub waits: Waits,
    /// Table rows.
    pub rows: Rows,
    /// Recorded events.
    pub schemas: EventSchemas,
    /// What to produce.
    pub want: Want,
    /// Counters.
    pub counters: Counters,
    /// Times outside this are not counted.
    pub window: (i64, i64),
    /// Width of the bins of the sums.
    pub bin_ns: Option<i64>,
    /// CPU of the latest stay of each NAPI thread.
    pub napi_home: FxHashMap<i32, u32>,
    softirq_thieves: Vec<u32>,
    /// Last poll's (napi, device): the next is usually the same.
    poll_cache: Option<(u64, u32, u32)>,
}

/// Softirq vectors are single bits of a 32-bit mask.
pub const SOFTIRQ_VECTORS: usize = 32;

impl LedgerContext {
    /// The code of a name, `NONE` for none; `likely`: where the last one of its kind is kept.
    #[inline(always)]
    pub fn name(&mut self, text: Option<&[u8]>, likely: usize) -> u32 {
        text.map_or(NONE, |text| self.strings.code_likely(text, &mut self.likely[likely]))
    }

    /// Nothing has happened yet.
    pub fn new(schemas: EventSchemas, want: Want, window: Option<(i64, i64)>, bin_ns: Option<i64>) -> LedgerContext {
        let mut strings = Interner::default();
        let mut thieves = Thieves::new(&mut strings);
        let softirq_thieves = (0..SOFTIRQ_VECTORS as i64)
            .map(|vec| {
                let name = schemas.softirqs.iter().find(|symbol| symbol.0 == vec);
                let name = name.map_or_else(|| format!("softirq {vec}"), |symbol| symbol.1.clone());
                let name = strings.code(name.as_bytes());
                thieves.softirq(vec, name)
            })
            .collect();
        LedgerContext {
            strings,
            likely: [NONE; 2],
            comms: CommCache::default(),
            tasks: Tasks::default(),
            thieves,
            irqs: Irqs::default(),
            waits: Waits::default(),
            rows: Rows::default(),
            schemas,
            want,
            counters: Counters::default(),
            window: window.unwrap_or((i64::MIN, i64::MAX)),
            bin_ns,
            napi_home: FxHashMap::default(),
            softirq_thieves,
            poll_cache: None,
        }
    }

    /// How much of a stretch lies in the window.
    #[inline(always)]
    pub fn clip(&self, start: i64, end: i64) -> i64 {
        (end.min(self.window.1) - start.max(self.window.0)).max(0)
    }

    /// Whether a stretch touches the window.
    #[inline(always)]
    pub fn touches(&self, start: i64, end: i64) -> bool {
        start <= self.window.1 && end >= self.window.0
    }

    /// The thief of a softirq vector.
    #[inline(always)]
    pub fn softirq_thief(&self, vec: i64) -> u32 {
        self.softirq_thieves[vec as usize % SOFTIRQ_VECTORS]
    }

    /// The thief of a NAPI instance.
    #[inline(always)]
    pub fn poll_thief(&mut self, napi: u64, device: u32) -> u32 {
        if let Some((_, _, thief)) = self.poll_cache.filter(|cached| (cached.0, cached.1) == (napi, device)) {
            return thief;
        }
        let thief = self.thieves.poll(napi, device);
        self.poll_cache = Some((napi, device, thief));
        thief
    }

    /// The task that has a tid now.
    pub fn task(&mut self, tid: i32) -> u32 {
        self.tasks.current(tid, &mut self.strings, &mut self.thieves)
    }

    /// The same, under the name an event gives it.
    pub fn named_task(&mut self, tid: i32, comm: u32) -> u32 {
        if comm == NONE {
            return self.task(tid);
        }
        self.tasks.named(tid, comm, &mut self.strings, &mut self.thieves)
    }

    /// Writes what is known of waits into the slices.
    pub fn take_answers(&mut self) {
        for answer in self.waits.answers.drain(..) {
            if let Some(row) = self.rows.slices.get_mut(answer.row) {
                (row.wake_ns, row.wait_ns) = (answer.wake_ns, Some(answer.wait_ns));
            }
        }
    }

    /// Times of two CPUs cannot be compared after all.
    pub fn forget_waits(&mut self) {
        self.waits.displaced.clear();
        for row in &mut self.rows.slices {
            (row.wake_ns, row.wait_ns) = (None, None);
        }
    }

    /// Notes a stretch that cannot be accounted for.
    pub fn uncovered(&mut self, cpu: u32, start_ns: i64, end_ns: i64, why: &'static str, lost: u64) {
        self.rows.coverage.push(CoverageRow { cpu, start_ns, end_ns, why, lost });
    }

    /// Hands a finished segment to sums and table, clipped to the window.
    #[inline(always)]
    pub fn finish_segment(&mut self, cpu: u32, finished: &mut Finished, segment: &Segment) {
        let mut segment = *segment;
        segment.start = segment.start.max(self.window.0);
        segment.end = segment.end.min(self.window.1);
        if segment.start >= segment.end {
            return;
        }
        if self.want.displaced || self.want.slices {
            self.note_scheduled(cpu, &segment);
        }
        finished.take(cpu, &segment, self.bin_ns, self.want.segments);
    }

    fn note_scheduled(&mut self, cpu: u32, segment: &Segment) {
        if segment.class == Class::Scheduled {
            let thief = &self.thieves.all[segment.thief as usize];
            let works = matches!(thief.context, Context::Softirq | Context::Poll | Context::Task);
            if works && thief.network == Network::Yes {
                self.waits.hold(cpu, segment.start, segment.end);
            }
        }
    }
}
