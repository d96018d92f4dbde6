//! Whether a text has its newest lines first.

/// Which way the times go.
#[derive(Debug, Default)]
pub struct Order {
    /// The last event's time of each CPU.
    last: Vec<Option<i64>>,
    /// Times earlier than the one before on their CPU, and later than it.
    falls: u64,
    rises: u64,
}

impl Order {
    /// The next event of a CPU.
    #[inline(always)]
    pub fn event(&mut self, cpu: u32, time_ns: i64) {
        if self.last.len() <= cpu as usize {
            self.last.resize(cpu as usize + 1, None);
        }
        if let Some(last) = self.last[cpu as usize].replace(time_ns) {
            self.falls += u64::from(time_ns < last);
            self.rises += u64::from(time_ns > last);
        }
    }

    /// Whether most times fall.
    pub fn is_reversed(&self) -> bool {
        self.falls > self.rises
    }
}
