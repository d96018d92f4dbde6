//! Whether time is the network's.

/// Whether time went to the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// Packets.
    Yes,
    /// Something else.
    No,
    /// Not to be told.
    Unknown,
    /// As the interrupt line turns out (resolved at the end).
    OfIrq,
    /// No, if a run that raises NET_RX or wakes a NAPI thread would have been seen to (resolved at
    /// the end); such a run is another thief's.
    OfRun,
    /// No, unless the task that it woke was a NAPI thread: it never had a name (resolved at the end).
    OfThread,
    /// The question does not arise: a task's own time, idle.
    NotApplicable,
}

/// A run did something that is `network`: what it has proved to be with that.
pub fn prove(proved: &mut Option<Network>, network: Network) {
    if *proved != Some(Network::Yes) {
        *proved = Some(network);
    }
}
