//! Pages of a ring buffer: what the kernel wrote, and what it says of that itself (fixtures/marks.sh);
//! and those that no quiet machine makes.

use netcost::parts::{until_nul, Missed, PageEnd, PageLayout, Row};
use netcost::Order;

use super::written::{head, MISSED, PADDING, STORED, TIME_EXTEND, TIME_STAMP};

/// The largest time stamp that an event of its own can have.
const LATEST: u64 = (1 << 59) - 1;

macro_rules! fixture {
    ($name:literal) => {
        include_bytes!(concat!("../../fixtures/", $name))
    };
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

fn recorded() -> PageLayout {
    PageLayout::parse(text(fixture!("header_page")), 8, 0, Order::Little).expect("a layout")
}

/// Times of a page's events and the first bytes of each, and how it ended.
fn walked(layout: &PageLayout, page: &[u8]) -> (Vec<(u64, Vec<u8>)>, PageEnd) {
    let mut rows = Vec::new();
    let end = layout.walk(page, |row| {
        rows.push((row.time, page[row.at as usize..(row.at + row.size) as usize].to_vec()));
    });
    (rows, end)
}

/// What a mark says: it stands behind the common fields and an address.
fn mark(payload: &[u8]) -> &str {
    text(until_nul(&payload[16..])).trim_end()
}

#[test]
fn marks_have_the_times_that_the_kernel_prints() {
    let layout = recorded();
    assert_eq!((layout.commit, layout.data, layout.size), ((8, 8), 16, 4096));
    let (rows, end) = walked(&layout, fixture!("marks.raw"));
    let found = rows.iter().map(|(time, payload)| {
        let micros = (time + 500) / 1000;
        format!("{}.{:06}: tracing_mark_write: {}", micros / 1_000_000, micros % 1_000_000, mark(payload))
    });
    let lines = text(fixture!("marks.trace")).lines();
    let printed: Vec<&str> = lines.map(|line| line.split_once(' ').expect("a time").1.trim_start()).collect();
    assert_eq!(printed.len(), 4);
    assert_eq!(found.collect::<Vec<String>>(), printed);
    assert_eq!((end.missed, end.sound), (Missed::No, true));
    assert_eq!(layout.used(fixture!("marks.raw")), 16 + 144);
}

#[test]
fn a_page_behind_a_loss_says_how_much_it_was() {
    let stats = text(fixture!("lost.stats")).lines();
    let overrun = stats.filter_map(|line| line.strip_prefix("overrun: ")).next();
    let lost: u64 = overrun.and_then(|count| count.parse().ok()).expect("a count");
    let (rows, end) = walked(&recorded(), fixture!("lost.raw"));
    assert_eq!((end.missed, end.sound), (Missed::Some(lost), true));
    assert!(rows.len() > 80 && rows.is_sorted());
    for ((_, payload), number) in rows.iter().zip(lost..) {
        assert_eq!(mark(payload), number.to_string());
    }
}

/// A page of these words behind its time; `flags` stand beside the size.
fn page(order: Order, flags: u64, words: &[u32]) -> (PageLayout, Vec<u8>) {
    let mut page = [order.u64_bytes(1000), order.u64_bytes(4 * words.len() as u64 + flags)].concat();
    page.extend(words.iter().flat_map(|&word| order.u32_bytes(word)));
    (PageLayout { commit: (8, 8), data: 16, size: 256, order }, page)
}

#[test]
fn every_kind_of_event_in_both_byte_orders() {
    for order in [Order::Little, Order::Big] {
        let of = |kind, delta| head(order, kind, delta);
        let words: [&[u32]; 7] = [
            &[of(1, 5), 0xa1],
            // An event that was thrown away: its time counts, and its size the word before it.
            &[of(PADDING, 7), 12, 0xbad, 0xbad],
            &[of(TIME_EXTEND, 3), 2],
            &[of(0, 1), 12, 0xb1, 0xb2],
            &[of(TIME_STAMP, 9), 4],
            &[of(1, 1), 0xc1],
            &[of(PADDING, 0), 0xbad],
        ];
        let (layout, page) = page(order, 0, &words.concat());
        let (mut rows, mut thrown) = (Vec::new(), Vec::new());
        let show = |row: Row| rows.push((row.time, order.u32(&page, row.at as usize), row.size));
        let end = layout.walk_all(&page, show, |at, size| thrown.push((at, size)));
        assert_eq!((end.missed, end.sound), (Missed::No, true), "{order:?}");
        let (extended, stamp) = (1012 + 3 + (2 << 27), (4 << 27) + 9);
        let expected = [(1005, Some(0xa1), 4), (extended + 1, Some(0xb1), 8), (stamp + 1, Some(0xc1), 4)];
        assert_eq!(rows, expected, "{order:?}");
        assert_eq!(thrown, [(32, 8), (page.len() - 4, 4)], "{order:?}");
    }
}

#[test]
fn a_stamp_that_seems_to_go_far_back_counts_on() {
    let words = [head(Order::Little, TIME_STAMP, 9), 4, head(Order::Little, 1, 0), 0];
    let (layout, mut page) = page(Order::Little, 0, &words);
    page[..8].copy_from_slice(&LATEST.to_le_bytes());
    assert_eq!(walked(&layout, &page).0[0].0, LATEST + 1 + (4 << 27) + 9);
}

#[test]
fn losses_without_a_count_and_damage() {
    let event = [head(Order::Little, 1, 5), 0xa1];
    let missed = |flags, words: &[u32]| {
        let (layout, page) = page(Order::Little, flags, words);
        let (rows, end) = walked(&layout, &page);
        (rows.len(), end.missed, end.sound)
    };
    assert_eq!(missed(MISSED, &event), (1, Missed::Unknown, true));
    // A count that should follow, and does not.
    assert_eq!(missed(MISSED | STORED, &event), (1, Missed::Unknown, true));
    // More than the page has; an event that reaches beyond what was written; one smaller than its size.
    let (layout, mut larger) = page(Order::Little, 0, &event);
    larger[8] += 4;
    assert!(!walked(&layout, &larger).1.sound);
    for last in [&[head(Order::Little, 2, 0), 0][..], &[head(Order::Little, 0, 0), 3], &[TIME_EXTEND]] {
        assert_eq!(missed(0, &[&event, last].concat()), (1, Missed::No, false), "{last:?}");
    }
    assert!(!walked(&layout, &[0; 12]).1.sound);
}
