//! Decoder of captures and the CPU-time ledger behind `netcost_analysis`.
//!
//! Bytes become records (`perf`), records typed columns (`events`, `columns`) or owners of time
//! (`ledger`); `python` shows both to Python as Arrow tables. Data moves one way.

mod alloc;
pub mod bytes;
pub mod chunks;
pub mod columns;
pub mod error;
pub mod events;
pub mod format;
pub mod intern;
pub mod ledger;
pub mod names;
pub mod perf;
pub mod progress;
mod python;
pub mod tables;

use pyo3::prelude::*;

#[global_allocator]
static ALLOCATOR: alloc::HugePages = alloc::HugePages;

#[pymodule(gil_used = false)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<python::Capture>()?;
    module.add("CaptureError", module.py().get_type::<python::CaptureError>())?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("IS_DEBUG_BUILD", cfg!(debug_assertions))
}
