//! Packed files for Python: what they are, what is inside, and writing them.

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use netcost::{mask, packed, Error, ErrorKind};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::progress::Reporter;
use crate::{raised, system};

/// How a file is compressed: `gzip`, `zstd`, or nothing.
#[pyfunction]
pub fn packing(path: PathBuf) -> PyResult<Option<&'static str>> {
    packed::decompressed(&path).map(|(name, _)| name).map_err(|error| system(&error))
}

/// Up to `size` bytes of what a file holds, compressed or not.
#[pyfunction]
pub fn first_bytes(py: Python<'_>, path: PathBuf, size: u64) -> PyResult<Bound<'_, PyBytes>> {
    let (packing, source) = packed::decompressed(&path).map_err(|error| system(&error))?;
    let mut bytes = Vec::new();
    match py.detach(|| source.take(size).read_to_end(&mut bytes)) {
        Ok(_) => Ok(PyBytes::new(py, &bytes)),
        Err(error) if packing.is_some() => Err(raised(Error::Capture {
            kind: ErrorKind::Damaged,
            offset: Some(0),
            message: format!("damaged or cut short ({error})"),
        })),
        Err(error) => Err(system(&error)),
    }
}

/// Whether a file begins as a tar archive, compressed or not.
#[pyfunction]
pub fn is_archive(path: PathBuf) -> bool {
    packed::is_archive(&path)
}

/// The names in an archive's checksums; none if these do not come first.
#[pyfunction]
pub fn named_first(path: PathBuf) -> PyResult<Option<Vec<OsString>>> {
    let named = packed::named_first(&path).map_err(raised)?;
    Ok(named.map(|names| names.into_iter().map(OsString::from_vec).collect()))
}

/// Unpacks an archive into a folder, compares it with its checksums, and returns the one folder in it.
#[pyfunction]
pub fn unpack(py: Python<'_>, path: PathBuf, folder: PathBuf) -> PyResult<PathBuf> {
    let mut reporter = Reporter::new(None);
    let unpacked = py.detach(|| packed::unpack(&path, &folder, &mut || reporter.waits()));
    reporter.settle(unpacked)
}

/// Compresses a file with `gzip` or `zstd` into another, which must not exist.
#[pyfunction]
pub fn pack_file(py: Python<'_>, path: PathBuf, out: PathBuf, packing: &str) -> PyResult<()> {
    py.detach(|| mask::compress(&path, &out, packing)).map_err(raised)
}
