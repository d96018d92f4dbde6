//! Recordings that are folders: perf's of several threads, and copies of tracefs.

use std::fs::create_dir_all;
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
use crate::tracefs::{self, sorted};

/// Files beside the events are read in one piece.
const MAX: usize = 256 << 20;

impl Mask<'_> {
    /// `data`, `data.0`, ..., and the names of the kernel's functions.
    pub(super) fn perf_folder(&mut self, path: &Path, out: &Path) -> Result<()> {
        let perf = perf::open::of_folder(path)?;
        self.plan(&perf.events);
        create_dir_all(out)?;
        self.perf_data(&perf, &mut create(&out.join("data"))?)?;
        for name in sorted(path)? {
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
        for name in sorted(&path.join("kcore_dir"))? {
            let name = format!("kcore_dir/{name}");
            let from = path.join(&name);
            if name == "kcore_dir/kallsyms" && !from.is_symlink() && from.is_file() {
                self.copy(path, out, &name, Kind::Symbols)?;
            } else {
                self.left_out(&name);
            }
        }
        Ok(())
    }

    fn left_out(&mut self, name: &str) {
        self.names.tell(&format!("{name} left out"), 1);
    }

    /// Copies a file of that name, masked.
    fn copy(&mut self, from: &Path, to: &Path, name: impl AsRef<Path>, kind: Kind) -> Result<()> {
        let (from, to) = (from.join(&name), to.join(&name));
        let mut bytes = read_up_to(&open_regular(&from)?, MAX)?;
        match kind {
            // In a file of its own a text may become shorter.
            Kind::Uname => bytes = self.names.uname(&text(&bytes))?.into_bytes(),
            _ => drop(self.names.hide(kind, &mut bytes, Order::Little)?),
        }
        to.parent().map_or(Ok(()), create_dir_all)?;
        Ok(create(&to)?.write_all(&bytes)?)
    }

    /// The files that are read, and no others.
    pub(super) fn tracefs(&mut self, path: &Path, out: &Path) -> Result<()> {
        let (ring, _notes) = tracefs::ring(path)?;
        self.plan(&ring.events);
        create_dir_all(out)?;
        for name in sorted(path)? {
            match tracefs::FILES.iter().find(|file| file.0 == name) {
                Some((_, kind)) => self.copy(path, out, &name, *kind)?,
                None if matches!(name.as_str(), "events" | "per_cpu") => {}
                None => self.left_out(&name),
            }
        }
        for (_, format) in tracefs::formats(path)? {
            self.copy(path, out, format, Kind::Keep)?;
        }
        for (cpu, pages) in &ring.cpus {
            let folder = Path::new("per_cpu").join(format!("cpu{cpu}"));
            create_dir_all(out.join(&folder))?;
            let mut writer = BufWriter::new(create(&out.join(&folder).join("raw"))?);
            self.pages(&ring.layout, pages.clone(), &mut writer)?;
            writer.flush()?;
            if let Ok(stats) = open_regular(&path.join(&folder).join("stats")) {
                create(&out.join(&folder).join("stats"))?.write_all(&counts(&read_up_to(&stats, MAX)?))?;
            }
        }
        Ok(())
    }
}

/// The lines of a ring's statistics that are a name and a number.
fn counts(stats: &[u8]) -> Vec<u8> {
    let is_count = |line: &&[u8]| {
        let number = line.split(|&byte| byte == b':').nth(1).map(<[u8]>::trim_ascii);
        number.is_some_and(|number| number.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.'))
    };
    stats.split_inclusive(|&byte| byte == b'\n').filter(is_count).flatten().copied().collect()
}
