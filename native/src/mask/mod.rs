//! Recordings written anew with their names replaced.
//!
//! ```text
//!   file -> records, pages or lines -> places that hold names (by the recorded formats) -> `Names`
//!                                         \_ places that nobody knows: zeroed, and counted
//! ```
//! Here is known where in the bytes something stands; what it means, and what stands there instead, is
//! the caller's (`Meaning`). Whatever is not known to be harmless is left out: the output begins as
//! zeros, and gets what is understood.

mod dat;
mod dat6;
mod dat7;
mod features;
mod folders;
mod lines;
mod meaning;
mod names;
mod pages;
mod payload;
mod perf_data;
mod recorded;
mod records;
mod repack;
mod sections;
mod symbols;

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use crate::bytes::Order;
use crate::error::{bad, Result};
use crate::format::Format;
use crate::input::create;
use crate::perf::header::Magic;
use crate::recording::Event;
use crate::text::{encoding, looks_like};
use crate::wrapped::unwrapped;
use crate::{input, perf, text, tracedat, tracefs};
use names::Names;
use payload::Plan;

pub use meaning::{Changes, Meaning};
pub use repack::compress;

/// One masking at work.
pub struct Mask<'m> {
    names: Names<'m>,
    plans: Vec<Option<Plan>>,
    changes: Changes,
}

/// Writes the recording at `path` to `out`, which must not exist, with all names replaced; says what was
/// replaced and what was left out.
pub fn mask(path: &Path, out: &Path, meaning: &mut dyn Meaning) -> Result<Changes> {
    let mut mask = Mask { names: Names::new(meaning), plans: Vec::new(), changes: Changes::new() };
    if path.is_dir() {
        mask.folder(path, out)?;
    } else {
        mask.file(Arc::new(input::open(path)?), out)?;
    }
    let Mask { names, mut changes, .. } = mask;
    for (kind, count) in names.counts() {
        *changes.entry(format!("{kind} replaced")).or_default() += count;
    }
    Ok(changes)
}

impl Mask<'_> {
    fn file(&mut self, file: Arc<File>, out: &Path) -> Result<()> {
        let (inside, wrapping) = unwrapped(Some(file), &mut || self.names.meaning().progress(0.0).is_ok())?;
        let Some(wrapping) = wrapping else { return self.plain(&inside, out) };
        if let Some(problem) = wrapping.problem {
            return Err(bad!("{problem}; it cannot be masked: unpack it first"));
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
            self.plan(&perf.events)?;
            return self.perf_data(&perf, file, &mut create(out)?, false);
        }
        if start.starts_with(tracedat::MAGIC) {
            return self.trace_dat(file, out);
        }
        let (file, notes) = encoding::plain(Arc::clone(file), &mut || self.names.meaning().progress(0.0).is_ok())?;
        let file = &file;
        if looks_like(&input::read_up_to(file, text::LOOKED_AT)?) {
            self.tell("text written as UTF-8 with LF", notes.len() as u64);
            let length = file.metadata()?.len();
            return self.text(file, encoding::mark(file)?, length, &mut create(out)?);
        }
        Err(bad!(
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
        Err(bad!("no capture here: expected a perf.data folder (with 'data' inside) or a copy of tracefs (with header_page and per_cpu)"))
    }

    /// Learns from the recorded formats what lies where.
    fn plan(&mut self, events: &[Event]) -> Result<()> {
        self.plans.clear();
        for event in events {
            let plan = match event.format.as_deref() {
                Some(format) => Some(self.plan_of(format)?),
                None => None,
            };
            self.plans.push(plan);
        }
        Ok(())
    }

    fn plan_of(&mut self, format: &Format) -> Result<Plan> {
        Plan::of(format, self.names.meaning())
    }

    /// Masks a payload of this event.
    fn payload(&mut self, event: Option<u32>, order: Order, payload: &mut [u8]) -> Result<()> {
        let plan = event.and_then(|event| self.plans.get(event as usize)).and_then(Option::as_ref);
        match plan {
            Some(plan) => plan.apply(order, payload, &mut self.names, &mut self.changes),
            None => {
                // The common fields stand first in every format, and hold no name.
                const COMMON: usize = 8;
                payload.iter_mut().skip(COMMON).for_each(|byte| *byte = 0);
                self.tell("payloads without a format zeroed", 1);
                Ok(())
            }
        }
    }

    /// Hides the names of BPF programs among the kernel's functions.
    fn symbols(&mut self, bytes: &mut [u8]) {
        let count = symbols::hide_bpf(bytes);
        self.tell("names of BPF programs among the kernel's functions hidden", count);
    }

    fn tell(&mut self, what: &str, count: u64) {
        match self.changes.get_mut(what) {
            Some(found) => *found += count,
            None if count > 0 => drop(self.changes.insert(what.to_owned(), count)),
            None => {}
        }
    }
}
