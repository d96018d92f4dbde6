//! What the fuzz targets share: reading a capture in full, within memory that its size explains.

mod bounded;
mod reading;

use std::fs::File;
use std::io::Write;
use std::os::fd::FromRawFd;

pub use bounded::within;

#[global_allocator]
static ALLOCATOR: bounded::Counting = bounded::Counting;

/// Reads a capture in full.
pub fn read(capture: &[u8]) {
    within(capture.len(), || reading::read(in_memory(capture).expect("a file in memory")));
}

fn in_memory(capture: &[u8]) -> std::io::Result<File> {
    // SAFETY: the name is NUL-terminated; a descriptor that is not -1 is new and nobody else's.
    let mut file = unsafe {
        match libc::memfd_create(c"capture".as_ptr(), libc::MFD_CLOEXEC) {
            -1 => return Err(std::io::Error::last_os_error()),
            descriptor => File::from_raw_fd(descriptor),
        }
    };
    file.write_all(capture)?;
    Ok(file)
}
