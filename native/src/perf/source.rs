//! A perf.data as any recording: what its headers say, and its events.

use std::sync::Arc;

use arrow_array::RecordBatch;

use crate::bytes::Order;
use crate::chains::{Chains, Selection, Sums, Wanted};
use crate::error::Result;
use crate::host::{Host, Session};
use crate::perf::recording::{Mode, PerfData};
use crate::perf::samples::samples;
use crate::perf::stacked::{sums, table};
use crate::progress::Progress;
use crate::recording::{Recording, Source, Unit};
use crate::visit::{Tally, Visitor};

impl Source for PerfData {
    fn walk(&self, visitor: &mut dyn Visitor) -> Result<Tally> {
        self.walk_in_time(visitor)
    }

    fn samples(&self, name: &str, limit: Option<usize>, progress: Progress<'_>) -> Result<Option<RecordBatch>> {
        samples(self, name, limit, progress).map(Some)
    }

    fn chains(&self, wanted: Wanted<'_>, progress: Progress<'_>) -> Result<Option<Chains<RecordBatch>>> {
        table(self, wanted, progress).map(Some)
    }

    fn sums(&self, wanted: Wanted<'_>, of: Selection, progress: Progress<'_>) -> Result<Option<Chains<Sums>>> {
        sums(self, wanted, of, progress).map(Some)
    }

    fn may_repeat(&self) -> bool {
        !self.events.iter().any(|event| event.newest_first)
    }

    fn is_whole(&self, event: u32, record: &[u8]) -> bool {
        let event = event as usize;
        self.size_tells[event] || self.layouts[event].parts(record, Order::Little).1
    }
}

impl From<PerfData> for Recording {
    fn from(mut perf: PerfData) -> Recording {
        let features = &mut perf.features;
        let host = Host {
            hostname: features.hostname.take(),
            os_release: features.os_release.take(),
            tool_version: features.version.take(),
            arch: features.arch.take(),
            nr_cpus: features.nr_cpus.map(|count| count.0.max(count.1)),
            cmdline: features.cmdline.clone(),
            long_bytes: features.tracing.long_bytes,
            kallsyms: features.tracing.kallsyms.take(),
            uname: None,
        };
        Recording {
            format: "perf.data",
            mode: match perf.mode {
                Mode::File => "file",
                Mode::Pipe => "pipe",
                Mode::Directory => "directory",
            },
            version: perf.version.into(),
            order: perf.order,
            compressed: perf.features.compressed,
            wrapping: None,
            finished: perf.finished,
            cut: perf.cut,
            events: Arc::clone(&perf.events),
            host,
            clock: perf.clock().to_owned(),
            follows_tasks: perf.features.follows_tasks(),
            notes: std::mem::take(&mut perf.notes),
            unit: Unit::Nanoseconds,
            resolution_ns: 1,
            buffers: Vec::new(),
            buffer: String::new(),
            session: Session::default(),
            files: std::mem::take(&mut perf.files),
            source: Box::new(perf),
        }
    }
}
