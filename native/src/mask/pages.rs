//! ftrace's pages, each masked in place.

use std::io::Write;

use super::Mask;
use crate::error::Result;
use crate::ring::{PageLayout, Pages, Ring};

impl Mask<'_> {
    /// Copies all pages, masked.
    pub(super) fn pages(&mut self, layout: &PageLayout, mut pages: Pages, out: &mut impl Write) -> Result<()> {
        let mut page = vec![0; layout.size];
        for count in 1u64.. {
            let (filled, problem) = pages.fill(&mut page);
            if let Some(error) = problem {
                return Err(error.followed_by("it cannot be masked"));
            }
            if filled < layout.size {
                let behind = if pages.are_packed() { filled } else { 0 };
                self.names.tell("bytes behind damage left out", behind as u64);
                break;
            }
            self.page(layout, &mut page)?;
            out.write_all(&page)?;
            if count % 256 == 0 {
                self.names.progress((pages.done() as f64 / pages.bytes().max(1) as f64).min(1.0))?;
            }
        }
        Ok(())
    }

    /// Masks a page: payloads by their formats; events that were thrown away, and what the kernel left
    /// behind the last one, become zeros.
    fn page(&mut self, layout: &PageLayout, page: &mut [u8]) -> Result<()> {
        let (mut rows, mut dead) = (Vec::new(), Vec::new());
        let place = |at: u32, size: u32| at as usize..(at + size) as usize;
        let end = layout.walk_all(page, |row| rows.push(place(row.at, row.size)), |at, size| dead.push(at..at + size));
        let mut used = layout.used(page);
        if !end.sound {
            used = rows.last().map_or(layout.data, |row| row.end);
            self.names.tell("damaged pages zeroed from the damage on", 1);
        }
        for row in rows {
            let Some(payload) = page.get_mut(row) else { continue };
            let kind = layout.order.u16(payload, 0).map_or(usize::MAX, usize::from);
            let event = self.by_type.get(kind).copied().unwrap_or(Ring::ABSENT);
            self.payload(event, layout.order, payload)?;
        }
        for unused in dead.into_iter().chain(std::iter::once(used..page.len())) {
            if let Some(place) = page.get_mut(unused) {
                place.fill(0);
            }
        }
        Ok(())
    }
}
