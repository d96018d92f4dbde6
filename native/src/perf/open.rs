//! Opens a perf.data: a file, or a folder of files.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use crate::error::{bad, Result};
use crate::perf::gather::gather;
use crate::perf::recording::PerfData;

/// Reads the headers of an open file.
pub fn of_file(file: Arc<File>) -> Result<PerfData> {
    gather(file, None)
}

/// Reads the folder that `perf record --threads` made.
pub fn of_folder(path: &Path) -> Result<PerfData> {
    let main = path.join("data");
    let mut extra = Vec::new();
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Some(number) = name.strip_prefix("data.").and_then(|number| number.parse::<u32>().ok()) {
            if !entry.path().is_file() {
                return Err(bad!("'{name}' in the perf.data folder is no regular file; take it away to read the rest"));
            }
            extra.push((number, entry.path()));
        }
    }
    extra.sort();
    let missing = (0..).zip(&extra).find(|(expected, (number, _))| expected != number).map(|(expected, _)| expected);
    let files = extra.into_iter().map(|(_, path)| File::open(path)).collect::<std::io::Result<Vec<File>>>()?;
    let count = files.len();
    let mut recording = gather(Arc::new(File::open(main)?), Some(files))?;
    let one_each = recording.features.cmdline.iter().flatten().any(|argument| argument == "--threads");
    let expected = recording.features.nr_cpus.filter(|_| one_each).map_or(count, |(_, online)| online as usize);
    if let Some(number) = missing.or((count < expected).then_some(count as u32)) {
        recording.cut = true;
        recording.notes.push(format!("data.{number} is missing in the folder: the events of its CPU are lost"));
    }
    Ok(recording)
}
