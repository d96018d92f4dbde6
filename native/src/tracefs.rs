//! A copy of tracefs, as `netcost-record` leaves it where neither perf nor trace-cmd is available.
//!
//! ```text
//!   header_page  trace_clock  saved_cmdlines  uname     as in tracefs, `uname -a`
//!   events/SYSTEM/EVENT/format                          of every recorded event
//!   per_cpu/cpuN/raw                                    pages from trace_pipe_raw, one after the other
//!   per_cpu/cpuN/stats                                  at the end
//! ```

use std::fs::{read_dir, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::bytes::{text, Order};
use crate::error::{bad, Result};
use crate::host::{Buffer, Host, Session};
use crate::input::{open_regular, read_up_to};
use crate::kinds::Kind;
use crate::narrow::Narrow;
use crate::recording::Recording;
use crate::ring::{Clock, PageLayout, Pages, Ring};
use crate::tracing::Tracing;
use crate::watched::Watched;

/// Text files of tracefs are smaller than this.
const MAX_TEXT: usize = 1 << 20;
const MAX_CMDLINES: usize = 64 << 20;

/// Files besides events and pages, and their contents.
pub(crate) const FILES: [(&str, Kind); 6] = [
    ("header_page", Kind::Keep),
    ("header_event", Kind::Keep),
    ("trace_clock", Kind::Keep),
    ("printk_formats", Kind::Keep),
    ("saved_cmdlines", Kind::TaskLines),
    ("uname", Kind::Uname),
];

/// Whether a folder looks like a copy of tracefs.
pub fn looks_like(folder: &Path) -> bool {
    folder.join("header_page").is_file() && folder.join("per_cpu").is_dir()
}

/// Opens a folder.
pub fn open(folder: &Path) -> Result<Recording> {
    let (ring, notes) = ring(folder)?;
    let uname = text(&optional(folder, "uname", MAX_TEXT));
    let clock = &ring.clock;
    let bytes = ring.cpus.iter().map(|(_, pages)| pages.bytes()).sum();
    let buffer = Buffer { name: String::new(), cpus: ring.cpus.len(), bytes, clock: clock.name.clone() };
    let watched = |(cpu, pages): &(u32, Pages)| Watched::new(pages.file(), format!("per_cpu/cpu{cpu}/raw"));
    let files = ring.cpus.iter().map(watched).collect::<std::io::Result<_>>()?;
    Ok(Recording {
        format: "tracefs",
        mode: "directory",
        version: 0,
        order: ring.layout.order,
        compressed: false,
        wrapping: None,
        finished: true,
        cut: false,
        host: Host {
            // The folder holds the recorded CPUs. It does not give the number of CPUs.
            nr_cpus: None,
            long_bytes: Some(ring.layout.commit.1.narrow()),
            ..Host::of_uname(Some(uname))
        },
        unit: clock.unit(),
        resolution_ns: clock.resolution_ns(),
        clock: clock.name.clone(),
        follows_tasks: false,
        notes,
        buffers: vec![buffer],
        buffer: String::new(),
        session: Session::default(),
        events: Arc::clone(&ring.events),
        files,
        source: Box::new(ring),
    })
}

/// The rings of a folder, and notes about it.
pub(crate) fn ring(folder: &Path) -> Result<(Ring, Vec<String>)> {
    let header_page = text(&read_up_to(&open_regular(&folder.join("header_page"))?, MAX_TEXT)?);
    let mut tracing = Tracing { header_page, ..Default::default() };
    for (system, path) in formats(folder)? {
        tracing.add(&system, &read_up_to(&File::open(folder.join(path))?, MAX_TEXT)?);
    }
    tracing.add_cmdlines(&optional(folder, "saved_cmdlines", MAX_CMDLINES));
    let layout = PageLayout::parse(&tracing.header_page, 8, 0, Order::Little)
        .ok_or_else(|| bad!(Damaged(0), "damaged: header_page of the tracefs folder describes no page"))?;
    let clock = Clock::named(&text(&optional(folder, "trace_clock", MAX_TEXT)));
    let events = Arc::new(tracing.events());
    if events.is_empty() {
        return Err(bad!(Missing, "no events: the tracefs folder holds no events/SYSTEM/EVENT/format"));
    }
    let by_type = Ring::index(&events);
    let layout = PageLayout { order: byte_order(folder, &layout, &by_type)?, ..layout };
    let mut notes = Vec::new();
    let cpus = pages(folder, &layout, &mut notes)?;
    notes.extend(tracing.problem.take());
    let cmdlines = std::mem::take(&mut tracing.cmdlines);
    Ok((Ring { layout, clock, cpus, cmdlines, events, by_type, rolls: false }, notes))
}

fn optional(folder: &Path, name: &str, most: usize) -> Vec<u8> {
    open_regular(&folder.join(name)).and_then(|file| read_up_to(&file, most)).unwrap_or_default()
}

/// Systems of the recorded events, and the paths of their formats in a folder.
pub(crate) fn formats(folder: &Path) -> Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    for system in sorted(&folder.join("events"))? {
        for event in sorted(&folder.join("events").join(&system))? {
            let path = Path::new("events").join(&system).join(event).join("format");
            if folder.join(&path).is_file() {
                found.push((system.clone(), path));
            }
        }
    }
    Ok(found)
}

/// Sorted names in a folder; none if it is absent.
pub(crate) fn sorted(folder: &Path) -> Result<Vec<String>> {
    let Ok(entries) = read_dir(folder) else { return Ok(Vec::new()) };
    let mut names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.sort();
    Ok(names)
}

/// CPU numbers and the paths of their pages.
fn raw_files(folder: &Path) -> Result<Vec<(u32, PathBuf)>> {
    let cpus = folder.join("per_cpu");
    let of_name = |name: String| {
        let number: u32 = name.strip_prefix("cpu")?.parse().ok()?;
        let path = cpus.join(&name).join("raw");
        path.is_file().then_some((number, path))
    };
    let mut found: Vec<(u32, PathBuf)> = sorted(&cpus)?.into_iter().filter_map(of_name).collect();
    found.sort();
    Ok(found)
}

/// CPU numbers with their whole pages. `notes` gets what is left out.
fn pages(folder: &Path, layout: &PageLayout, notes: &mut Vec<String>) -> Result<Vec<(u32, Pages)>> {
    let mut cpus = Vec::new();
    for (cpu, path) in raw_files(folder)? {
        let file = Arc::new(File::open(path)?);
        let length = file.metadata()?.len();
        let rest = length % layout.size as u64;
        if rest > 0 {
            notes
                .push(format!("CPU {cpu}: the last page is cut short after {rest} of {} bytes: left out", layout.size));
        }
        if length >= layout.size as u64 {
            cpus.push((cpu, Pages::new(&file, 0, length - rest)));
        }
    }
    Ok(cpus)
}

/// The first page decides: its events are whole, and the type of the first is a recorded one, in one order only.
fn byte_order(folder: &Path, layout: &PageLayout, by_type: &[u32]) -> Result<Order> {
    for (_, path) in raw_files(folder)? {
        let page = read_up_to(&File::open(path)?, layout.size)?;
        let fits = |order: Order| {
            let mut is_known = None;
            let end = PageLayout { order, ..*layout }.walk(&page, |row| {
                let kind = order.u16(&page, row.at as usize).map_or(0, usize::from);
                is_known.get_or_insert(by_type.get(kind).is_some_and(|&event| event != Ring::ABSENT));
            });
            end.sound && is_known == Some(true)
        };
        match (fits(Order::Little), fits(Order::Big)) {
            (true, _) => return Ok(Order::Little),
            (_, true) => return Ok(Order::Big),
            _ => {}
        }
    }
    Ok(Order::Little)
}
