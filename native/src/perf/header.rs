//! The fixed header of a perf.data file and its feature sections (`tools/perf/util/header.h`).

use crate::bytes::{slice, text, u32_at, u64_at};
use crate::perf::attr::Attr;
use crate::perf::tracing_data::TracingData;

/// First eight bytes of every little-endian perf.data since 2010.
pub const MAGIC: &[u8; 8] = b"PERFILE2";

/// Offset and size of a part of the file.
#[derive(Debug, Clone, Copy, Default)]
pub struct Section {
    /// Bytes from the start of the file.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
}

impl Section {
    /// The section described at `at`.
    pub fn parse(bytes: &[u8], at: usize) -> Option<Section> {
        Some(Section { offset: u64_at(bytes, at)?, size: u64_at(bytes, at + 8)? })
    }

    /// Where the section ends.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.size)
    }
}

/// The 104-byte header of a seekable file.
#[derive(Debug, Clone)]
pub struct FileHeader {
    /// Bytes per entry of the attr table, its id section included.
    pub attr_size: u64,
    /// The attr table.
    pub attrs: Section,
    /// The records. Size 0: the recording was never finished.
    pub data: Section,
    /// Numbers of the features whose sections follow the data.
    pub features: Vec<usize>,
}

impl FileHeader {
    /// Parses the header that follows the magic and the header's own size.
    pub fn parse(bytes: &[u8]) -> Option<FileHeader> {
        let words = slice(bytes, 72, 32)?;
        let bit = |number: &usize| words[number / 8] >> (number % 8) & 1 == 1;
        Some(FileHeader {
            attr_size: u64_at(bytes, 16)?,
            attrs: Section::parse(bytes, 24)?,
            data: Section::parse(bytes, 40)?,
            features: (0..256).filter(bit).collect(),
        })
    }
}

/// What the features say. Everything is optional: recorders differ.
#[derive(Debug, Default)]
pub struct Features {
    /// Name of the recorded host.
    pub hostname: Option<String>,
    /// `uname -r`.
    pub os_release: Option<String>,
    /// perf's version.
    pub version: Option<String>,
    /// `uname -m`.
    pub arch: Option<String>,
    /// CPUs the host could have, CPUs online.
    pub nr_cpus: Option<(u32, u32)>,
    /// The recorder's command line.
    pub cmdline: Option<Vec<String>>,
    /// Names and ids of the events.
    pub event_desc: Vec<(String, Vec<u64>)>,
    /// Formats of the recorded tracepoints.
    pub tracing: TracingData,
    /// Whether records were compressed.
    pub compressed: bool,
    /// `CLOCK_*` id of the clock the timestamps were taken from.
    pub clockid: Option<u32>,
}

const TRACING_DATA: usize = 1;
const HOSTNAME: usize = 3;
const OSRELEASE: usize = 4;
const VERSION: usize = 5;
const ARCH: usize = 6;
const NRCPUS: usize = 7;
const CMDLINE: usize = 11;
const EVENT_DESC: usize = 12;
const COMPRESSED: usize = 27;
const CLOCK_DATA: usize = 29;

impl Features {
    /// Whether `read` does anything with this feature: the others need not be loaded.
    pub fn wants(feature: usize) -> bool {
        matches!(
            feature,
            TRACING_DATA
                | HOSTNAME
                | OSRELEASE
                | VERSION
                | ARCH
                | NRCPUS
                | CMDLINE
                | EVENT_DESC
                | COMPRESSED
                | CLOCK_DATA
        )
    }

    /// Takes over one feature's section. A damaged one leaves its value unknown.
    pub fn read(&mut self, feature: usize, bytes: &[u8]) {
        let string = || string_at(bytes, 0).map(|found| found.0);
        match feature {
            TRACING_DATA => self.tracing = TracingData::parse(bytes),
            HOSTNAME => self.hostname = string(),
            OSRELEASE => self.os_release = string(),
            VERSION => self.version = string(),
            ARCH => self.arch = string(),
            NRCPUS => self.nr_cpus = u32_at(bytes, 0).zip(u32_at(bytes, 4)),
            CMDLINE => self.cmdline = strings(bytes),
            EVENT_DESC => self.event_desc = event_desc(bytes).unwrap_or_default(),
            COMPRESSED => self.compressed = true,
            CLOCK_DATA => self.clockid = u32_at(bytes, 4),
            _ => {}
        }
    }

    /// The filter of each event that the recorder's command line set one for. `--filter` belongs
    /// to every event of the `-e` before it.
    pub fn filters(&self) -> Vec<(String, String)> {
        let mut filters = Vec::new();
        let mut events: Vec<String> = Vec::new();
        let mut arguments = self.cmdline.iter().flatten();
        while let Some(argument) = arguments.next() {
            let mut value = |long: &str, short: &str| {
                if argument == long || (!short.is_empty() && argument == short) {
                    return arguments.next().cloned();
                }
                let attached = argument.strip_prefix(long).and_then(|rest| rest.strip_prefix('='));
                let short = (!short.is_empty()).then(|| argument.strip_prefix(short)).flatten();
                attached.or(short).map(str::to_owned)
            };
            if let Some(list) = value("--event", "-e") {
                events = list.split(',').map(|event| event.trim().to_owned()).collect();
            } else if let Some(filter) = value("--filter", "") {
                filters.extend(events.iter().map(|event| (event.clone(), filter.clone())));
            }
        }
        filters
    }

    /// Whether the recorder was told to follow tasks: -p, -t and -u overrule -a and -C.
    pub fn follows_tasks(&self) -> bool {
        const ALONE: &str = "aqvgdTsnNBAiRbSzW";
        let mut arguments = self.cmdline.iter().flatten().skip_while(|argument| *argument != "record").skip(1);
        while let Some(argument) = arguments.next() {
            if let Some(long) = argument.strip_prefix("--") {
                let (name, attached) = long.split_once('=').map_or((long, false), |(name, _)| (name, true));
                if matches!(name, "pid" | "tid" | "uid") {
                    return true;
                }
                if name.is_empty() {
                    return false;
                }
                if !attached && LONG_WITH_VALUE.contains(&name) {
                    arguments.next();
                }
            } else if let Some(short) = argument.strip_prefix('-').filter(|short| !short.is_empty()) {
                // Letters that take no value may stand together, before one that does.
                let rest = short.trim_start_matches(|letter| ALONE.contains(letter));
                if rest.starts_with(['p', 't', 'u']) {
                    return true;
                }
                if rest.chars().count() == 1 {
                    arguments.next();
                }
            } else {
                return false; // the words of the recorded command
            }
        }
        false
    }
}

/// Options of perf record that take a value in the next word.
const LONG_WITH_VALUE: [&str; 26] = [
    "event",
    "filter",
    "count",
    "freq",
    "output",
    "mmap-pages",
    "cpu",
    "clockid",
    "call-graph",
    "realtime",
    "delay",
    "cgroup",
    "proc-map-timeout",
    "user-callchains",
    "vmlinux",
    "max-size",
    "num-thread-synthesize",
    "control",
    "synth",
    "aio-sample",
    "affinity",
    "mmap-flush",
    "branch-filter",
    "debuginfod-urls",
    "switch-max-files",
    "setup-filter",
];

/// Whether a name fits a pattern with `*` and `?`, as perf's -e takes them. Only the last `*` ever
/// needs to be tried again, so no pattern takes long.
pub fn fits(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(&one) if one == b'?' || one == name[n] => (p, n) = (p + 1, n + 1),
            _ => match star {
                Some((at, from)) => {
                    star = Some((at, from + 1));
                    (p, n) = (at + 1, from + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&rest| rest == b'*')
}

/// A length-prefixed string and where the next thing starts.
fn string_at(bytes: &[u8], at: usize) -> Option<(String, usize)> {
    let size = u32_at(bytes, at)? as usize;
    Some((text(slice(bytes, at + 4, size)?), at + 4 + size))
}

fn strings(bytes: &[u8]) -> Option<Vec<String>> {
    let count = u32_at(bytes, 0)?;
    let mut at = 4;
    let mut strings = Vec::new();
    for _ in 0..count {
        let (string, next) = string_at(bytes, at)?;
        strings.push(string);
        at = next;
    }
    Some(strings)
}

fn event_desc(bytes: &[u8]) -> Option<Vec<(String, Vec<u64>)>> {
    let (count, attr_size) = (u32_at(bytes, 0)?, u32_at(bytes, 4)? as usize);
    let mut at = 8;
    let mut events = Vec::new();
    for _ in 0..count {
        Attr::parse(slice(bytes, at, attr_size)?)?;
        at += attr_size;
        let id_count = u32_at(bytes, at)? as usize;
        let (name, next) = string_at(bytes, at + 4)?;
        let ids = slice(bytes, next, id_count.checked_mul(8)?)?;
        at = next + ids.len();
        events.push((name, ids.chunks_exact(8).filter_map(|id| u64_at(id, 0)).collect()));
    }
    Some(events)
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn patterns_as_perf_takes_them() {
        for (pattern, name, expected) in [
            ("irq:softirq_entry", "irq:softirq_entry", true),
            ("irq:*", "irq:softirq_entry", true),
            ("irq:softirq_e*", "irq:softirq_exit", true),
            ("irq:softirq_en*", "irq:softirq_exit", false),
            ("*:*_exit", "irq:softirq_exit", true),
            ("irq:softirq_?ntry", "irq:softirq_entry", true),
            ("irq:", "irq:softirq_entry", false),
            ("*a*a*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }
}
