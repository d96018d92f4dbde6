//! What a recording's headers say, gathered from a file's sections or from the records that a
//! stream begins with.

use std::fs::File;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::bytes::{text, Order};
use crate::error::{bad, Result};
use crate::format::Format;
use crate::input::read_at;
use crate::narrow::{low_half, Narrow};
use crate::perf::attr::Attr;
use crate::perf::command::fits;
use crate::perf::header::{Features, Magic, FILE_HEADER, PIPE_HEADER, SHORT_HEADER};
use crate::perf::ids::Ids;
use crate::perf::layout::{sample, Layout};
use crate::perf::naming;
use crate::perf::recording::{Around, Mode, Part, PerfData};
use crate::recording::{Event, TYPE_TRACEPOINT};

/// Bytes of a name's entry before features had them: a number and 64 characters.
pub(super) const EVENT_TYPE: usize = 72;

#[derive(Default)]
pub(super) struct Gathered {
    pub(super) order: Order,
    pub(super) attrs: Vec<(Attr, Vec<u64>)>,
    /// From EVENT_UPDATE records, by id.
    pub(super) names: Vec<(u64, String)>,
    /// From before features had them, by `config`.
    pub(super) names_by_config: FxHashMap<u64, String>,
    /// Guest process of an id.
    pub(super) guests: FxHashMap<u64, i32>,
    pub(super) features: Features,
    pub(super) notes: Vec<String>,
    pub(super) cut: bool,
    pub(super) around: Around,
    /// Where a stream's leading records end, and why there.
    pub(super) stopped: Option<String>,
}

/// Opens a file, and the further files of a folder.
pub fn gather(file: Arc<File>, more: Option<Vec<Arc<File>>>) -> Result<PerfData> {
    let length = file.metadata()?.len();
    let Some(start) = read_at(&file, 0, PIPE_HEADER.narrow())? else {
        return Err(bad!(NotACapture, "not a capture: the file has {length} bytes, too few for any header"));
    };
    let magic = Magic::parse(&start)
        .ok_or_else(|| bad!(NotACapture(0), "not a perf.data: the file starts with {:02x?}", &start[..8]))?;
    let mut gathered = Gathered { order: magic.order, ..Default::default() };
    let (mode, part, finished) = match magic.header {
        PIPE_HEADER => (Mode::Pipe, gathered.read_pipe(&file, length)?, true),
        SHORT_HEADER | FILE_HEADER => gathered.read_file(&file, length, magic.header, more.is_some())?,
        size => {
            return Err(bad!(
                Damaged(8),
                "perf.data header claims {size} bytes at offset 8; expected {PIPE_HEADER} (pipe), {FILE_HEADER} or {SHORT_HEADER} (file)"
            ))
        }
    };
    let mut parts = vec![part];
    let mode = if let Some(more) = more {
        for file in more {
            let end = file.metadata()?.len();
            parts.push(Part { file, start: 0, end });
        }
        Mode::Directory
    } else {
        mode
    };
    gathered.finish(magic, mode, finished, parts)
}

impl Gathered {
    pub(super) fn name_by_config(&mut self, entry: &[u8]) {
        let name = entry.get(8..).map(text).filter(|name| !name.is_empty());
        if let Some((config, name)) = self.order.u64(entry, 0).zip(name) {
            self.names_by_config.entry(config).or_insert(name);
        }
    }

    /// Ids of guests: after the entries {id, index, cpu, tid} there is a second list {pid, vcpu}.
    pub(super) fn id_index(&mut self, bytes: &[u8]) {
        let Some(count) = self.order.u64(bytes, 8).and_then(|count| usize::try_from(count).ok()) else { return };
        let Some(second) = count.checked_mul(32).and_then(|size| size.checked_add(16)) else { return };
        for entry in 0..count.min(bytes.len() / 48) {
            let id = self.order.u64(bytes, 16 + 32 * entry);
            let pid = self.order.u64(bytes, second + 16 * entry).map(|pid| low_half(pid) as i32);
            if let (Some(id), Some(pid @ 1..)) = (id, pid) {
                self.guests.insert(id, pid);
            }
        }
    }

    pub(super) fn words(&self, bytes: &[u8]) -> Vec<u64> {
        bytes.chunks_exact(8).filter_map(|word| self.order.u64(word, 0)).collect()
    }

    fn finish(mut self, magic: Magic, mode: Mode, finished: bool, parts: Vec<Part>) -> Result<PerfData> {
        if self.attrs.is_empty() {
            let place = self.stopped.unwrap_or("its attr table at offset 24 is empty".to_owned());
            return Err(bad!(Missing, "no events: the perf.data header names none, so no sample can be read; {place}"));
        }
        self.notes.extend(self.features.tracing.problem.take());
        let mut ids = Ids::default();
        let mut by_common_type = FxHashMap::default();
        for (index, (attr, own_ids)) in self.attrs.iter().enumerate() {
            own_ids.iter().for_each(|&id| ids.add(id, index.narrow()));
            if attr.kind == TYPE_TRACEPOINT {
                by_common_type.entry(attr.config).or_insert(index.narrow());
            }
        }
        ids.seal();
        let events = self.events();
        let attrs: Vec<Attr> = self.attrs.into_iter().map(|(attr, _)| attr).collect();
        let layouts: Vec<Layout> = attrs.iter().map(Layout::of).collect();
        let size_tells = |(event, layout): (&Event, &Layout)| {
            const BEFORE_RAW: u64 = sample::READ | sample::CALLCHAIN;
            const FIXED: u64 = (sample::RAW - 1) | sample::RAW | sample::IDENTIFIER;
            let sized = event.has_payload && event.format.as_ref().is_some_and(|format| format.fixed_size() > 0);
            sized && layout.sample_type & (BEFORE_RAW | !FIXED) == 0
        };
        let alike = |layout: &Layout| {
            let of = |layout: &Layout| (layout.sample_type, layout.read_format, layout.trailer);
            of(layout) == of(&layouts[0])
        };
        Ok(PerfData {
            mode,
            version: magic.version,
            order: magic.order,
            finished,
            cut: self.cut,
            around: self.around,
            id_at: layouts.iter().find_map(|layout| layout.id),
            uniform: layouts.iter().all(alike),
            attrs,
            size_tells: events.iter().zip(&layouts).map(size_tells).collect(),
            by_common_type,
            events: Arc::new(events),
            layouts,
            ids,
            features: self.features,
            parts,
            files: Vec::new(),
            notes: self.notes,
        })
    }

    fn events(&mut self) -> Vec<Event> {
        let formats = std::mem::take(&mut self.features.tracing.formats).into_iter();
        let formats: FxHashMap<u64, Arc<Format>> = formats.map(|format| (format.id, Arc::new(format))).collect();
        let described = self.features.event_desc.iter();
        let described_by_id: FxHashMap<u64, &String> =
            described.flat_map(|(name, ids)| ids.iter().map(move |&id| (id, name))).collect();
        let updated_by_id: FxHashMap<u64, &String> = self.names.iter().map(|(id, name)| (*id, name)).collect();
        let mut of_config: FxHashMap<u64, usize> = FxHashMap::default();
        for (attr, _) in &self.attrs {
            *of_config.entry(attr.config).or_default() += 1;
        }
        let filters = self.features.filters();
        let mut events = Vec::new();
        for (index, (attr, own_ids)) in self.attrs.iter().enumerate() {
            let format = formats.get(&attr.config).filter(|_| attr.kind == TYPE_TRACEPOINT).cloned();
            let described = own_ids.first().and_then(|id| described_by_id.get(id).copied());
            let described = described.or_else(|| self.features.event_desc.get(index).map(|found| &found.0));
            let updated = || own_ids.iter().find_map(|id| updated_by_id.get(id).copied());
            // The oldest lists do not have the type of an event: two events of one number cannot be told apart.
            let listed = || self.names_by_config.get(&attr.config).filter(|_| of_config[&attr.config] == 1);
            let name = format.as_ref().map(|format| format.full_name());
            let name = name.or_else(|| described.or_else(updated).or_else(listed).cloned());
            let mut name = name.unwrap_or_else(|| naming::name(attr));
            let filter = filters.iter().find(|(event, _)| fits(event, &name)).map(|found| found.1.clone());
            let guest = own_ids.first().and_then(|id| self.guests.get(id).copied());
            if let Some(pid) = guest {
                name = format!("{name} (guest {pid})");
            }
            events.push(Event {
                name,
                kind: attr.kind,
                config: attr.config,
                rate: attr.rate(),
                has_time: attr.has(sample::TIME),
                has_cpu: attr.has(sample::CPU),
                has_callchain: attr.has(sample::CALLCHAIN),
                has_payload: attr.has(sample::RAW),
                follows_command: attr.follows_command(),
                newest_first: attr.newest_first(),
                format,
                filter,
                guest,
            });
        }
        events
    }
}
