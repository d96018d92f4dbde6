//! A text, as perf script, trace-cmd report or ftrace print it, or nearly.
#![no_main]

libfuzzer_sys::fuzz_target!(|capture: &[u8]| netcost_fuzz::read(capture));
