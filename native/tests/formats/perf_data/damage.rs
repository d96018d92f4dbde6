//! Records that do not say what they should: everything before them is kept, and it is said where reading ended.

use netcost::Order;

use super::samples::{at, hardware, ORDERS};
use crate::described::SAMPLE;
use crate::described::{file_of, pipe_of, Bytes};
use crate::shown::{all_words, Shown};

/// A pipe and a file of these records.
fn both(order: Order, records: &Bytes) -> [Shown; 2] {
    let attr = hardware(0, 0, &[10]);
    [pipe_of(order, &[attr], records), file_of(order, 104, &attr, records)].map(Shown::of)
}

// A record that claims less than its header, or more than there is, ends what can be read: nothing says where the next one
// begins. Nor is anything read behind the last record: a byte, a header's half, zeros to the end of a page.
#[test]
fn what_is_no_record_ends_the_records() {
    for order in ORDERS {
        let sizes = [0, 9, 68, 200, u32::MAX].map(|kind| [0, 1, 7, 65_535].map(|size| (kind, size)));
        let broken = sizes
            .concat()
            .into_iter()
            .map(|(kind, size)| at(order, &[1, 2]).u32(kind).u16(0).u16(size).raw(&at(order, &[3]).bytes));
        let rests = [&[0][..], &[0; 4], &[0xff; 7], &[0; 4096]].map(|rest| at(order, &[1, 2]).raw(rest));
        for records in broken.chain(rests) {
            for shown in both(order, &records) {
                assert_eq!(all_words(&shown.samples("cycles"), "time_ns"), ["1", "2"]);
                assert_eq!(shown.records("SAMPLE"), 2);
                assert!(shown.notes().iter().any(|note| note.contains("byte")), "{:?}", shown.notes());
            }
        }
    }
}

// A record may be longer than what it has to say, as newer kernels' are.
#[test]
fn records_longer_than_their_contents_are_read() {
    for order in ORDERS {
        let longer = Bytes::of(order).raw(&at(order, &[2]).bytes[8..]).raw(&[0xff; 16]);
        let records = at(order, &[1]).record(SAMPLE, 1, longer).raw(&at(order, &[3]).bytes);
        for shown in both(order, &records) {
            assert_eq!(all_words(&shown.samples("cycles"), "time_ns"), ["1", "2", "3"]);
            assert_eq!(shown.notes(), [""; 0]);
        }
    }
}

// A size that no file has: the sum went over the end of 64 bits.
#[test]
fn a_size_of_records_beyond_all_numbers_is_a_cut() {
    let mut bytes = file_of(Order::Little, 104, &hardware(0, 0, &[10]), &at(Order::Little, &[1]));
    let begin = u64::from_le_bytes(bytes[40..48].try_into().expect("eight bytes"));
    bytes[48..56].copy_from_slice(&(u64::MAX - begin).to_le_bytes());
    let shown = Shown::of(bytes);
    let [first, others @ ..] = &shown.recording.notes[..] else { panic!("no notes") };
    assert!(first.starts_with("file cut short: ") && first.contains(&u64::MAX.to_string()), "{first}");
    assert!(!others.iter().any(|note| note.contains("capture's end")), "{others:?}");
}

// A pipe that ends between two records looks like a whole one. Without its end a file has lost what stands there: its
// samples stay.
#[test]
fn whole_records_before_the_cut_are_kept() {
    for order in ORDERS {
        let records = at(order, &[1, 2, 3, 4]).record(5, 0, Bytes::of(order).u64(7).u64(8).u64(9));
        let attr = hardware(0, 0, &[10]);
        for (is_pipe, whole) in
            [(true, pipe_of(order, &[attr], &records)), (false, file_of(order, 104, &attr, &records))]
        {
            let (start, each) = (whole.len() - records.bytes.len(), at(order, &[1]).bytes.len());
            for size in 0..=whole.len() {
                let kept = size.checked_sub(start).map_or(0, |size| (size / each).min(4));
                let Ok(shown) = Shown::opened(&whole[..size], None) else {
                    assert_eq!(kept, 0, "{order:?} {is_pipe} {size}");
                    continue;
                };
                assert_eq!(shown.records("SAMPLE"), kept as u64, "{order:?} {is_pipe} {size}");
                let is_between = is_pipe && (size - start) % each == 0 && size <= start + 4 * each;
                if size > start && !is_between {
                    assert_eq!(shown.notes().is_empty(), size == whole.len(), "{order:?} {is_pipe} {size}");
                }
            }
            if !is_pipe {
                let mut unended = whole.clone();
                unended[72..80].copy_from_slice(&order.u64_bytes(1 << 1 | 1 << 3));
                let shown = Shown::of(unended);
                assert_eq!(all_words(&shown.samples("cycles"), "time_ns"), ["1", "2", "3", "4"]);
                assert!(!shown.notes().is_empty());
            }
        }
    }
}
