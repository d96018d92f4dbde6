//! What is read of a capture, by the format of its bytes: tables, scan and ledger of what was written here.

mod changed;
mod described;
mod perf_data;
mod shown;
mod text;
mod trace_dat;
mod wrapped;
