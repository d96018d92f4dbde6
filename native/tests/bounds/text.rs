//! Texts of many lines, CPUs, events and names.

use std::fmt::Write;

use netcost::events;

use crate::{alone, bound, described, scan};

fn line(cpu: usize, us: usize) -> String {
    format!("sh-7 [{cpu:03}] ..s1. {}.{:06}: softirq_entry: vec=3 [action=NET_RX]\n", us / 1_000_000, us % 1_000_000)
}

// Every second line of many on many CPUs: neither time nor memory grows with their product.
#[test]
fn many_lines_that_cannot_be_read() {
    let _alone = alone();
    let mut text: String = (0..1000).map(|cpu| line(cpu, 1)).collect();
    (2..100_000).for_each(|us| text += &format!("?\n{}", line(0, us)));
    bound("lines", text.as_bytes(), (5.0, 128), scan);
}

// Lines of more events than are told apart are counted.
#[test]
fn many_events_and_names() {
    let _alone = alone();
    let mut text = String::new();
    for n in 0..100_000 {
        let (cpu, event, said) = (n % 4000, n % 20_000, n % 100);
        writeln!(text, "t{n}-{n} [{cpu:03}] 1.{n:06}: event_{event}: text {said}").expect("written");
    }
    bound("events", text.as_bytes(), (5.0, 128), scan);
    let recording = described::opened(text.as_bytes()).expect("a text");
    let scan = events::scan(&recording, &mut |_| true).expect("a pass");
    let notes: Vec<&String> =
        recording.notes.iter().chain(&scan.tally.notes).filter(|note| note.contains("are not events")).collect();
    assert!(matches!(notes[..], [note] if note.starts_with(&format!("{} ", 100_000 - 16_384 * 5))), "{notes:?}");
}

#[test]
fn a_long_text() {
    let _alone = alone();
    let text: String = (0..500_000).map(|us| line(us % 2, us)).collect();
    bound("long", text.as_bytes(), (5.0, 24), scan);
}
