//! Lines that could not be read and stand between events: each may have been one that is now missing.

use super::preamble::Preamble;

/// Whether there was such a line.
#[derive(Debug, Default)]
pub struct Passed {
    /// An event was seen: what stands before the first is outside the recording.
    begun: bool,
    /// The line before was a message for people, which may go on in the next.
    in_message: bool,
    /// Such lines since the last event.
    lines: u64,
}

impl Passed {
    /// An event of this name: how many such lines stand between it and the event before.
    #[inline(always)]
    pub fn event(&mut self, name: &[u8]) -> u64 {
        self.begun = true;
        self.in_message = is_message(name);
        std::mem::take(&mut self.lines)
    }

    /// A line that is no event.
    pub fn other(&mut self, line: &[u8]) {
        if !Preamble::expects(line) {
            self.overlong(1);
        }
    }

    /// So many lines that are longer than any event's.
    pub fn overlong(&mut self, lines: u64) {
        self.lines += if self.begun && !self.in_message { lines } else { 0 };
    }
}

/// Texts of trace_printk, trace_marker and BPF programs may have several lines.
fn is_message(name: &[u8]) -> bool {
    let bare = name.strip_prefix(b"ftrace:").unwrap_or(name);
    matches!(bare, b"print" | b"bprint" | b"bputs" | b"tracing_mark_write" | b"bpf_trace_printk")
        || name == b"bpf_trace:bpf_trace_printk"
}
