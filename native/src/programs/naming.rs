//! Frames of programs: the file and the place in it of each, and its functions where that file is at hand.

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::intern::{Interner, NONE};
use crate::programs::elf::{functions, Place};
use crate::programs::files::{Search, MOST_FILES};
use crate::programs::spaces::{Query, Spaces};

/// An address of the kernel's, or of a process by its number and state (`Spaces::at`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The address.
    pub address: u64,
    /// Whether it is the kernel's.
    pub in_kernel: bool,
    /// None for the kernel's, and where nobody asked.
    pub process: Option<(i32, u32)>,
    /// Whether it is where a call returns to.
    pub returns: bool,
}

/// What is known of a frame, as codes; `NONE` for what is not.
#[derive(Debug, Clone)]
pub struct Known {
    /// The file's name.
    pub dso: u32,
    /// Its build id.
    pub build_id: u32,
    /// Where in the file it is.
    pub file_offset: Option<u64>,
    /// The function's symbol.
    pub symbol: u32,
    /// Bytes from its start.
    pub offset: Option<u64>,
    /// What is inlined there, the innermost first.
    pub inlined: Vec<u32>,
}

impl Default for Known {
    fn default() -> Known {
        Known { dso: NONE, build_id: NONE, file_offset: None, symbol: NONE, offset: None, inlined: Vec::new() }
    }
}

/// What is known of each frame. Files are read where `search` is given.
pub fn frames_of_programs(
    frames: &IndexSet<Frame, FxBuildHasher>,
    spaces: Option<&(Spaces, Interner)>,
    search: Option<&Search>,
    strings: &mut Interner,
) -> Vec<Known> {
    let mut known = vec![Known::default(); frames.len()];
    let Some((spaces, names)) = spaces else { return known };
    let (mut queries, mut asked): (Vec<Query>, Vec<usize>) = (Vec::new(), Vec::new());
    for (place, frame) in frames.iter().enumerate() {
        if let Some((pid, at)) = frame.process {
            queries.push((pid, at, frame.address));
            asked.push(place);
        }
    }
    let mut files: FxHashMap<(u32, u32), Vec<usize>> = FxHashMap::default();
    for (&place, found) in asked.iter().zip(spaces.find(&queries)) {
        let Some(mapping) = found.and_then(|number| spaces.mappings.get(number as usize)) else { continue };
        let mut code = |of: u32| if of == NONE { NONE } else { strings.code(names.get(of).as_bytes()) };
        known[place].dso = code(mapping.filename);
        known[place].build_id = code(mapping.build_id);
        let inside = frames[place].address - mapping.address;
        known[place].file_offset = Some(inside.wrapping_add(mapping.page_offset));
        files.entry((known[place].dso, known[place].build_id)).or_default().push(place);
    }
    let Some(search) = search else { return known };
    // Where there are too many, those that most addresses are in.
    let mut files: Vec<((u32, u32), Vec<usize>)> = files.into_iter().collect();
    files.sort_by_key(|(of, places)| (std::cmp::Reverse(places.len()), *of));
    for ((dso, id), places) in files.into_iter().take(MOST_FILES) {
        let id = (id != NONE).then(|| strings.get(id).to_owned());
        let Some(program) = search.program(strings.get(dso), id.as_deref()) else { continue };
        let inside = |place: &usize| {
            let file_offset = known[*place].file_offset.unwrap_or(u64::MAX);
            Place { file_offset, returns: frames[*place].returns }
        };
        let wanted: Vec<Place> = places.iter().map(inside).collect();
        for (place, found) in places.into_iter().zip(functions(&program.mapped, program.debug.as_deref(), &wanted)) {
            let Some(found) = found else { continue };
            let known = &mut known[place];
            known.symbol = strings.code(found.symbol.as_bytes());
            known.offset = Some(found.offset);
            known.inlined = found.inlined.iter().map(|name| strings.code(name.as_bytes())).collect();
        }
    }
    known
}
