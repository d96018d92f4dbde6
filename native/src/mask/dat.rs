//! trace.dat: of version 6 all stays where it is, one of version 7 is written anew.

use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use super::Mask;
use crate::error::{bad, Result};
use crate::input::{create, read_at};
use crate::kinds::Kind;
use crate::narrow::Narrow;
use crate::tracedat::{headers, Headers};

/// Headers that are masked in one piece.
const MAX: u64 = 256 << 20;

impl Mask<'_> {
    pub(super) fn trace_dat(&mut self, file: &Arc<File>, out: &Path) -> Result<()> {
        let mut headers = headers(file)?;
        self.plan(&headers.tracing.events());
        match headers.version {
            6 => self.version_6(file, &headers, &create(out)?),
            _ => self.version_7(file, &headers, create(out)?),
        }
    }

    fn version_6(&mut self, file: &Arc<File>, headers: &Headers, out: &File) -> Result<()> {
        let length = file.metadata()?.len();
        out.set_len(length)?;
        // In a damaged file a part that is kept may lie over names: names are written last.
        let stays = |kind: &Kind| matches!(kind, Kind::Keep | Kind::Text);
        let (kept, others) = headers.tracing.spans.iter().partition::<Vec<_>, _>(|(_, kind)| stays(kind));
        let cut_short = || bad!(CutShort(length), "trace.dat cut short at byte {length}: it cannot be masked");
        for (range, kind) in kept.into_iter().chain(others) {
            let size = range.end - range.start;
            if size > MAX {
                return Err(bad!(Refused, "trace.dat has {size} bytes of headers: it cannot be masked"));
            }
            let bytes = read_at(file, range.start, size.narrow())?;
            let mut bytes = bytes.ok_or_else(cut_short)?;
            self.names.hide(*kind, &mut bytes, headers.order)?;
            out.write_all_at(&bytes, range.start)?;
        }
        let from = |at: u64| -> Result<File> {
            let mut place = out.try_clone()?;
            place.seek(SeekFrom::Start(at))?;
            Ok(place)
        };
        for instance in &headers.instances {
            if let Some((start, end)) = instance.text {
                let mut place = from(start)?;
                self.text(file, start, end, &mut place)?;
                out.set_len(place.stream_position()?)?;
                continue;
            }
            let layout = headers.page_layout(instance)?;
            for cpu in &instance.cpus {
                if let Some(pages) = headers.cpu_pages(file, instance, &layout, cpu)? {
                    let mut writer = BufWriter::new(from(cpu.start)?);
                    self.pages(&layout, pages, &mut writer)?;
                    writer.flush()?;
                }
            }
        }
        Ok(())
    }
}
