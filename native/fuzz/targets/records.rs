//! A pipe whose events are known, and behind them arbitrary records. The heads come from the
//! tests' writer (tests/support/fuzz_seeds.py); the first byte of the input chooses one.
#![no_main]

use libfuzzer_sys::fuzz_target;

static HEADS: [&[u8]; 4] = [
    include_bytes!("../../../build/fuzz/heads/0"),
    include_bytes!("../../../build/fuzz/heads/1"),
    include_bytes!("../../../build/fuzz/heads/2"),
    include_bytes!("../../../build/fuzz/heads/3"),
];

fuzz_target!(|input: &[u8]| {
    if let Some((choice, records)) = input.split_first() {
        netcost_fuzz::read(&[HEADS[usize::from(*choice) % HEADS.len()], records].concat());
    }
});
