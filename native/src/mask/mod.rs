//! Recordings written anew with their names replaced.
//!
//! ```text
//!   file -> a reader's places and `Kind`s -> `Names::hide`, which asks what stands there instead
//!                \_ what no reader reports, and what nobody knows: zeroed, and counted
//! ```
//! The output begins as zeros, and gets what is understood.

mod dat;
mod dat7;
mod folders;
mod lines;
mod names;
mod pages;
mod payload;
mod perf_data;
mod records;
mod repack;
mod sections;
mod symbols;

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use crate::bytes::Order;
use crate::error::{bad, Result};
use crate::input::create;
use crate::perf::header::Magic;
use crate::recording::Event;
use crate::ring::Ring;
use crate::text::{encoding, looks_like};
use crate::watched::{unchanged, Watched};
use crate::wrapped::unwrapped;
use crate::{input, perf, text, tracedat, tracefs};
use names::Names;
use payload::Plan;

pub use names::{Changes, Replacements};
pub use repack::compress;

/// One masking at work.
struct Mask<'m> {
    names: Names<'m>,
    plans: Vec<Option<Plan>>,
    by_type: Vec<u32>,
}

/// Writes the recording at `path` to `out`, which must not exist, with all names replaced; says what was
/// replaced and what was left out.
pub fn mask(path: &Path, out: &Path, replacements: &mut dyn Replacements) -> Result<Changes> {
    let mut mask = Mask { names: Names::new(replacements), plans: Vec::new(), by_type: Vec::new() };
    if path.is_dir() {
        mask.folder(path, out)?;
    } else {
        let file = Arc::new(input::open(path)?);
        let watched = file.metadata()?.is_file().then(|| Watched::new(&file, String::new())).transpose()?;
        unchanged(watched.as_slice(), mask.file(file, out))?;
    }
    Ok(mask.names.changes())
}

impl Mask<'_> {
    fn file(&mut self, file: Arc<File>, out: &Path) -> Result<()> {
        let (inside, wrapping) = unwrapped(Some(file), &mut || self.names.progress(0.0).is_ok())?;
        let Some(wrapping) = wrapping else { return self.plain(&inside, out) };
        if let Some(problem) = wrapping.problem {
            return Err(problem.followed_by("it cannot be masked; unpack what can be read, and mask that"));
        }
        let plain = out.with_extension("unpacked");
        self.plain(&inside, &plain)?;
        repack::compress(&plain, out, wrapping.name)?;
        Ok(std::fs::remove_file(plain)?)
    }

    fn plain(&mut self, file: &Arc<File>, out: &Path) -> Result<()> {
        let start = input::read_up_to(file, text::LOOKED_AT)?;
        if Magic::parse(&start).is_some() {
            let perf = perf::open::of_file(Arc::clone(file))?;
            self.plan(&perf.events);
            return self.perf_data(&perf, &mut create(out)?);
        }
        if start.starts_with(tracedat::MAGIC) {
            return self.trace_dat(file, out);
        }
        let (file, notes) = encoding::plain(Arc::clone(file), &mut || self.names.progress(0.0).is_ok())?;
        let file = &file;
        if looks_like(&input::read_up_to(file, text::LOOKED_AT)?) {
            self.names.tell("text written as UTF-8 with LF", notes.len() as u64);
            let length = file.metadata()?.len();
            return self.text(file, encoding::mark(file)?, length, &mut create(out)?);
        }
        Err(bad!(
            NotACapture(0),
            "not a capture: perf.data, trace.dat, and the text of perf script, trace-cmd report and ftrace are masked"
        ))
    }

    fn folder(&mut self, path: &Path, out: &Path) -> Result<()> {
        if path.join("data").is_file() {
            return self.perf_folder(path, out);
        }
        if tracefs::looks_like(path) {
            return self.tracefs(path, out);
        }
        Err(bad!(NotACapture, "not a capture: expected a perf.data folder (with 'data' inside) or a copy of tracefs (with header_page and per_cpu)"))
    }

    /// Learns from the recorded formats what lies where.
    fn plan(&mut self, events: &[Event]) {
        self.plans = events.iter().map(|event| event.format.as_deref().map(Plan::of)).collect();
        self.by_type = Ring::index(events);
    }

    /// Masks a payload of this event.
    fn payload(&mut self, event: u32, order: Order, payload: &mut [u8]) -> Result<()> {
        match self.plans.get(event as usize).and_then(Option::as_ref) {
            Some(plan) => plan.apply(order, payload, &mut self.names),
            None => {
                // The common fields stand first in every format, and hold no name.
                const COMMON: usize = 8;
                payload.iter_mut().skip(COMMON).for_each(|byte| *byte = 0);
                self.names.tell("payloads without a format zeroed", 1);
                Ok(())
            }
        }
    }
}
