//! All aggregates, by what they are asked for.

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

/// An aggregate to run.
#[derive(Debug, Clone)]
pub enum Wanted {
    /// Table `groups` has a row per group: its keys, the number of rows under the rows' name, the sums (that of `work`
    /// is `packets`, that of `self_ns` is `ns`), `NAME_known`, `NAME_least`, `NAME_most`, and `least` and `most` if
    /// lengths are asked for. Table `lengths` has a row per group and length, or per bin if there are many lengths:
    /// `group` (its place), `low`, `high`, `count`, `total`.
    Group(Box<Grouping>),
    /// Tables `lives`, `twice`, `renamed`, `holders`, `waits` and `wait_lengths`.
    Stays(Arc<Stayed>),
    /// What woke idle CPUs: tables `wakeups` and `idle`. Takes the longest that the idle task may run between an
    /// interrupt and what it led to.
    Wakeups(i64),
    /// Sums in bins of this width: a table `sums` as a pass gives it, with a row per bin and owner.
    Binned(i64),
    /// The stays of some tasks: a table `stays`.
    StaysOf(Whose),
    /// Work handed over to threads: tables `stays`, `held` and `waits`.
    Handovers(Arc<HandedOver>),
    /// How many NET_RX softirqs each line raised, and how many of them polled each device: tables `raised`, `polled`,
    /// `devices` with all polled devices, and `instances`, the softirqs that polled one instance alone, by its line.
    /// Takes the longest time from a handler's exit to the entry of a softirq that it raised, for captures without raises.
    Raised(i64),
    /// Timer interrupts on top of tasks, and how many of them hit a softirq: a table `ticks`.
    Ticks,
    /// Softirqs with the interrupts that raised them, their runs and their polls: tables `runs`, `chains`, `longest`,
    /// `strange`, `sizes`, `lines`, `around`, `stretches`, `seen`, `power`, `by_device`, `by_polls`, `counts`,
    /// `run_counts`, `runs_of_cpu` and `steered`.
    Pairing(Arc<pairing::Settings>),
    /// The longest stretches of interrupts on top of a task: tables `episodes`, `parts` (a row per episode and thief in
    /// it) and `total`, their number.
    Episodes(Arc<episodes::Settings>),
    /// Whose traffic softirqs carried: tables `by_owner`, `by_pair`, `by_end`, `by_class`, and `announced`, which tasks
    /// were woken for which socket.
    Traffic(Arc<traffic::Wanted>),
    /// Who had the CPUs at given moments, looking through vectors of this name: tables `owners`, all owners and their
    /// `ns`, and `moments`, the place of each moment's `owner`, null outside segments.
    Owners(Arc<Moments>, Option<String>),
    /// Events and their cost by owner: a table `owners` with `ns`, `events`, and `cost_N` for each cost.
    Charged(Arc<Costs>),
    /// How long tasks had run by given moments, and softirqs on top of them: table `moments`, `own_ns` and
    /// `softirq_ns`.
    Passed(Arc<Moments>),
    /// Where tasks ran next after given moments: table `moments`, `in_ns` and `ran_on`, null where they did not.
    Next(Arc<Moments>),
}

impl Wanted {
    /// The aggregate of this name, for those that need no settings.
    pub fn named(name: &str) -> Result<Wanted> {
        match name {
            "ticks" => Ok(Wanted::Ticks),
            _ => Err(bad!(Refused, "no aggregate is called '{name}'")),
        }
    }

    /// Starts the aggregate.
    pub fn begin(&self, names: &Names) -> Result<Box<dyn Aggregate>> {
        Ok(match self {
            Wanted::Group(wanted) => Box::new(Group::new(wanted, names)?),
            Wanted::Stays(wanted) => Box::new(Stays::new(wanted)),
            Wanted::StaysOf(whose) => Box::new(StaysOf::new(whose)),
            Wanted::Handovers(wanted) => Box::new(Handovers::new(wanted)),
            Wanted::Raised(behind_ns) => Box::new(Raised::new(*behind_ns)),
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

    /// The tables whose rows it takes.
    pub fn tables(&self) -> Vec<&str> {
        match self {
            Wanted::Group(wanted) => wanted.tables(),
            Wanted::Stays(_) => vec!["slices", "migrations"],
            Wanted::StaysOf(_) => vec!["slices"],
            Wanted::Handovers(_) => vec!["slices", "segments", "softirqs", "hardirqs", "polls", "migrations"],
            Wanted::Traffic(_) => vec!["softirqs", "polls"],
            Wanted::Ticks => vec!["hardirqs", "softirqs"],
            Wanted::Raised(_) | Wanted::Pairing(_) => vec!["hardirqs", "softirqs", "polls"],
            Wanted::Episodes(_) => vec!["segments", "softirqs", "polls"],
            Wanted::Binned(_) | Wanted::Wakeups(_) | Wanted::Owners(..) | Wanted::Charged(_) | Wanted::Passed(_) => {
                vec!["segments"]
            }
            Wanted::Next(_) => vec!["slices"],
        }
    }
}
