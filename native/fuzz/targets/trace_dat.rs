//! A trace.dat of any version, from its first byte on.
#![no_main]

libfuzzer_sys::fuzz_target!(|capture: &[u8]| netcost_fuzz::read(capture));
