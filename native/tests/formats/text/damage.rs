//! Texts come from strangers, by way of terminals, mails and editors: whatever was done to one, it is read or refused, and
//! a damaged line takes no other with it.

use std::collections::BTreeMap;

use netcost::events::{tables, Within};
use netcost::{Error, Result};

use crate::shown::{rows, Shown};
use crate::text::kinds::{flat_of, lines, text, EVENTS, KINDS};

/// Numbers without end, which follow from the first.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % end.max(1)
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

const BYTES: &[u8] = b"[]():=-/ .0123456789\t\r\n#,xXNS>\x00\xff\x80";
const NUMBERS: [&str; 9] = [
    "0",
    "-1",
    "255",
    "65536",
    "2147483648",
    "4294967296",
    "9223372036854775808",
    "10000000000000000000",
    "1000000000000000000000000000000",
];

fn damaged(line: &str, random: &mut Random) -> Vec<u8> {
    let mut data = line.as_bytes().to_vec();
    for _ in 0..random.one_of(&[1, 1, 2, 5]) {
        let at = random.below(data.len());
        let to = |length: usize| (at + length).min(data.len());
        match random.below(6) {
            0 if !data.is_empty() => data[at] = random.one_of(BYTES),
            1 => {
                let bytes: Vec<u8> = (0..random.one_of(&[1, 3, 20, 300])).map(|_| random.one_of(BYTES)).collect();
                data.splice(at..at, bytes).for_each(drop);
            }
            2 => data.drain(at..to(random.one_of(&[1, 4, 30]))).for_each(drop),
            3 => data.truncate(at),
            4 => data.splice(at..to(random.one_of(&[0, 3])), random.one_of(&NUMBERS).bytes()).for_each(drop),
            _ => {
                let piece = data[at..to(40)].repeat(random.one_of(&[1, 2, 100]));
                let place = random.below(data.len());
                data.splice(place..place, piece).for_each(drop);
            }
        }
    }
    data
}

/// A text with one or many damaged lines, and these lines' numbers. `number` decides both.
fn mutant(number: usize) -> (Vec<u8>, Vec<usize>) {
    let mut random = Random((number as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let whole = lines(KINDS[number % KINDS.len()]);
    let several = random.one_of(&[1, 1, 2, whole.len() / 2]);
    let mut places: Vec<usize> = (0..several).map(|_| random.below(whole.len())).collect();
    places.sort_unstable();
    places.dedup();
    let mut line = |(at, line): (usize, &String)| match places.contains(&at) {
        true => damaged(line, &mut random),
        false => line.clone().into_bytes(),
    };
    let mut data: Vec<Vec<u8>> = whole.iter().enumerate().map(&mut line).collect();
    if several > 1 && random.below(5) == 0 {
        for end in (1..data.len()).rev() {
            data.swap(end, random.below(end + 1));
        }
    }
    (data.join(&b'\n'), places)
}

/// Everything that a text can be asked for: how far that came. Which event is read by itself too follows from the number.
fn read(number: usize) -> Result<usize> {
    let shown = Shown::opened(mutant(number).0, None)?;
    let found = shown.tables();
    for (name, count) in shown.counts() {
        assert!(found[name].len() as u64 <= count, "{number}: {name}");
    }
    if let Some((name, wanted)) = found.get_index(number % found.len().max(1)) {
        let wanted_name = [name.clone()];
        let alone = tables(&shown.recording, Some(&wanted_name), None, &Within::default(), &mut |_| true)?;
        assert_eq!(&rows(&alone[0].1), wanted, "{number}: {name}");
    }
    Ok(1 + usize::from(!refusal(shown.ledger())))
}

/// Whether it was refused, and for the text's own sake.
fn refusal<T>(result: Result<T>) -> bool {
    match result {
        Err(Error::Capture { .. }) => true,
        Err(error) => panic!("{error}"),
        Ok(_) => false,
    }
}

/// The most memory that this process has had, in MiB, where the system tells.
fn most_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or_default() / 1024
}

// NETCOST_MUTANTS=100000 looks further. It is no test where nothing gets far.
#[test]
fn damaged_texts_are_read_or_refused() {
    let count = std::env::var("NETCOST_MUTANTS").ok().and_then(|count| count.parse().ok()).unwrap_or(400);
    let mut steps: BTreeMap<usize, usize> = BTreeMap::new();
    for number in 0..count {
        let step = read(number);
        *steps.entry(step.as_ref().copied().unwrap_or_default()).or_default() += 1;
        refusal(step);
    }
    let reached = |step: usize| steps.range(step..).map(|one| one.1).sum::<usize>();
    assert!(reached(1) * 10 > 9 * count && reached(2) * 10 > 8 * count, "{steps:?} of {count}");
    assert!(most_memory() < 4096, "{} MiB", most_memory());
}

#[test]
fn a_damaged_line_takes_no_other_with_it() {
    for (first, kind) in KINDS.into_iter().enumerate() {
        let whole = lines(kind);
        assert_eq!(flat_of(whole.join("\n")).values().sum::<usize>(), EVENTS);
        let head = whole.iter().position(|line| line.contains(": ") && !line.starts_with('#')).expect("an event");
        let mut kept = 0;
        for number in (first..60 * KINDS.len()).step_by(KINDS.len()) {
            let (data, places) = mutant(number);
            let [place] = places[..] else { continue };
            if place >= head {
                let others = [&whole[..place], &whole[place + 1..]].concat();
                let found = flat_of(data);
                for (row, count) in flat_of(others.join("\n")) {
                    assert!(found.get(&row) >= Some(&count), "mutant {number}: line {place} of {kind}: {row}");
                }
                kept += 1;
            }
        }
        assert!(kept > 15, "{kind}: {kept}");
    }
}

// The first lines say nothing of this for 200 KB.
#[test]
fn events_may_come_late() {
    let shown = Shown::of("a line of something else\n".repeat(8000) + &text("perf"));
    assert_eq!(shown.records("event"), EVENTS as u64);
    let note = shown.note("are not events");
    assert!(note.starts_with("8000 of ") && note.contains("line 1: 'a"), "{note}");
}
