//! Whether time is network work.

/// Whether time went to the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    Yes,
    No,
    /// It cannot be told.
    Unknown,
    /// As the interrupt line turns out, resolved at the end.
    OfIrq,
    /// No, if a run that raises NET_RX or wakes a NAPI thread would have been seen to do so, resolved at the end. Such
    /// a run is another thief's.
    OfRun,
    /// No, unless the task that it woke was a NAPI thread. The task never had a name, so this is resolved at the end.
    OfThread,
    /// The question does not arise: a task's own time, or idle.
    NotApplicable,
}

/// Notes that a run did something that is `network`, and updates what the run has proved to be.
pub fn prove(proved: &mut Option<Network>, network: Network) {
    if *proved != Some(Network::Yes) {
        *proved = Some(network);
    }
}
