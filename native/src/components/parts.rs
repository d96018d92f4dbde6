//! Samples summed up by all that questions about components and functions tell apart: few rows, whatever their number.

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

use crate::chains::{Selection, Sum};
use crate::components::classify::{classify, Rules, Stacks};
use crate::components::folded::folded;
use crate::error::Result;
use crate::intern::{Interner, NONE};
use crate::narrow::Narrow;
use crate::progress::Progress;
use crate::recording::Recording;
use crate::stacks::{Named, Request};

/// Samples of stacks that nothing tells apart.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// Where they are: function, module and file, where known.
    pub function: Option<String>,
    /// None for the kernel's own.
    pub module: Option<String>,
    /// Of a program, where programs were asked for.
    pub dso: Option<String>,
    /// Whether they are in the kernel.
    pub in_kernel: bool,
    /// Their component.
    pub component: i16,
    /// That by all rules but those of a timer's samples.
    pub beneath: i16,
    /// The function that decided.
    pub decided_by: Option<String>,
    /// The entry of an interrupt that had ended with nothing run behind it.
    pub ended: Option<String>,
    /// Those that are selected,
    pub samples: u64,
    /// what they stand for,
    pub weight: i64,
    /// and its squares.
    pub squares: f64,
}

/// The samples of one event.
#[derive(Debug)]
pub struct Parts {
    /// In the order of their first samples; those of which some are selected apart from all others.
    pub parts: Vec<Part>,
    /// CPUs that have samples.
    pub cpus: Vec<i32>,
    /// Whether any frame has a name.
    pub has_names: bool,
}

/// The codes of a part: function, module, dso, decided_by and ended; then in_kernel, component, beneath, and whether
/// any sample is selected.
type Key = ([u32; 5], bool, [i16; 2], bool);

/// The samples of the events of this name, in one pass.
pub fn parts(
    recording: &Recording,
    name: &str,
    request: &Request,
    selection: Selection,
    (rules, is_timed): (&Rules, bool),
    progress: Progress<'_>,
) -> Result<Parts> {
    let found = recording.sums(request.wanted(name), selection, progress)?;
    let Named { rows, strings, places, begins } = request.named(recording, &found);
    let sums = &found.samples.of_chain;
    let mut functions = Interner::default();
    let mut text = |code: u32| if code == NONE { NONE } else { functions.code(folded(strings.get(code)).as_bytes()) };
    let of_frame: Vec<u32> = rows.iter().map(|row| text(row.symbol)).collect();
    let own = |frames: &[i32]| frames.iter().copied().find(|&frame| !rows[frame as usize].inlined);
    let ranges = begins.windows(2).map(|ends| ends[0].narrow()..ends[1].narrow());
    let leaves: Vec<i32> = ranges.map(|range| own(&places[range]).unwrap_or_default()).collect();
    let in_kernel: Vec<bool> = rows.iter().map(|row| row.in_kernel).collect();
    let names: Vec<(&str, &str)> =
        rows.iter().zip(&of_frame).map(|(row, &code)| (functions.get(code), strings.get(row.module))).collect();
    let samples: Vec<u64> = sums.iter().map(|sum| sum.all).collect();
    let stacks = Stacks {
        begins: &begins,
        places: &places,
        leaves: &leaves,
        samples: &samples,
        in_kernel: &in_kernel,
        names: &names,
        is_timed,
    };
    let classes = classify(&stacks, rules);
    let of = |frame: i32| usize::try_from(frame).map_or(NONE, |frame| of_frame[frame]);
    let mut merged: IndexMap<Key, Sum, FxBuildHasher> = IndexMap::default();
    for (stack, (&leaf, sum)) in leaves.iter().zip(sums).enumerate() {
        let row = &rows[leaf as usize];
        let decided = of(classes.decided_by[stack]);
        let texts = [of(leaf), row.module, row.dso, decided, of(classes.ended[stack])];
        let components = [classes.of_stack[stack], classes.beneath[stack]];
        let into = merged.entry((texts, row.in_kernel, components, sum.samples > 0)).or_default();
        into.samples += sum.samples;
        into.weight = into.weight.wrapping_add(sum.weight);
        into.squares = into.squares.wrapping_add(sum.squares);
    }
    let string = |of: &Interner, code: u32| (code != NONE).then(|| of.get(code).to_owned());
    let part = |(key, sum): (Key, Sum)| Part {
        function: string(&functions, key.0[0]),
        module: string(&strings, key.0[1]),
        dso: string(&strings, key.0[2]),
        in_kernel: key.1,
        component: key.2[0],
        beneath: key.2[1],
        decided_by: string(&functions, key.0[3]),
        ended: string(&functions, key.0[4]),
        samples: sum.samples,
        weight: sum.weight,
        squares: sum.squares as f64,
    };
    Ok(Parts {
        parts: merged.into_iter().map(part).collect(),
        cpus: found.samples.cpus.into_iter().collect(),
        has_names: rows.iter().any(|row| row.symbol != NONE),
    })
}
