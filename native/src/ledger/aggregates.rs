//! The aggregates that there are.

use std::sync::Arc;

use crate::episodes::{self, Episodes};
use crate::error::{bad, Result};
use crate::handovers::{Handovers, Wanted as HandedOver};
use crate::ledger::aggregate::Aggregate;
use crate::ledger::at::{Charged, Costs, Moments, Next, Owners, Passed};
use crate::ledger::binned::Binned;
use crate::ledger::group::{Group, Wanted as Grouping};
use crate::ledger::raised::Raised;
use crate::ledger::resolve::Names;
use crate::ledger::stays::{Stays, Wanted as Stayed};
use crate::ledger::stays_of::{StaysOf, Whose};
use crate::ledger::ticks::Ticks;
use crate::ledger::wakeups::Wakeups;
use crate::pairing::{self, Pairing};
use crate::traffic::{self, Traffic};

/// One of them.
#[derive(Debug, Clone)]
pub enum Wanted {
    /// Tables `groups` (a row a group: its keys, how many rows, by the name of these, the sums (of `work` it is `packets`,
    /// of `self_ns` it is `ns`), `NAME_known`, `NAME_least`, `NAME_most`, and where lengths are asked for `least` and
    /// `most`) and `lengths` (a row a group and length that occurred, or bin of lengths where there are many: `group`, its
    /// place, `low`, `high`, `count`, `total`).
    Group(Box<Grouping>),
    /// Tables `lives`, `twice`, `renamed`, `holders`, `waits` and `wait_lengths`.
    Stays(Arc<Stayed>),
    /// What woke idle CPUs, with how long at most the idle task runs from an interrupt to what that led to: tables
    /// `wakeups` and `idle`.
    Wakeups(i64),
    /// Sums within bins of this width: a table `sums`, as a pass gives it, with a row a bin and owner.
    Binned(i64),
    /// The stays of some tasks: a table `stays`.
    StaysOf(Whose),
    /// What was handed over to threads: tables `stays`, `held` and `waits`.
    Handovers(Arc<HandedOver>),
    /// Which line raised how many NET_RX softirqs, and in how many of them which device was polled: tables `raised`,
    /// `polled`, and `devices`, all that were polled.
    Raised,
    /// Timer interrupts on top of tasks, and how many of them were on a softirq: a table `ticks`.
    Ticks,
    /// Softirqs with the interrupts that raised them, their runs and their polls: tables `runs`, `chains`, `longest`,
    /// `strange`, `sizes`, `lines`, `around`, `stretches`, `seen`, `power`, `by_device`, `by_polls`, `counts`,
    /// `run_counts`, `runs_of_cpu` and `steered`.
    Pairing(Arc<pairing::Settings>),
    /// The longest stretches of interrupts on top of a task: tables `episodes`, `parts` (a row an episode and who took time
    /// in it) and `total`, how many there are.
    Episodes(Arc<episodes::Settings>),
    /// Whose traffic softirqs were: tables `by_owner`, `by_pair`, `by_end`, `by_class` and `announced`, which tasks were woken
    /// for which socket.
    Traffic(Arc<traffic::Wanted>),
    /// Whose CPUs were at moments, a vector of this name looked through: tables `owners`, all that there were and their
    /// `ns`, and `moments`, the place of each one's `owner`, null outside of segments.
    Owners(Arc<Moments>, Option<String>),
    /// Events and what they cost: a table `owners`, with `ns`, `events`, and `cost_N` of each cost.
    Charged(Arc<Costs>),
    /// How long tasks had run by moments, and softirqs on top of them: table `moments`, `own_ns` and `softirq_ns`.
    Passed(Arc<Moments>),
    /// Where tasks ran next after moments: table `moments`, `in_ns` and `ran_on`, null where they did not.
    Next(Arc<Moments>),
}

impl Wanted {
    /// One that nothing more is asked of.
    pub fn named(name: &str) -> Result<Wanted> {
        match name {
            "raised" => Ok(Wanted::Raised),
            "ticks" => Ok(Wanted::Ticks),
            _ => Err(bad!(Refused, "no aggregate is called '{name}'")),
        }
    }

    /// Of nothing yet.
    pub fn begin(&self, names: &Names) -> Result<Box<dyn Aggregate>> {
        Ok(match self {
            Wanted::Group(wanted) => Box::new(Group::new(wanted, names)?),
            Wanted::Stays(wanted) => Box::new(Stays::new(wanted)),
            Wanted::StaysOf(whose) => Box::new(StaysOf::new(whose)),
            Wanted::Handovers(wanted) => Box::new(Handovers::new(wanted)),
            Wanted::Raised => Box::new(Raised::default()),
            Wanted::Ticks => Box::new(Ticks::default()),
            Wanted::Pairing(settings) => Box::new(Pairing::new(settings)),
            Wanted::Episodes(settings) => Box::new(Episodes::new(settings, names)),
            Wanted::Traffic(wanted) => Box::new(Traffic::new(wanted)),
            Wanted::Binned(width) => Box::new(Binned::new(*width)),
            Wanted::Wakeups(gap_ns) => Box::new(Wakeups::new(*gap_ns)),
            Wanted::Owners(moments, through) => {
                let through = through.as_ref().and_then(|name| names.strings.find(name));
                Box::new(Owners::new(moments, through))
            }
            Wanted::Charged(costs) => Box::new(Charged::new(costs)),
            Wanted::Passed(moments) => Box::new(Passed::new(moments)),
            Wanted::Next(moments) => Box::new(Next::new(moments)),
        })
    }

    /// Tables that it takes rows of.
    pub fn tables(&self) -> Vec<&str> {
        match self {
            Wanted::Group(wanted) => wanted.tables(),
            Wanted::Stays(_) => vec!["slices", "migrations"],
            Wanted::StaysOf(_) => vec!["slices"],
            Wanted::Handovers(_) => vec!["slices", "segments", "softirqs", "hardirqs", "polls", "migrations"],
            Wanted::Traffic(_) => vec!["softirqs", "polls"],
            Wanted::Ticks => vec!["hardirqs", "softirqs"],
            Wanted::Raised | Wanted::Pairing(_) => vec!["hardirqs", "softirqs", "polls"],
            Wanted::Episodes(_) => vec!["segments", "softirqs", "polls"],
            Wanted::Binned(_) | Wanted::Wakeups(_) | Wanted::Owners(..) | Wanted::Charged(_) | Wanted::Passed(_) => {
                vec!["segments"]
            }
            Wanted::Next(_) => vec!["slices"],
        }
    }
}
