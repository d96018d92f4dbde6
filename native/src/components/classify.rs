//! The component of each stack: of its frames, the innermost first, the first that a rule names decides.

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::components::patterns::Patterns;
use crate::narrow::Narrow;

/// What no rule names.
pub const UNCLASSIFIED: i16 = 0;
/// What is in user mode.
pub const APPLICATION: i16 = 1;

/// Which samples of a timer a rule is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timer {
    /// It is no rule of a timer's samples.
    None,
    /// Those in a function.
    Function,
    /// Those at the address at which most of the function's are.
    Address,
}

/// A rule; patterns are as in a shell.
#[derive(Debug)]
pub struct Rule {
    /// Its component, as a number.
    pub component: i16,
    /// Functions that it names.
    pub functions: Vec<String>,
    /// Modules, all of whose functions it names.
    pub modules: Vec<String>,
    /// It counts only where one of these is further out,
    pub under: Vec<String>,
    /// and none of these before.
    pub until: Vec<String>,
    /// Whether it is of a timer's samples.
    pub timer: Timer,
}

/// What stacks are classified by.
#[derive(Debug)]
pub struct Rules {
    rules: Vec<Rule>,
    /// Of functions and modules, of `under` and of `until` of each rule.
    names: [Patterns; 4],
    /// What an interrupt comes to when its own work is done.
    ends: Patterns,
    /// Where interrupts enter the kernel.
    entries: Patterns,
}

impl Rules {
    /// Rules, the first that names a function counts; then functions that end interrupts, and that are their entries.
    pub fn new(rules: Vec<Rule>, ends: &[String], entries: &[String]) -> Rules {
        let lists: [fn(&Rule) -> &[String]; 4] =
            [|rule| &rule.functions, |rule| &rule.modules, |rule| &rule.under, |rule| &rule.until];
        let names = lists.map(|list| Patterns::of(rules.iter().map(list)));
        Rules { rules, names, ends: Patterns::of([ends]), entries: Patterns::of([entries]) }
    }

    /// The rules that name a function, in order.
    fn naming(&self, function: &str, module: &str) -> Vec<u32> {
        let mut found = self.names[0].naming(function);
        if !module.is_empty() {
            found.extend(self.names[1].naming(module));
            found.sort_unstable();
            found.dedup();
        }
        found
    }
}

/// Different stacks, and how many samples have each.
#[derive(Debug)]
pub struct Stacks<'a> {
    /// Where each begins in `places`, and behind the last where that ends.
    pub begins: &'a [i64],
    /// Frames, the innermost first.
    pub places: &'a [i32],
    /// Of each stack the innermost frame that has an address of its own.
    pub leaves: &'a [i32],
    /// Samples of each.
    pub samples: &'a [u64],
    /// Of each frame, whether it is the kernel's.
    pub in_kernel: &'a [bool],
    /// Of each frame its function and module, empty for none.
    pub names: &'a [(&'a str, &'a str)],
    /// Whether a timer took the samples.
    pub is_timed: bool,
}

impl Stacks<'_> {
    fn frames(&self, stack: usize) -> &[i32] {
        &self.places[self.begins[stack].narrow()..self.begins[stack + 1].narrow()]
    }

    /// Frames at which more than half of their function's samples are.
    fn busiest(&self) -> Vec<bool> {
        let mut here = vec![0u64; self.in_kernel.len()];
        let mut all: FxHashMap<&str, u64> = FxHashMap::default();
        for (&leaf, &samples) in self.leaves.iter().zip(self.samples) {
            here[leaf as usize] += samples;
            if self.in_kernel[leaf as usize] {
                *all.entry(self.names[leaf as usize].0).or_default() += samples;
            }
        }
        let of = |frame: usize| all.get(self.names[frame].0).copied().unwrap_or(0);
        (0..here.len()).map(|frame| self.in_kernel[frame] && 2 * here[frame] > of(frame)).collect()
    }
}

/// Of each stack.
#[derive(Debug, Default)]
pub struct Classes {
    /// Its component.
    pub of_stack: Vec<i16>,
    /// The frame that decided, -1 for none.
    pub decided_by: Vec<i32>,
    /// Its component by all rules but those of a timer's samples.
    pub beneath: Vec<i16>,
    /// The entry of an interrupt that had ended with nothing run behind it, -1 for none.
    pub ended: Vec<i32>,
}

/// What rules say of a function.
struct Known {
    /// Rules that name it, up to the first that asks for nothing more.
    rules: Vec<u32>,
    /// Of a timer's samples.
    timers: Vec<u32>,
    under: Vec<u32>,
    until: Vec<u32>,
    is_end: bool,
    is_entry: bool,
}

impl Known {
    fn of(rules: &Rules, (function, module): (&str, &str)) -> Known {
        let naming = rules.naming(function, module);
        let rule = |number: &u32| &rules.rules[*number as usize];
        let (others, timers): (Vec<u32>, Vec<u32>) =
            naming.into_iter().partition(|number| rule(number).timer == Timer::None);
        let last = others.iter().position(|number| rule(number).under.is_empty());
        let most = if function.is_empty() { 0 } else { last.map_or(others.len(), |at| at + 1) };
        Known {
            rules: others[..most].to_vec(),
            timers,
            under: rules.names[2].naming(function),
            until: rules.names[3].naming(function),
            is_end: rules.ends.name(function),
            is_entry: rules.entries.name(function),
        }
    }
}

/// Classifies each stack.
pub fn classify(stacks: &Stacks<'_>, rules: &Rules) -> Classes {
    let mut distinct: IndexSet<(&str, &str), FxBuildHasher> = IndexSet::default();
    let of_frame: Vec<usize> = stacks.names.iter().map(|&pair| distinct.insert_full(pair).0).collect();
    let known: Vec<Known> = distinct.iter().map(|&pair| Known::of(rules, pair)).collect();
    let at = |frame: i32| &known[of_frame[frame as usize]];
    let inside = |frame: i32| stacks.in_kernel[frame as usize];
    let is_under = |rule: u32, outer: &[i32]| {
        if rules.rules[rule as usize].under.is_empty() {
            return true;
        }
        let decides = |frame: &&i32| at(**frame).under.contains(&rule) || at(**frame).until.contains(&rule);
        outer.iter().find(decides).is_some_and(|&frame| at(frame).under.contains(&rule))
    };
    let busiest = if stacks.is_timed { stacks.busiest() } else { Vec::new() };
    let mut found = Classes::default();
    for (stack, &leaf) in stacks.leaves.iter().enumerate() {
        let frames = stacks.frames(stack);
        let named = |place: usize| {
            let own = if inside(frames[place]) { at(frames[place]).rules.as_slice() } else { &[] };
            own.iter().find(|&&rule| is_under(rule, &frames[place..])).map(|&rule| (rule, frames[place]))
        };
        let first = (0..frames.len()).find_map(named).filter(|_| inside(leaf));
        let (beneath, mut decided) = match first {
            _ if !inside(leaf) => (APPLICATION, -1),
            Some((rule, frame)) => (rules.rules[rule as usize].component, frame),
            None => (UNCLASSIFIED, -1),
        };
        let mut component = beneath;
        if stacks.is_timed && inside(leaf) {
            // Interrupts enabled again: such samples are of what ran without them.
            let is_of = |rule: &&Rule| rule.timer == Timer::Function || busiest[leaf as usize];
            let mut timers = at(leaf).timers.iter().map(|&rule| &rules.rules[rule as usize]);
            if let Some(rule) = timers.find(is_of) {
                (component, decided) = (rule.component, leaf);
            }
        }
        let behind = frames.iter().copied().find(|&frame| !(inside(frame) && at(frame).is_end));
        found.of_stack.push(component);
        found.decided_by.push(decided);
        found.beneath.push(beneath);
        found.ended.push(behind.filter(|&frame| inside(frame) && at(frame).is_entry).unwrap_or(-1));
    }
    found
}
