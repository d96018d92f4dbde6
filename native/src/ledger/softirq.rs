//! What each softirq vector is for. The first vectors have the same numbers in every kernel that has softirq_entry.

use crate::ledger::network::Network;

#[derive(Debug)]
pub struct Policy {
    /// The kernel's name.
    pub name: &'static str,
    /// Whether its time is network work. `OfRun`: drivers and sockets put work there, and so do others.
    pub network: Network,
    /// Whether NAPI polls run in it.
    pub polls: bool,
    /// Whether it runs tasklets, to which interrupt handlers defer work.
    pub tasklets: bool,
}

/// Softirq vectors are single bits of a 32-bit mask.
pub const VECTORS: usize = 32;

const fn of(name: &'static str, network: Network) -> Policy {
    Policy { name, network, polls: false, tasklets: false }
}

const POLICIES: [Policy; 10] = [
    Policy { tasklets: true, ..of("HI", Network::OfRun) },
    of("TIMER", Network::OfRun),
    of("NET_TX", Network::Yes),
    Policy { polls: true, ..of("NET_RX", Network::Yes) },
    of("BLOCK", Network::No),
    of("IRQ_POLL", Network::OfRun),
    Policy { tasklets: true, ..of("TASKLET", Network::OfRun) },
    of("SCHED", Network::No),
    of("HRTIMER", Network::OfRun),
    of("RCU", Network::No),
];

pub const NET_RX: u8 = 3;

pub fn names() -> impl Iterator<Item = (i64, String)> {
    POLICIES.iter().zip(0..).map(|(policy, vec)| (vec, policy.name.to_owned()))
}

#[inline(always)]
pub fn policy(vec: u8) -> &'static Policy {
    const OTHER: Policy = of("", Network::No);
    POLICIES.get(usize::from(vec)).unwrap_or(&OTHER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polls_run_in_net_rx_alone() {
        let polls: Vec<u8> = (0..VECTORS as u8).filter(|&vec| policy(vec).polls).collect();
        assert_eq!(polls, [NET_RX]);
        assert_eq!(policy(NET_RX).name, "NET_RX");
        assert_eq!(policy(31).network, Network::No);
    }
}
