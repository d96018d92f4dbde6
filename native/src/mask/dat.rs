//! What both versions of trace.dat have: options, and buffers of pages.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use super::Mask;
use crate::bytes::{text, until_nul};
use crate::error::Result;
use crate::input::create;
use crate::ring::Ring;
use crate::tracedat::{headers, Headers};

/// Numbers of options.
pub mod option {
    pub const DONE: u16 = 0;
    pub const BUFFER: u16 = 3;
    pub const UNAME: u16 = 5;
    pub const HOOK: u16 = 6;
    pub const VERSION: u16 = 9;
    pub const PROCMAPS: u16 = 10;
    pub const GUEST: u16 = 13;
    pub const LAST: u16 = 14;
}

/// How to read the pages of a file.
pub struct Shape {
    pub headers: Headers,
    pub by_type: Vec<u32>,
}

impl Mask<'_> {
    pub(super) fn trace_dat(&mut self, file: &Arc<File>, out: &Path) -> Result<()> {
        let mut headers = headers(file)?;
        let events = headers.tracing.events();
        self.plan(&events)?;
        let by_type = Ring::index(&events);
        let shape = Shape { headers, by_type };
        match shape.headers.version {
            6 => self.version_6(file, &shape, &create(out)?),
            _ => self.version_7(file, &shape, create(out)?),
        }
    }

    /// Masks an option in as many bytes; whether it is one that is known. Dates, statistics, clocks and
    /// their shifts stay; where programs lie in memory is left out.
    pub(super) fn option(&mut self, option: u16, data: &mut [u8]) -> Result<bool> {
        match option {
            option::UNAME => {
                let uname = self.uname(&text(data))?.into_bytes();
                data.fill(0);
                let size = uname.len().min(data.len());
                data[..size].copy_from_slice(&uname[..size]);
            }
            option::GUEST => {
                let size = until_nul(data).len();
                self.same_length("host", &mut data[..size])?;
            }
            option::VERSION => self.names.text("words", data).map(|_| ())?,
            // Names of events and their fields, as the kernel calls them.
            option::HOOK => {}
            option::PROCMAPS => {
                self.tell("maps of processes left out", 1);
                data.fill(0);
                return Ok(false);
            }
            option::DONE..=option::LAST => {}
            _ => {
                self.tell(&format!("option {option} left out"), 1);
                data.fill(0);
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// A name that something follows: a shorter one is filled up, so that what follows stays where it is.
    fn same_length(&mut self, kind: &'static str, place: &mut [u8]) -> Result<()> {
        let mut found = self.names.replacement(kind, place)?.to_vec();
        found.truncate(place.len());
        place.fill(b'_');
        place[..found.len()].copy_from_slice(&found);
        Ok(())
    }
}
