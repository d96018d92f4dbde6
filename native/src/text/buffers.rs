//! Lines of several buffers (ftrace instances) in one text: `trace-cmd report` puts the buffer's name
//! before each line, `foo:      sh-7 [001] ...`, and none before those of the top one.

use super::head::Head;

/// Which lines are of the buffer that is read.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Its name; empty for the top one.
    pub wanted: Vec<u8>,
    /// The buffer of a line that told of a loss: the event behind it is of the same, and does not say so.
    marked: Option<Vec<u8>>,
}

impl Selection {
    /// The buffer of this name.
    pub fn of(wanted: &[u8]) -> Selection {
        Selection { wanted: wanted.to_vec(), marked: None }
    }

    /// A loss of this buffer: whether it is the one.
    pub fn marks(&mut self, buffer: &[u8]) -> bool {
        self.marked = (!buffer.is_empty()).then(|| buffer.to_vec());
        buffer == self.wanted
    }

    /// Whether an event's line is of the buffer.
    #[inline(always)]
    pub fn takes(&mut self, head: &Head<'_>) -> bool {
        let simple = self.marked.is_none() && head.buffer.is_empty();
        (simple && self.wanted.is_empty()) || self.looks_up(head) == self.wanted
    }

    #[cold]
    fn looks_up(&mut self, head: &Head<'_>) -> Vec<u8> {
        let marked = self.marked.take().filter(|_| head.buffer.is_empty());
        marked.unwrap_or_else(|| head.buffer.to_vec())
    }
}

/// What of a text is one buffer's.
#[derive(Debug, Clone)]
pub struct Share {
    pub name: String,
    pub lines: u64,
    pub bytes: u64,
    cpus: Vec<bool>,
}

impl Share {
    /// Nothing yet.
    pub fn new(name: String) -> Share {
        Share { name, lines: 0, bytes: 0, cpus: Vec::new() }
    }

    /// One line more.
    #[inline(always)]
    pub fn add(&mut self, head: &Head<'_>, bytes: usize) {
        self.lines += 1;
        self.bytes += bytes as u64 + 1;
        let cpu = head.cpu.unwrap_or(0) as usize;
        match self.cpus.get_mut(cpu) {
            Some(seen) => *seen = true,
            None => {
                self.cpus.resize(cpu + 1, false);
                self.cpus[cpu] = true;
            }
        }
    }

    /// CPUs with events.
    pub fn cpus(&self) -> usize {
        self.cpus.iter().filter(|&&seen| seen).count()
    }
}
