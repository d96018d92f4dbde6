//! Opens a perf.data: a file, or a folder of files.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use crate::error::{bad, Result};
use crate::narrow::Narrow;
use crate::perf::gather::gather;
use crate::perf::recording::PerfData;
use crate::watched::{unchanged, Watched};

/// Reads the headers of an open file.
pub fn of_file(file: Arc<File>) -> Result<PerfData> {
    gather(file, None)
}

/// Reads the folder that `perf record --threads` made.
pub fn of_folder(path: &Path) -> Result<PerfData> {
    let mut extra = Vec::new();
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Some(number) = name.strip_prefix("data.").and_then(|number| number.parse::<u32>().ok()) {
            if !entry.path().is_file() {
                return Err(bad!(
                    Refused,
                    "'{name}' in the perf.data folder is not a regular file; remove it to read the rest"
                ));
            }
            extra.push((number, name));
        }
    }
    extra.sort();
    let missing = (0..).zip(&extra).find(|(expected, (number, _))| expected != number).map(|(expected, _)| expected);
    let count = extra.len();
    let open = |name: String| Watched::new(&Arc::new(File::open(path.join(&name))?), name);
    let mut files = vec![open("data".to_owned())?];
    for (_, name) in extra {
        files.push(open(name)?);
    }
    let of_threads = files[1..].iter().map(|one| Arc::clone(&one.file)).collect();
    let mut recording = unchanged(&files, gather(Arc::clone(&files[0].file), Some(of_threads)))?;
    recording.files = files;
    let one_each = recording.features.cmdline.iter().flatten().any(|argument| argument == "--threads");
    let expected = recording.features.nr_cpus.filter(|_| one_each).map_or(count, |(_, online)| online as usize);
    if let Some(number) = missing.or((count < expected).then_some(count.narrow())) {
        recording.cut = true;
        recording.notes.push(format!("data.{number} is missing from the folder: the events of its CPU are lost"));
    }
    Ok(recording)
}
