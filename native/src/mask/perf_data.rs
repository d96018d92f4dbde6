//! A perf.data written anew: headers, records one after the other, and the parts behind them.

use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;

use super::repack::Stream;
use super::Mask;
use crate::error::{bad, Error, Result};
use crate::input::read_at;
use crate::kinds::Kind;
use crate::narrow::Narrow;
use crate::perf::blocks::{self, follows, Records, Stop};
use crate::perf::feature;
use crate::perf::header::Section;
use crate::perf::record::{self, kind};
use crate::perf::recording::{Mode, Part, PerfData};
use crate::perf::spans;
use crate::perf::stream::OLD_FEATURE_BASE;

/// What stands before the records: attrs and their ids.
const MAX_BEFORE: u64 = 64 << 20;
const DATA_SIZE_AT: u64 = 48;

impl Mask<'_> {
    /// Writes a whole perf.data to `out`; of a folder its main file.
    pub(super) fn perf_data(&mut self, perf: &PerfData, out: &mut File) -> Result<()> {
        let (around, Some(part)) = (&perf.around, perf.parts.first()) else { return Ok(()) };
        for (place, section) in around.before.iter().enumerate() {
            if around.records_at > MAX_BEFORE || section.size > 0 && section.end() > around.records_at {
                // Ids may lie anywhere in the file: those behind the records are left out.
                if place > 1 {
                    continue;
                }
                return Err(bad!(
                    Refused,
                    "this perf.data cannot be masked: its records begin at byte {}, before the events are described",
                    around.records_at
                ));
            }
            let bytes = read_at(&part.file, section.offset, section.size.narrow())?;
            out.write_all_at(&bytes.unwrap_or_default(), section.offset)?;
        }
        out.seek(SeekFrom::Start(around.records_at))?;
        let mut writer = BufWriter::new(&mut *out);
        if around.records_at < part.start {
            let old = Part { start: around.records_at, end: part.start, ..part.clone() };
            self.records(perf, &old, true, &mut writer)?;
        }
        let written = self.records(perf, part, false, &mut writer)?;
        if perf.mode == Mode::Pipe || !perf.finished {
            return Ok(writer.flush()?);
        }
        if written == 0 && part.start < part.end && perf.mode == Mode::File {
            let at = part.start;
            return Err(bad!(Damaged(at), "damaged at byte {at}, before the first record: there is nothing to mask"));
        }
        self.behind_records(perf, part, written, &mut writer)?;
        writer.flush()?;
        drop(writer);
        Ok(out.write_all_at(&perf.order.u64_bytes(written), DATA_SIZE_AT)?)
    }

    /// The table of features and their sections, behind the records as long as they are now.
    fn behind_records(&mut self, perf: &PerfData, part: &Part, written: u64, out: &mut impl Write) -> Result<()> {
        let (around, order) = (&perf.around, perf.order);
        let mut next = around.records_at + written + 16 * around.features.len() as u64;
        let (mut places, mut sections) = (Vec::new(), Vec::new());
        let mut left = part.file.metadata()?.len();
        let records = Section { offset: part.start, size: part.end - part.start };
        let others = || around.features.iter().filter_map(|(feature, section)| Some((Some(*feature), (*section)?)));
        for (feature, section) in &around.features {
            let lies_over = |section: &Section| {
                let mut all = others().chain([(None, records)]).filter(|(other, _)| *other != Some(*feature));
                all.any(|(_, other)| other.offset < section.end() && section.offset < other.end())
            };
            // A part that is copied as it is must not lie over another one.
            let stays = feature::kind(*feature) == Kind::Keep;
            let bytes = match section.filter(|section| !stays || !lies_over(section)) {
                Some(section) => read_at(&part.file, section.offset, section.size.narrow())?,
                None => None,
            };
            if bytes.is_none() {
                self.names.tell("damaged parts of the header left out", 1);
            }
            let mut bytes = bytes.unwrap_or_default();
            let at = section.map_or(0, |section| section.offset);
            left = left
                .checked_sub(bytes.len() as u64)
                .ok_or_else(|| bad!(Damaged(at), "damaged: parts of the perf.data header overlap"))?;
            self.names.hide_all(&spans::of_feature(*feature, &bytes, order), &mut bytes, order)?;
            places.extend(order.u64_bytes(next));
            places.extend(order.u64_bytes(bytes.len() as u64));
            next += bytes.len() as u64;
            sections.push(bytes);
        }
        out.write_all(&places)?;
        sections.iter().try_for_each(|section| out.write_all(section))?;
        Ok(())
    }

    /// Copies the records of a part, masked; bytes written. What is damaged, and all behind it, is left out.
    /// `features`: those that a stream of old has as records.
    pub(super) fn records(&mut self, perf: &PerfData, part: &Part, features: bool, out: &mut dyn Write) -> Result<u64> {
        let (stream, done) = (Stream::new()?, part.start);
        let mut copy = Copy {
            mask: self,
            perf,
            part,
            features,
            out,
            written: 0,
            done,
            stream,
            packed: 0,
            plain: Vec::new(),
            failed: None,
        };
        let walked = blocks::walk(part, perf.order, &mut copy);
        copy.pack()?;
        let (written, left) = (copy.written, part.end.saturating_sub(copy.done));
        copy.failed.map_or(Ok(()), Err)?;
        let _ = walked?;
        self.names.tell("bytes behind damage left out", left);
        Ok(written)
    }
}

/// Records on their way.
struct Copy<'a, 'm> {
    mask: &'a mut Mask<'m>,
    perf: &'a PerfData,
    part: &'a Part,
    features: bool,
    out: &'a mut dyn Write,
    written: u64,
    /// Up to which byte of the file all is copied.
    done: u64,
    stream: Stream,
    /// The type of the present compressed record, and what is in it.
    packed: u32,
    plain: Vec<u8>,
    failed: Option<Error>,
}

impl Records for Copy<'_, '_> {
    fn block(&mut self, block: &[u8], offset: Option<u64>) -> (usize, Stop) {
        let (mut at, mut stop) = (0, Stop::Short);
        while let (Stop::Short, Some(rest)) = (&stop, block.get(at..)) {
            let Some((kind, size)) = record::header(rest, self.perf.order) else { break };
            let Some(bytes) = rest.get(..size).filter(|_| size >= record::HEADER) else { break };
            stop = self.record(kind, bytes, at, offset).unwrap_or_else(|error| {
                self.failed = Some(error);
                Stop::Enough
            });
            at += size;
        }
        (at, stop)
    }

    fn unpacked(&mut self) {
        self.failed = self.pack().err();
    }

    fn note(&mut self, _note: String) {}

    fn progress(&mut self, done: u64) -> ControlFlow<()> {
        self.done = self.done.max(self.part.start + done);
        let fraction = done as f64 / (self.part.end - self.part.start).max(1) as f64;
        self.failed = self.failed.take().or_else(|| self.mask.names.progress(fraction.min(1.0)).err());
        match self.failed {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    }
}

impl Copy<'_, '_> {
    /// Masks a record at `at` in a block; `Short` where the next one follows it.
    fn record(&mut self, kind: u32, bytes: &[u8], at: usize, offset: Option<u64>) -> Result<Stop> {
        let order = self.perf.order;
        let mut bytes = bytes.to_vec();
        let stop = follows(kind, &bytes, at, order).filter(|_| !self.features).unwrap_or(Stop::Short);
        match (&stop, offset) {
            (Stop::Compressed(..), Some(_)) => self.packed = kind,
            (Stop::Short, None) => {
                self.mask.record(self.perf, &mut bytes)?;
                self.plain.extend(bytes);
            }
            (_, None) => {}
            (_, Some(offset)) => {
                let end = offset + (at + bytes.len()) as u64;
                match self.features {
                    true => self.feature((kind - OLD_FEATURE_BASE) as usize, &mut bytes[record::HEADER..])?,
                    false => self.mask.record(self.perf, &mut bytes)?,
                }
                if let (Stop::Skip(_), kind::AUXTRACE) = (&stop, kind) {
                    // The data of a hardware tracer is not understood here: the record now says that none follows.
                    bytes[8..16].fill(0);
                    self.mask.names.tell("hardware traces (AUXTRACE) left out", 1);
                } else if let Stop::Skip(size) = stop {
                    let Some(mut section) = read_at(&self.part.file, end, size.narrow())? else {
                        return Ok(Stop::Enough);
                    };
                    self.feature(feature::TRACING_DATA, &mut section)?;
                    bytes.extend(section);
                }
                self.write(&bytes)?;
                self.done = end;
            }
        }
        Ok(stop)
    }

    fn feature(&mut self, feature: usize, section: &mut [u8]) -> Result<()> {
        let order = self.perf.order;
        self.mask.names.hide_all(&spans::of_feature(feature, section, order), section, order)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.written += bytes.len() as u64;
        Ok(self.out.write_all(bytes)?)
    }

    /// Packs what a compressed record held.
    fn pack(&mut self) -> Result<()> {
        let bytes = self.stream.records(&self.plain, self.packed, self.perf.order)?;
        self.plain.clear();
        self.write(&bytes)
    }
}
