//! Texts with one half of what the ledger needs of them: its notes name the half that is not there, and none that is.

use crate::shown::Shown;

const PARTS: [&str; 7] = [
    "irq_handler_entry: irq=32 name=eth0",
    "irq_handler_exit: irq=32 ret=handled",
    "softirq_raise: vec=3 [action=NET_RX]",
    "softirq_entry: vec=3 [action=NET_RX]",
    "softirq_exit: vec=3 [action=NET_RX]",
    "local_timer_entry: vector=236",
    "local_timer_exit: vector=236",
];

fn name(part: &str) -> &str {
    part.split(':').next().unwrap_or_default()
}

#[test]
fn the_half_that_is_missing_is_named_once() {
    for (without, said) in [
        (&["irq_handler_entry"][..], &["irq:irq_handler_entry"][..]),
        (&["softirq_entry"], &["irq:softirq_entry"]),
        (&["local_timer_entry"], &["local_timer_entry"]),
        (&["irq_handler_exit"], &["irq:irq_handler_exit"]),
        (&["softirq_exit"], &["irq:softirq_exit"]),
        (&["local_timer_exit"], &["local_timer_exit"]),
        (&["softirq_entry", "softirq_exit"], &["irq:softirq_entry"]),
        (&[], &[]),
    ] {
        let told = [PARTS; 4].concat().into_iter().filter(|part| !without.contains(&name(part)));
        let line = |(at, part)| format!("              sh-8 [000] d.h1. 1.{at:06}: {part}\n");
        let notes = Shown::of(told.enumerate().map(line).collect::<String>()).ledger().expect("a ledger").notes;
        let absent = notes.iter().filter(|note| note.contains("not recorded"));
        let events = absent.map(|note| note.split(' ').next().unwrap_or_default());
        let found: Vec<&str> = events.filter(|event| PARTS.iter().any(|part| event.contains(name(part)))).collect();
        assert_eq!(found, said, "without {without:?}");
    }
}
