//! A text with its newest lines first, as tac gives it: its times tell no durations, and no figure is given. Single lines
//! in the wrong place are held, as in any text.

use netcost::ErrorKind;

use crate::shown::{refused, Shown};
use crate::text::kinds::{lines, KINDS};

#[test]
fn newest_lines_first_are_refused() {
    for kind in KINDS {
        let (mut turned, mut events): (Vec<String>, Vec<String>) =
            lines(kind).into_iter().partition(|line| line.starts_with('#') || line.starts_with("cpus="));
        events.reverse();
        turned.append(&mut events);
        let (refusal, message) = refused(Shown::of(turned.join("\n")).ledger());
        assert_eq!(refusal, ErrorKind::Refused);
        assert!(message.starts_with("no ledger: ") && message.contains("(tac "), "{kind}: {message}");
    }
}

#[test]
fn a_text_twice_or_with_lines_exchanged_is_read() {
    let whole = lines("perf");
    let mut exchanged = whole.clone();
    exchanged.swap(10, 12);
    for text in [[&whole[..], &whole].concat(), exchanged] {
        assert!(Shown::of(text.join("\n")).ledger().expect("a ledger").counters.backwards > 0);
    }
}
