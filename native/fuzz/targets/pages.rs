//! Arbitrary pages of a ring behind the headers of a trace.dat whose events are known, which tells how
//! many bytes they are. The heads come from the tests' writer (tests/support/fuzz_seeds.py), each behind the
//! place of that number; the first byte of the input chooses one.
#![no_main]

use libfuzzer_sys::fuzz_target;

static HEADS: [&[u8]; 4] = [
    include_bytes!("../../../build/fuzz/heads/pages-0"),
    include_bytes!("../../../build/fuzz/heads/pages-1"),
    include_bytes!("../../../build/fuzz/heads/pages-2"),
    include_bytes!("../../../build/fuzz/heads/pages-3"),
];
/// Where a trace.dat says whether it is big-endian.
const ORDER_AT: usize = 12;

fuzz_target!(|input: &[u8]| {
    let Some((choice, pages)) = input.split_first() else { return };
    let (place, head) = HEADS[usize::from(*choice) % HEADS.len()].split_at(8);
    let place = u64::from_le_bytes(place.try_into().expect("eight bytes")) as usize;
    let size = pages.len() as u64;
    let mut capture = [head, pages].concat();
    let size = if head[ORDER_AT] == 0 { size.to_le_bytes() } else { size.to_be_bytes() };
    capture[place..place + 8].copy_from_slice(&size);
    netcost_fuzz::read(&capture);
});
