//! A whole capture: whatever the bytes are, they are read or refused.
#![no_main]

libfuzzer_sys::fuzz_target!(|capture: &[u8]| netcost_fuzz::read(capture));
