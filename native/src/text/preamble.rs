//! What the lines around the events say of the recording: perf's and ftrace's headers, trace-cmd's
//! first lines.

use memchr::memmem;

use super::context::Columns;
use super::scan::Rest;
use crate::host::Host;

/// What was gathered from them.
#[derive(Debug, Clone, Default)]
pub struct Preamble {
    pub host: Host,
    pub columns: Columns,
    /// Events in ftrace's buffer, and events ever written to it.
    pub entries: Option<(u64, u64)>,
    /// The clock, where `perf script --header` names it.
    pub clock: Option<String>,
    /// trace-cmd's `cpus=2` was seen.
    pub of_trace_cmd: bool,
    events: Vec<EventAttr>,
}

/// What `perf script --header` says of an event.
#[derive(Debug, Clone)]
pub struct EventAttr {
    name: String,
    /// Occurrences from one sample to the next; or samples a second, if so.
    pub period: u64,
    pub is_frequency: bool,
    /// Whether it was enabled by the recorded command's exec: then it followed that.
    pub on_exec: bool,
}

/// More events than anybody records at once.
const MAX_EVENTS: usize = 4096;

impl Preamble {
    /// A line that begins with `#`.
    pub fn comment(&mut self, line: &[u8]) {
        self.columns.comment(line);
        let Ok(line) = std::str::from_utf8(line) else { return };
        let line = line.trim_start_matches('#').trim();
        if let Some((key, value)) = line.split_once(" : ") {
            self.of_perf(key.trim(), value.trim());
        } else if let Some(clock) = line.strip_prefix("clockid: ") {
            self.clock = clock.split(' ').next().map(str::to_owned);
        } else if let Some(rest) = line.strip_prefix("entries-in-buffer/entries-written: ") {
            self.entries = counts(rest);
            self.cpus_of_ftrace(rest);
        } else if let Some((_, rest)) = line.strip_prefix("latency: ").and_then(|rest| rest.split_once(", #")) {
            self.entries = counts(rest);
            self.cpus_of_ftrace(rest);
        } else if let Some((_, rest)) = line.split_once(" latency trace v") {
            self.host.os_release = rest.split_once(" on ").map(|(_, release)| release.trim().to_owned());
        }
    }

    /// A line that is none of the kinds that are told apart by how they begin.
    pub fn other(&mut self, line: &[u8]) {
        let mut rest = Rest(line);
        if rest.eat(b"cpus=") {
            if let Some(cpus) = rest.int().and_then(|cpus| u32::try_from(cpus).ok()) {
                self.host.nr_cpus = Some(cpus);
                self.of_trace_cmd = true;
            }
        }
    }

    /// Whether a line that is no event is known to stand where it stands.
    pub fn expects(line: &[u8]) -> bool {
        let line = line.trim_ascii();
        // Lines of --show-round-events begin with "PERF_RECORD_". For several files, trace-cmd writes the CPUs of each
        // behind its name.
        let starts: [&[u8]; 4] = [b"cpus=", b"version = ", b"trace-cmd version ", b"PERF_RECORD_"];
        starts.iter().any(|start| line.starts_with(start))
            || memmem::find(line, b": cpus=").is_some()
            || (line.starts_with(b"CPU ") && line.ends_with(b" is empty"))
    }

    fn of_perf(&mut self, key: &str, value: &str) {
        let host = &mut self.host;
        match key {
            "hostname" => host.hostname = Some(value.to_owned()),
            "os release" => host.os_release = Some(value.to_owned()),
            "perf version" => host.tool_version = Some(value.to_owned()),
            "arch" => host.arch = Some(value.to_owned()),
            "nrcpus avail" => host.nr_cpus = value.parse().ok(),
            "cmdline" => host.cmdline = Some(words(value)),
            "event" if self.events.len() < MAX_EVENTS => self.events.extend(EventAttr::parse(value)),
            _ => {}
        }
    }

    /// What a header says of the event of this name.
    pub fn event(&self, name: &str) -> Option<&EventAttr> {
        self.events.iter().find(|event| event.name == name)
    }

    fn cpus_of_ftrace(&mut self, rest: &str) {
        let count = rest.split_once("#P:").map(|(_, count)| count.trim_end_matches(')').trim());
        self.host.nr_cpus = count.and_then(|count| count.parse().ok()).or(self.host.nr_cpus);
    }
}

/// A command line's words. perf prints no quotes, and only filters have spaces: each goes on to the
/// next option.
fn words(line: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let (mut in_filter, mut begins) = (false, false);
    for word in line.split(' ').filter(|word| !word.is_empty()) {
        if in_filter && !begins && !word.starts_with('-') {
            let filter = words.last_mut().map(|filter| [filter, word].join(" "));
            words.pop();
            words.extend(filter);
            continue;
        }
        begins = word == "--filter";
        in_filter = (in_filter && !word.starts_with('-')) || word.starts_with("--filter");
        words.push(word.to_owned());
    }
    words
}

impl EventAttr {
    /// `name = irq:softirq_entry, , id = { 1, 2 }, ..., { sample_period, sample_freq } = 1, ..., freq = 1, ...`.
    fn parse(value: &str) -> Option<EventAttr> {
        let (name, rest) = value.strip_prefix("name = ")?.split_once(',')?;
        let number = rest.split_once("sample_freq } = ")?.1;
        let digits = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
        Some(EventAttr {
            name: name.to_owned(),
            period: number[..digits].parse().ok()?,
            is_frequency: rest.contains(", freq = 1"),
            on_exec: rest.contains(", enable_on_exec = 1"),
        })
    }
}

/// `116/120   #P:1` or `116/120, CPU#0`: what is there, and what ever was.
fn counts(text: &str) -> Option<(u64, u64)> {
    let (there, rest) = text.split_once('/')?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    Some((there.parse().ok()?, rest[..digits].parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines_with_filters() {
        let told =
            words("perf record -a -e irq:softirq_entry --filter vec == 3 -e a --filter=vec == 3 || x -- sleep 1");
        let wanted = ["perf", "record", "-a", "-e", "irq:softirq_entry", "--filter", "vec == 3"];
        assert_eq!(told[..7], wanted);
        assert_eq!(told[7..], ["-e", "a", "--filter=vec == 3 || x", "--", "sleep", "1"]);
    }

    #[test]
    fn events_in_perfs_header() {
        let mut preamble = Preamble::default();
        preamble.comment(
            b"# event : name = cycles:P, , id = { 1, 2 }, type = 0, { sample_period, sample_freq } = 4000, \
              sample_type = IP, freq = 1, enable_on_exec = 1, sample_id_all = 1",
        );
        let event = preamble.event("cycles:P").expect("an event");
        assert_eq!((event.period, event.is_frequency, event.on_exec), (4000, true, true));
    }

    #[test]
    fn headers_of_every_tool() {
        let mut preamble = Preamble::default();
        for line in [
            "# hostname : vm : x",
            "# nrcpus avail : 2",
            "# clockid: monotonic (1)",
            "# entries-in-buffer/entries-written: 421/4971   #P:8",
            "# nop latency trace v1.1.5 on 6.18.44",
        ] {
            preamble.comment(line.as_bytes());
        }
        assert_eq!(preamble.host.hostname.as_deref(), Some("vm : x"));
        assert_eq!(preamble.host.nr_cpus, Some(8));
        assert_eq!(preamble.clock.as_deref(), Some("monotonic"));
        assert_eq!(preamble.entries, Some((421, 4971)));
        assert_eq!(preamble.host.os_release.as_deref(), Some("6.18.44"));
        preamble.comment(b"# latency: 0 us, #2/30, CPU#0 | (M:PREEMPT VP:0, KP:0, SP:0 HP:0 #P:4)");
        assert_eq!((preamble.entries, preamble.host.nr_cpus), (Some((2, 30)), Some(4)));
        preamble.other(b"cpus=3");
        assert_eq!((preamble.of_trace_cmd, preamble.host.nr_cpus), (true, Some(3)));
    }
}
