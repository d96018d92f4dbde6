//! What the recorder's command line says about its events.

/// Filters beyond this come from damage: nobody types them, and each is tried on each event.
const MAX_FILTERS: usize = 256;

/// The filter of each event that the recorder's command line set one for. `--filter` belongs
/// to every event of the `-e` before it.
pub fn filters(cmdline: &[String]) -> Vec<(String, String)> {
    let mut filters = Vec::new();
    let mut events: &str = "";
    let mut arguments = cmdline.iter();
    while let Some(argument) = arguments.next() {
        let mut value = |long: &str, short: &str| {
            if argument == long || (!short.is_empty() && argument == short) {
                return arguments.next().map(String::as_str);
            }
            let attached = argument.strip_prefix(long).and_then(|rest| rest.strip_prefix('='));
            let short = (!short.is_empty()).then(|| argument.strip_prefix(short)).flatten();
            attached.or(short)
        };
        if let Some(list) = value("--event", "-e") {
            events = list;
        } else if let Some(filter) = value("--filter", "") {
            let room = MAX_FILTERS - filters.len();
            let events = events.split(',').take(room).map(|event| event.trim().to_owned());
            filters.extend(events.map(|event| (event, filter.to_owned())));
        }
    }
    filters
}

/// Whether the recorder was told to follow tasks: -p, -t and -u overrule -a and -C.
pub fn follows_tasks(cmdline: &[String]) -> bool {
    const ALONE: &str = "aqvgdTsnNBAiRbSzW";
    let mut arguments = cmdline.iter().skip_while(|argument| *argument != "record").skip(1);
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
            // Options of one letter that take no value may stand together before one that takes a value.
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
