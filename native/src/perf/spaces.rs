//! Which files processes have mapped, from MMAP, FORK and COMM records, with the build ids that perf knew.

use std::ops::ControlFlow;

use crate::bytes::{i32_at, until_nul};
use crate::error::{bad, Result};
use crate::intern::{Interner, NONE};
use crate::perf::build_ids;
use crate::perf::maps::{mapping, MODE_USER};
use crate::perf::record::{kind, misc};
use crate::perf::recording::PerfData;
use crate::programs::spaces::{Mapping, Spaces};
use crate::progress::{flow, Progress};
use crate::recording::Source;
use crate::visit::{Sample, Side, Visitor};

/// In the misc of COMM: by exec. In that of FORK: perf's own, of a process that was there, whose mappings follow.
const MISC_EXEC: u16 = 1 << 13;

struct Collector<'p> {
    spaces: Spaces,
    strings: Interner,
    build_ids: build_ids::BuildIds,
    progress: Progress<'p>,
}

impl Visitor for Collector<'_> {
    fn samples(&mut self, _block: &[u8], _samples: &[Sample]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn side(&mut self, side: &Side<'_>) {
        // What has no time was there before.
        let time_ns = side.time_ns.unwrap_or(i64::MIN);
        let is_exec = misc(side.bytes) & MISC_EXEC != 0;
        match (side.kind, i32_at(side.bytes, 8)) {
            (kind::MMAP | kind::MMAP2, _) => {
                let found = mapping(side, &mut self.strings);
                if let Some(found) = found.filter(|found| found.executable && found.mode == MODE_USER) {
                    let mapping = Mapping {
                        address: found.address,
                        length: found.length,
                        page_offset: found.page_offset,
                        filename: found.filename,
                        build_id: found.build_id,
                    };
                    self.spaces.map(found.pid, time_ns, mapping);
                }
            }
            (kind::FORK | kind::COMM, Some(pid)) if is_exec => self.spaces.exec(pid, time_ns),
            (kind::FORK, Some(pid)) => {
                if let Some(parent) = i32_at(side.bytes, 12) {
                    self.spaces.fork(pid, parent, time_ns);
                }
            }
            (kind::HEADER_BUILD_ID, _) => build_ids::of_stream(side.bytes, &mut self.build_ids),
            _ => {}
        }
    }

    fn progress(&mut self, fraction: f64) -> ControlFlow<()> {
        flow((self.progress)(fraction))
    }
}

/// Address spaces over time, and the names and build ids of mappings.
pub fn spaces(perf: &PerfData, progress: Progress<'_>) -> Result<(Spaces, Interner)> {
    let build_ids = perf.features.build_ids.clone();
    let mut found = Collector { spaces: Spaces::default(), strings: Interner::default(), build_ids, progress };
    perf.walk(&mut found)?;
    let Collector { mut spaces, mut strings, build_ids, .. } = found;
    let mut by_name = rustc_hash::FxHashMap::default();
    for (name, id) in &build_ids {
        by_name.insert(strings.code(until_nul(name)), strings.code(id.as_bytes()));
    }
    if strings.is_full() {
        return Err(bad!(Refused, "the names of mappings take more than 2 GiB"));
    }
    for mapping in spaces.mappings.iter_mut().filter(|mapping| mapping.build_id == NONE) {
        mapping.build_id = by_name.get(&mapping.filename).copied().unwrap_or(NONE);
    }
    spaces.seal();
    Ok((spaces, strings))
}
