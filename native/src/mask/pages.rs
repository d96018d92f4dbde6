//! ftrace's pages, each masked in place.

use std::io::Write;

use super::Mask;
use crate::error::{bad, Result};
use crate::ring::{PageLayout, Pages, Ring};

impl Mask<'_> {
    /// Copies all pages, masked.
    pub(super) fn pages(
        &mut self,
        layout: &PageLayout,
        by_type: &[u32],
        mut pages: Pages,
        out: &mut impl Write,
    ) -> Result<()> {
        let mut page = vec![0; layout.size];
        let mut count = 0u64;
        loop {
            let (filled, problem) = pages.fill(&mut page);
            if let Some(error) = problem {
                return Err(bad!("{error}: it cannot be masked"));
            }
            if filled < layout.size {
                if filled > 0 {
                    self.tell("bytes behind damage left out", filled as u64);
                }
                return Ok(());
            }
            self.page(layout, by_type, &mut page)?;
            out.write_all(&page)?;
            count += 1;
            if count % 256 == 0 {
                self.names.meaning().progress((pages.done() as f64 / pages.bytes().max(1) as f64).min(1.0))?;
            }
        }
    }

    /// Masks a page: payloads by their formats; events that were thrown away, and what the kernel left
    /// behind the last one, become zeros.
    pub(super) fn page(&mut self, layout: &PageLayout, by_type: &[u32], page: &mut [u8]) -> Result<()> {
        let (mut rows, mut dead) = (Vec::new(), Vec::new());
        let end = layout.walk_all(page, |row| rows.push(row), |at, size| dead.push((at, size)));
        let last = rows.last().map_or(layout.data, |row| (row.at + row.size) as usize);
        for row in rows {
            let Some(payload) = page.get_mut(row.at as usize..(row.at + row.size) as usize) else { continue };
            let kind = layout.order.u16(payload, 0).map_or(usize::MAX, usize::from);
            let event = by_type.get(kind).copied().filter(|&event| event != Ring::ABSENT);
            self.payload(event, layout.order, payload)?;
        }
        for (at, size) in dead {
            if let Some(place) = page.get_mut(at..at + size) {
                place.fill(0);
            }
        }
        let from = if end.sound { layout.used(page) } else { last };
        if !end.sound {
            self.tell("damaged pages zeroed from the damage on", 1);
        }
        if let Some(rest) = page.get_mut(from..) {
            rest.fill(0);
        }
        Ok(())
    }
}
