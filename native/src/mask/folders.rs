//! Recordings that are folders: perf's of several threads, and copies of tracefs.

use std::fs::{create_dir_all, read_dir};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use super::Mask;
use crate::bytes::{text, Order};
use crate::error::Result;
use crate::input::{create, open_regular, read_up_to};
use crate::kinds::Kind;
use crate::perf;
use crate::perf::recording::Part;
use crate::tracefs;

/// Small files beside the events that hold nothing to mask.
const PLAIN: [&str; 4] = ["header_page", "header_event", "trace_clock", "printk_formats"];
const MAX_TEXT: usize = 64 << 20;
const MAX_SYMBOLS: usize = 256 << 20;

impl Mask<'_> {
    /// `data`, `data.0`, ..., and the names of the kernel's functions.
    pub(super) fn perf_folder(&mut self, path: &Path, out: &Path) -> Result<()> {
        let perf = perf::open::of_folder(path)?;
        self.plan(&perf.events);
        create_dir_all(out)?;
        self.perf_data(&perf, &mut create(&out.join("data"))?)?;
        for name in names(path)? {
            let number = name.strip_prefix("data.").filter(|number| number.parse::<u32>().is_ok());
            if number.is_some() {
                let file = Arc::new(open_regular(&path.join(&name))?);
                let part = Part { start: 0, end: file.metadata()?.len(), file };
                let mut writer = BufWriter::new(create(&out.join(&name))?);
                self.records(&perf, &part, false, &mut writer)?;
                writer.flush()?;
            } else if name == "kcore_dir" {
                self.kcore(path, out)?;
            } else if name != "data" {
                self.left_out(&name);
            }
        }
        Ok(())
    }

    fn kcore(&mut self, path: &Path, out: &Path) -> Result<()> {
        for name in names(&path.join("kcore_dir"))? {
            let from = path.join("kcore_dir").join(&name);
            if name == "kallsyms" && !from.is_symlink() && from.is_file() {
                create_dir_all(out.join("kcore_dir"))?;
                let mut bytes = read_up_to(&open_regular(&from)?, MAX_SYMBOLS)?;
                self.names.hide(Kind::Symbols, &mut bytes, Order::Little)?;
                create(&out.join("kcore_dir").join(&name))?.write_all(&bytes)?;
            } else {
                self.left_out(&format!("kcore_dir/{name}"));
            }
        }
        Ok(())
    }

    fn left_out(&mut self, name: &str) {
        self.names.tell(&format!("{name} left out"), 1);
    }

    /// The files that are read, and no others.
    pub(super) fn tracefs(&mut self, path: &Path, out: &Path) -> Result<()> {
        let (ring, _notes) = tracefs::ring(path)?;
        self.plan(&ring.events);
        create_dir_all(out)?;
        for name in names(path)? {
            let from = path.join(&name);
            let mut bytes = match name.as_str() {
                "events" | "per_cpu" => continue,
                _ if from.is_dir() => Vec::new(),
                _ => read_up_to(&open_regular(&from)?, MAX_TEXT)?,
            };
            match name.as_str() {
                "saved_cmdlines" => drop(self.names.hide(Kind::TaskLines, &mut bytes, Order::Little)?),
                "uname" => bytes = self.names.uname(&text(&bytes))?.into_bytes(),
                _ if PLAIN.contains(&name.as_str()) => {}
                _ => {
                    self.left_out(&name);
                    continue;
                }
            }
            create(&out.join(&name))?.write_all(&bytes)?;
        }
        for system in names(&path.join("events"))? {
            for event in names(&path.join("events").join(&system))? {
                let folder = Path::new("events").join(&system).join(&event);
                let format = path.join(&folder).join("format");
                if format.is_file() {
                    create_dir_all(out.join(&folder))?;
                    let bytes = read_up_to(&open_regular(&format)?, MAX_TEXT)?;
                    create(&out.join(&folder).join("format"))?.write_all(&bytes)?;
                }
            }
        }
        for (cpu, pages) in &ring.cpus {
            let folder = Path::new("per_cpu").join(format!("cpu{cpu}"));
            create_dir_all(out.join(&folder))?;
            let mut writer = BufWriter::new(create(&out.join(&folder).join("raw"))?);
            self.pages(&ring.layout, pages.clone(), &mut writer)?;
            writer.flush()?;
            if let Ok(stats) = open_regular(&path.join(&folder).join("stats")) {
                create(&out.join(&folder).join("stats"))?.write_all(&counts(&read_up_to(&stats, MAX_TEXT)?))?;
            }
        }
        Ok(())
    }
}

/// Names in a folder, in order.
fn names(folder: &Path) -> Result<Vec<String>> {
    let Ok(entries) = read_dir(folder) else { return Ok(Vec::new()) };
    let mut names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.sort();
    Ok(names)
}

/// The lines of a ring's statistics that are a name and a number.
fn counts(stats: &[u8]) -> Vec<u8> {
    let is_count = |line: &&[u8]| {
        let number = line.split(|&byte| byte == b':').nth(1).map(<[u8]>::trim_ascii);
        number.is_some_and(|number| number.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.'))
    };
    stats.split_inclusive(|&byte| byte == b'\n').filter(is_count).flatten().copied().collect()
}
