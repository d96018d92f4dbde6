//! A trace.dat that was cut, or of which a chunk is damaged: what is whole is kept, the rest is said. Sizes and places
//! that cannot be: bounds.rs.

use netcost::ErrorKind;

use super::written::{Dat, Machine, BUFFER, MACHINES, PAGE, S, X86_64};
use crate::shown::{refused, Shown};

const EACH: u64 = 2000;
/// Events of 16 bytes that a sub-buffer holds.
const PER_PAGE: u64 = 255;

fn whole(machine: Machine, version: u8) -> Dat {
    let ring = |cpu: u32| {
        let events: Vec<(u64, u32)> = (0..EACH).map(|step| (S + 10 * step + u64::from(cpu), 1)).collect();
        (cpu, machine.ring(PER_PAGE as usize, &events))
    };
    Dat::of(machine, version, vec![ring(0), ring(1)])
}

/// Events of whole sub-buffers, where so many bytes at the end are missing.
fn kept(missing: usize) -> u64 {
    let pages = EACH.div_ceil(PER_PAGE);
    let left = (2 * pages).saturating_sub(missing.div_ceil(PAGE) as u64);
    left / pages * EACH + (left % pages * PER_PAGE).min(EACH)
}

// In version 6 each CPU's place stands before the data: a cut leaves whole sub-buffers. In version 7 what says where
// everything is stands at the end.
#[test]
fn whole_sub_buffers_before_the_cut_are_kept() {
    for machine in MACHINES {
        let [old, new] = [6, 7].map(|version| whole(machine, version).bytes());
        for size in (0..old.len()).step_by(1777).chain(old.len() - 3..=old.len()) {
            let least = kept(old.len() - size);
            match Shown::opened(&old[..size], None) {
                Ok(shown) => {
                    assert_eq!(shown.scan.counts, [least], "{machine:?} {size}");
                    assert_eq!(shown.notes().is_empty(), size == old.len(), "{machine:?} {size}");
                }
                // Only where there is nothing to keep.
                Err(_) => assert_eq!(least, 0, "{machine:?} {size}"),
            }
        }
        for size in (0..new.len()).step_by(997).chain(new.len() - 600..new.len()) {
            match Shown::opened(&new[..size], None) {
                Ok(shown) => assert_eq!(shown.scan.counts, [2 * EACH], "{machine:?} {size}"),
                cut if size > new.len() - 600 => assert_eq!(refused(cut).0, ErrorKind::CutShort, "{machine:?} {size}"),
                Err(_) => {}
            }
        }
    }
}

// 255 records a sub-buffer; the other CPU's are whole.
#[test]
fn a_damaged_chunk_costs_what_is_in_it_and_behind() {
    for packing in ["zstd", "zlib"] {
        let (bytes, places) = Dat { chunk: PAGE, ..whole(X86_64, 7) }.packed(packing).version_7();
        let number =
            |at: usize, width: usize| bytes[at..at + width].iter().rev().fold(0, |sum, &byte| sum << 8 | byte as usize);
        let option = places.iter().find(|place| place.0 == BUFFER).expect("a buffer").1;
        // Behind a name, the clock's, page size and count; and behind the count of chunks.
        let first = number(option + 26, 8) + 4;
        for chunk in [0, 2, 7] {
            let at = (0..chunk).fold(first, |at, _| at + 8 + number(at, 4));
            let mut bad = bytes.clone();
            bad[at + 8..at + 8 + number(at, 4)].fill(0);
            let shown = Shown::of(bad);
            let found = shown.scan.counts[0];
            assert!((EACH + PER_PAGE * chunk..2 * EACH).contains(&found), "{packing} {chunk}: {found}");
            assert!(shown.notes().iter().any(|note| note.contains("CPU 0")), "{:?}", shown.notes());
        }
    }
}
