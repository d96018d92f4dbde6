//! trace.dat, versions 6 and 7 (`trace-cmd.dat.v6(5)`, `trace-cmd.dat.v7(5)`).

mod headers;
pub(crate) mod id;
mod options;
pub(crate) mod sections;
mod version6;

use std::fs::File;
use std::io::Write;
use std::sync::Arc;

use tempfile::tempfile;

use crate::bytes::{until_nul, Order};
use crate::error::{bad, Error, Result};
use crate::host::{Buffer, Host, Session};
use crate::recording::{Event, Recording, Source};
use crate::ring::{check_apart, Clock, Packed, PageLayout, Pages, Ring};
use crate::text::Text;
use crate::tracing::Cursor;
pub(crate) use headers::{CpuData, Headers, Instance, Part};

/// First bytes of a trace.dat.
pub use crate::tracing::MAGIC;

/// Opens a trace.dat; `buffer` names an instance, the top one where `None`.
pub fn open(file: Arc<File>, buffer: Option<&str>) -> Result<Recording> {
    headers(&file)?.finish(&file, buffer)
}

/// Reads all that a trace.dat says before its first event.
pub(crate) fn headers(file: &Arc<File>) -> Result<Headers> {
    let length = file.metadata()?.len();
    let mut headers = Headers { length, ..Default::default() };
    let mut cursor = Cursor::of_file(file, 0, Order::Little);
    let version = headers.tracing.start(&mut cursor);
    headers.order = cursor.order;
    let cut = |at: u64| {
        bad!(CutShort(at), "trace.dat cut short: its headers should go on at byte {at}, but the file ends at {length}")
    };
    match version.as_deref() {
        Some("6") => headers.read_version_6(file, &mut cursor).ok_or_else(|| cut(cursor.at()))?,
        Some("7") => headers.read_version_7(file, &mut cursor)?,
        Some(version) => {
            return Err(bad!(
                Unsupported(10),
                "a trace.dat of version {version:?} at byte 10; versions 6 and 7 are read"
            ))
        }
        None => return Err(cut(cursor.at())),
    }
    Ok(headers)
}

impl Headers {
    fn finish(mut self, file: &Arc<File>, buffer: Option<&str>) -> Result<Recording> {
        let wanted = buffer.unwrap_or_default();
        let buffers: Vec<Buffer> = self.instances.iter().map(|instance| self.describe(instance)).collect();
        let found = self.instances.iter().position(|instance| instance.name == wanted);
        // If only instances were recorded, the top one is empty.
        let filled = |instance: &Instance| !instance.cpus.is_empty() || instance.text.is_some();
        let only = self.instances.iter().position(filled);
        let empty = |place: usize| !filled(&self.instances[place]);
        let chosen = match (found, only) {
            (Some(place), Some(other)) if buffer.is_none() && empty(place) => other,
            (Some(place), _) => place,
            (None, Some(other)) if buffer.is_none() => other,
            _ if self.instances.is_empty() => {
                let at = self.length;
                return Err(bad!(
                    CutShort(at),
                    "trace.dat cut short: it ends at byte {at}, before any buffer of events"
                ));
            }
            _ => {
                let names: Vec<&str> = self.instances.iter().map(|instance| instance.name.as_str()).collect();
                return Err(bad!(Missing, "no buffer '{wanted}' in this trace.dat; it holds {}", listed(&names)));
            }
        };
        let instance = self.instances.swap_remove(chosen);
        self.note_cut_instances();
        if instance.text.is_some() {
            return self.text(file, instance, buffers);
        }
        let clock = self.clock(&instance);
        let layout = self.page_layout(&instance)?;
        let events = Arc::new(self.tracing.events());
        if events.is_empty() {
            return Err(match self.notes.first() {
                Some(why) => bad!(Damaged(self.said_at(id::EVENT_FORMATS)), "no event formats: {why}"),
                None => bad!(Missing, "no events: the trace.dat holds no event format"),
            });
        }
        let cpus = self.pages(file, &instance, &layout)?;
        let ring = Ring {
            layout,
            clock,
            cpus,
            cmdlines: std::mem::take(&mut self.tracing.cmdlines),
            by_type: Ring::index(&events),
            events,
            rolls: false,
        };
        self.notes.extend(self.options.losses_noted(&instance.name));
        self.notes.extend(self.tracing.problem.take());
        let (clock, events) = (ring.clock.clone(), Arc::clone(&ring.events));
        Ok(self.recording(events, instance, buffers, clock, Box::new(ring)))
    }

    /// Buffers that are not read now end where the file does as well.
    fn note_cut_instances(&mut self) {
        for instance in &self.instances {
            let missing = instance.cpus.iter().filter(|cpu| cpu.end > self.length).count();
            if missing > 0 {
                let name = if instance.name.is_empty() { "the top buffer" } else { instance.name.as_str() };
                self.cut = true;
                self.notes.push(format!(
                    "file cut short: it ends at byte {}, within the data of {missing} CPUs of {name}",
                    self.length
                ));
            }
        }
    }

    fn describe(&self, instance: &Instance) -> Buffer {
        Buffer {
            name: instance.name.clone(),
            cpus: instance.cpus.len(),
            bytes: instance.cpus.iter().map(|cpu| cpu.end - cpu.start).fold(0, u64::saturating_add),
            clock: self.clock(instance).name,
        }
    }

    /// The instance's own clock; where a file has just one, that.
    fn clock(&self, instance: &Instance) -> Clock {
        let options = &self.options;
        let text = instance.clock.as_deref().filter(|text| !text.is_empty()).or(options.clock.as_deref());
        Clock {
            tsc: options.tsc,
            offset_ns: options.offset_ns,
            shifts: options.shifts.clone(),
            interpolate: options.interpolate,
            ..Clock::named(text.unwrap_or("local"))
        }
    }

    pub(crate) fn page_layout(&self, instance: &Instance) -> Result<PageLayout> {
        let size = if instance.page_size > 0 { instance.page_size } else { self.tracing.page_size as usize };
        let long = self.tracing.long_bytes.unwrap_or(8).into();
        PageLayout::parse(&self.tracing.header_page, long, size, self.order).ok_or_else(|| {
            let at = self.said_at(id::HEADER_INFO);
            bad!(Damaged(at), "damaged: a trace.dat whose pages have {size} bytes, with data where they end")
        })
    }

    /// Where a section of this number is; where the headers begin if nothing says that.
    fn said_at(&self, section: u16) -> u64 {
        let at = |part: &Part| match part {
            Part::Section(number, at, _) if *number == section => Some(*at),
            _ => None,
        };
        self.parts.iter().find_map(at).filter(|&at| at <= self.length).unwrap_or(self.first_at)
    }

    fn pages(&mut self, file: &Arc<File>, instance: &Instance, layout: &PageLayout) -> Result<Vec<(u32, Pages)>> {
        let ranges: Vec<(u64, u64)> = instance.cpus.iter().map(|cpu| (cpu.start, cpu.end)).collect();
        check_apart(&ranges, self.length)?;
        let mut cpus = Vec::new();
        for data in &instance.cpus {
            let end = data.end.min(self.length);
            if end < data.end {
                self.cut = true;
                self.notes.push(format!(
                    "file cut short: the data of CPU {} should end at byte {}, but the file ends at {end}; whole pages are kept",
                    data.cpu, data.end
                ));
            }
            cpus.extend(self.cpu_pages(file, instance, layout, data)?.map(|pages| (data.cpu, pages)));
        }
        let room = (cpus.len() * layout.size) as u64;
        if room > (64 << 20) + 16 * self.length {
            return Err(bad!(
                Damaged(self.said_at(id::HEADER_INFO)),
                "damaged: {} CPUs with pages of {} bytes in a file of {}",
                cpus.len(),
                layout.size,
                self.length
            ));
        }
        Ok(cpus)
    }

    /// How the pages of an instance are packed.
    pub(crate) fn packing(&self, instance: &Instance) -> Result<Option<Packed>> {
        instance.compressed.then(|| sections::packing(&self.compression)).transpose()
    }

    /// A CPU's pages, where it has any.
    pub(crate) fn cpu_pages(
        &self,
        file: &Arc<File>,
        instance: &Instance,
        layout: &PageLayout,
        data: &CpuData,
    ) -> Result<Option<Pages>> {
        let end = data.end.min(self.length);
        let start = data.start.min(end);
        Ok(match self.packing(instance)? {
            Some(packed) => (start < end).then(|| Pages::packed(file, start, end, packed, self.order)),
            None => (end - start >= layout.size as u64).then(|| Pages::new(file, start, end)),
        })
    }

    /// What a latency tracer left: the kernel's own text, copied out so that it is a file of its own; and
    /// where it is damaged.
    pub(crate) fn latency(&self, file: &Arc<File>, instance: &Instance) -> Result<(Arc<File>, Option<Error>)> {
        let (start, end) = instance.text.unwrap_or_default();
        let mut pages = match self.packing(instance)? {
            Some(packed) => Pages::packed(file, start, end, packed, self.order),
            None => Pages::new(file, start, end),
        };
        let mut copy = tempfile()?;
        let mut room = vec![0; 1 << 18];
        let problem = loop {
            let (filled, error) = pages.fill(&mut room);
            // Chunks are filled up to a page.
            copy.write_all(until_nul(&room[..filled]))?;
            if filled < room.len() || error.is_some() {
                break error;
            }
        };
        Ok((Arc::new(copy), problem))
    }

    fn text(self, file: &Arc<File>, instance: Instance, buffers: Vec<Buffer>) -> Result<Recording> {
        let (copy, problem) = self.latency(file, &instance)?;
        let mut recording = Recording::from(Text::open(copy, None)?);
        let clock = self.clock(&instance).name;
        recording.notes.extend(problem.map(|error| format!("{error}: the text after that is lost")));
        let events = Arc::clone(&recording.events);
        let headers = self.recording(events, instance, buffers, Clock::default(), recording.source);
        let notes = [headers.notes.as_slice(), &recording.notes].concat();
        Ok(Recording { unit: recording.unit, resolution_ns: recording.resolution_ns, notes, clock, ..headers })
    }

    fn recording(
        self,
        events: Arc<Vec<Event>>,
        instance: Instance,
        buffers: Vec<Buffer>,
        clock: Clock,
        source: Box<dyn Source>,
    ) -> Recording {
        Recording {
            format: "trace.dat",
            mode: "file",
            version: self.version,
            order: self.order,
            compressed: instance.compressed,
            wrapping: None,
            finished: true,
            cut: self.cut,
            host: Host {
                tool_version: self.options.version,
                // CPUs without data are in no table of version 7, and version 6 counts them beforehand.
                nr_cpus: self.cpu_count.or(self.options.cpu_count),
                long_bytes: self.tracing.long_bytes,
                kallsyms: self.tracing.kallsyms,
                ..Host::of_uname(self.options.uname)
            },
            events,
            resolution_ns: clock.resolution_ns(),
            unit: clock.unit(),
            clock: clock.name,
            follows_tasks: false,
            notes: self.notes,
            buffers,
            buffer: instance.name,
            session: Session {
                date_offset_ns: Some(self.options.date_offset_ns).filter(|&offset| offset != 0),
                trace_id: self.options.trace_id,
                guests: self.options.guests,
            },
            files: Vec::new(),
            source,
        }
    }
}

fn listed(names: &[&str]) -> String {
    let named = |name: &&str| if name.is_empty() { "the top one ('')".to_owned() } else { format!("'{name}'") };
    names.iter().map(named).collect::<Vec<String>>().join(", ")
}
