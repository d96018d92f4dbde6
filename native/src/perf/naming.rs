//! Names of events that no header names, as perf spells them (`tools/perf/util/evsel.c`).

use crate::perf::attr::Attr;

const HARDWARE: [&str; 10] = [
    "cycles",
    "instructions",
    "cache-references",
    "cache-misses",
    "branches",
    "branch-misses",
    "bus-cycles",
    "stalled-cycles-frontend",
    "stalled-cycles-backend",
    "ref-cycles",
];
const SOFTWARE: [&str; 12] = [
    "cpu-clock",
    "task-clock",
    "page-faults",
    "context-switches",
    "cpu-migrations",
    "minor-faults",
    "major-faults",
    "alignment-faults",
    "emulation-faults",
    "dummy",
    "bpf-output",
    "cgroup-switches",
];
const CACHES: [&str; 7] = ["L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch", "node"];
const CACHE_OPERATIONS: [(&str, &str); 3] = [("load", "loads"), ("store", "stores"), ("prefetch", "prefetches")];

const TYPE_HARDWARE: u32 = 0;
const TYPE_SOFTWARE: u32 = 1;
const TYPE_HW_CACHE: u32 = 3;
const TYPE_RAW: u32 = 4;
const TYPE_BREAKPOINT: u32 = 5;

/// `cycles:u`, `L1-dcache-load-misses`, or type and number where the kernel's list has none.
pub fn name(attr: &Attr) -> String {
    let listed = |names: &[&str]| names.get(usize::try_from(attr.config).ok()?).map(|name| (*name).to_owned());
    let base = match attr.kind {
        TYPE_HARDWARE => listed(&HARDWARE),
        TYPE_SOFTWARE => listed(&SOFTWARE),
        TYPE_HW_CACHE => cache(attr.config),
        TYPE_RAW => Some(format!("raw {:#x}", attr.config)),
        TYPE_BREAKPOINT => Some("breakpoint".to_owned()),
        _ => None,
    };
    match base {
        Some(base) => base + &modifiers(attr),
        None => format!("type {} config {:#x}", attr.kind, attr.config),
    }
}

fn cache(config: u64) -> Option<String> {
    let part = |shift: u32| (config >> shift & 0xff) as usize;
    let (cache, (operation, operations)) = (CACHES.get(part(0))?, CACHE_OPERATIONS.get(part(8))?);
    match part(16) {
        0 => Some(format!("{cache}-{operations}")),
        1 => Some(format!("{cache}-{operation}-misses")),
        _ => None,
    }
}

/// Only what restricts the event: `:u` is user mode alone, `:ppp` the most precise address.
fn modifiers(attr: &Attr) -> String {
    let [user, kernel, hypervisor, host] = attr.excludes();
    let mut letters = String::new();
    if user || kernel || hypervisor {
        let included = [(kernel, 'k'), (user, 'u'), (hypervisor, 'h')];
        letters.extend(included.iter().filter(|(excluded, _)| !excluded).map(|(_, letter)| letter));
    }
    letters.extend(std::iter::repeat_n('p', attr.precise_ip.into()));
    if host {
        letters.push('G');
    }
    if letters.is_empty() {
        letters
    } else {
        format!(":{letters}")
    }
}

#[cfg(test)]
mod tests;
