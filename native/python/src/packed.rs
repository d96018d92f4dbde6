//! Bytes of packed files for Python: unpacked as they are read, within bounds; and packed.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use netcost::parts::{most, unpacker, From};
use netcost::{mask, Error, ErrorKind};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::raised;

/// A file as it is, or what is inside where gzip or zstd packed it.
#[pyclass(frozen)]
pub struct Unpacker {
    source: Mutex<Box<dyn Read + Send>>,
    /// How it is packed: `gzip`, `zstd`, or nothing.
    #[pyo3(get)]
    packing: Option<&'static str>,
    /// So many bytes may come out of it; more is an attack.
    #[pyo3(get)]
    limit: u64,
}

#[pymethods]
impl Unpacker {
    #[new]
    fn new(path: PathBuf) -> PyResult<Unpacker> {
        let file = Arc::new(File::open(path)?);
        let limit = most(file.metadata()?.len());
        let (packing, source) = match unpacker(Arc::clone(&file))? {
            Some((name, source)) => (Some(name), source),
            None => (None, Box::new(From { file, at: 0 }) as Box<dyn Read + Send>),
        };
        Ok(Unpacker { source: Mutex::new(Box::new(source.take(limit + 1))), packing, limit })
    }

    /// Up to `size` bytes; none at the end.
    fn read<'py>(&self, py: Python<'py>, size: usize) -> PyResult<Bound<'py, PyBytes>> {
        const MAX: usize = 1 << 20;
        let bytes = py.detach(|| -> io::Result<Vec<u8>> {
            let mut bytes = Vec::new();
            let mut source = self.source.lock().map_err(|_| io::Error::other("it failed before"))?;
            source.by_ref().take(size.min(MAX) as u64).read_to_end(&mut bytes)?;
            Ok(bytes)
        });
        match bytes {
            Ok(bytes) => Ok(PyBytes::new(py, &bytes)),
            Err(error) if self.packing.is_some() => Err(raised(Error::Capture {
                kind: ErrorKind::Damaged,
                offset: Some(0),
                message: format!("damaged or cut short ({error})"),
            })),
            Err(error) => Err(error.into()),
        }
    }
}

/// Packs a file with `gzip` or `zstd` into another, which must not exist.
#[pyfunction]
pub fn pack_file(py: Python<'_>, path: PathBuf, out: PathBuf, packing: &str) -> PyResult<()> {
    py.detach(|| mask::compress(&path, &out, packing)).map_err(raised)
}
