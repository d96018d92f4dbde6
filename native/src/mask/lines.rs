//! Texts, line by line: the task at a line's beginning, then the event's own text.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::Arc;

use super::Mask;
use crate::error::Result;
use crate::kinds::Kind;
use crate::text::blanks::Blanks;
use crate::text::head::Head;
use crate::text::line::Line;
use crate::text::lines::{each, Blocks};
use crate::text::prefix::Prefix;

impl Mask<'_> {
    /// Copies the lines in `from..to` of a file, masked, without what a mail, chat or log put before them.
    pub(super) fn text(&mut self, file: &Arc<File>, from: u64, to: u64, out: &mut File) -> Result<()> {
        let mut out = BufWriter::new(out);
        let prefix = Prefix::find(file, from, to)?;
        let mut blocks = Blocks::of(file, from, to);
        while let Some(block) = blocks.next()? {
            let is_whole = block.ends_with(b"\n");
            let mut masked = Vec::with_capacity(block.len());
            let mut blanks = Blanks::of(block);
            for line in each(block) {
                self.line(prefix.strip(line, &mut blanks), &mut masked)?;
                masked.push(b'\n');
            }
            if !is_whole {
                masked.pop();
            }
            out.write_all(&masked)?;
            let done = blocks.done();
            self.names.progress(done)?;
        }
        self.names.tell("prefixes of all lines left out", u64::from(prefix.note().is_some()));
        self.names.tell("lines of more than 64 KiB left out", blocks.overlong);
        Ok(out.flush()?)
    }

    fn line(&mut self, line: &[u8], out: &mut Vec<u8>) -> Result<()> {
        match Line::of(line) {
            Line::Event(head) => self.event(line, &head, Kind::Event, out),
            Line::Record(head) => self.event(line, &head, Kind::Record, out),
            Line::Blank => Ok(()),
            Line::Lost(..) | Line::Begun(_) => {
                out.extend_from_slice(line);
                Ok(())
            }
            Line::Comment => self.whole(Kind::Comment, line, out),
            Line::Frame => self.whole(Kind::Frame, line, out),
            Line::Other => self.whole(Kind::Line, line, out),
        }
    }

    fn whole(&mut self, kind: Kind, line: &[u8], out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(self.names.replacement(kind, line)?);
        Ok(())
    }

    /// What is between the task's name and the event's text stays: numbers, context, time, event.
    fn event(&mut self, line: &[u8], head: &Head<'_>, kind: Kind, out: &mut Vec<u8>) -> Result<()> {
        let place = |part: &[u8]| (part.as_ptr() as usize).wrapping_sub(line.as_ptr() as usize).min(line.len());
        let text_at = if head.text.is_empty() { line.len() } else { place(head.text) };
        let mut done = 0;
        if !head.comm.is_empty() {
            let at = place(head.comm);
            // Before the name stand at most a number and a time, as at the beginning of older kernels' lines.
            out.extend_from_slice(&line[..at]);
            let found = self.names.replacement(Kind::Task, head.comm)?;
            // The columns behind keep their places.
            out.resize(out.len() + head.comm.len().saturating_sub(found.len()), b' ');
            out.extend_from_slice(found);
            done = at + head.comm.len();
        }
        out.extend_from_slice(line.get(done..text_at.max(done)).unwrap_or_default());
        if !head.text.is_empty() {
            let asked = [head.name, b"\0", head.text].concat();
            let masked = self.names.replacement(kind, &asked)?;
            out.extend_from_slice(masked);
            // function_graph writes events as comments: their end mark is kept.
            out.extend_from_slice(line.get(text_at + head.text.len()..).unwrap_or_default());
        }
        Ok(())
    }
}
