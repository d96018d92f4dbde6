//! What stands in the place of what: asked once for each name, then remembered.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::meaning::Meaning;
use crate::bytes::until_nul;
use crate::error::{bad, Result};

/// Bytes of names remembered of one kind; beyond that they are asked for again.
const MAX: usize = 64 << 20;

#[derive(Default)]
struct Known {
    names: FxHashMap<Box<[u8]>, Box<[u8]>>,
    bytes: usize,
}

pub struct Names<'m> {
    meaning: &'m mut dyn Meaning,
    known: FxHashMap<&'static str, Known>,
    counts: BTreeMap<&'static str, u64>,
}

impl<'m> Names<'m> {
    pub fn new(meaning: &'m mut dyn Meaning) -> Names<'m> {
        Names { meaning, known: FxHashMap::default(), counts: BTreeMap::new() }
    }

    pub fn meaning(&mut self) -> &mut dyn Meaning {
        self.meaning
    }

    /// How often something else was put in the place of something, by kind.
    pub fn counts(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.counts.iter().map(|(kind, count)| (*kind, *count))
    }

    /// What stands for `original`: the same bytes, or others. Only a map of another hand has longer ones.
    pub fn replacement(&mut self, kind: &'static str, original: &[u8]) -> Result<&[u8]> {
        let known = self.known.entry(kind).or_default();
        if !known.names.contains_key(original) {
            let found = self.meaning.replace(kind, original)?;
            known.bytes += original.len() + found.len();
            if known.bytes > MAX {
                *known = Known::default();
            }
            known.names.insert(original.into(), found.into());
        }
        let found = known.names.get(original).map_or(&[][..], |found| found);
        if found != original {
            *self.counts.entry(kind).or_default() += 1;
        }
        Ok(found)
    }

    /// Replaces the text at the start of `place` and zeroes what is behind it; whether it is another now.
    pub fn text(&mut self, kind: &'static str, place: &mut [u8]) -> Result<bool> {
        let original = until_nul(place);
        let size = original.len();
        if size == 0 {
            place.fill(0);
            return Ok(false);
        }
        let found = self.replacement(kind, original)?;
        let (length, changed) = (found.len(), found != original);
        let found = found.to_vec();
        // The NUL behind it, where there is one, stays.
        if length > place.len().saturating_sub(1).max(size) {
            return Err(too_long(kind, size));
        }
        place[..length].copy_from_slice(&found);
        place[length..].fill(0);
        Ok(changed)
    }

    /// Replaces all of `place`, an address in binary.
    pub fn address(&mut self, kind: &'static str, place: &mut [u8]) -> Result<()> {
        let found = self.replacement(kind, place)?.to_vec();
        if found.len() != place.len() {
            return Err(bad!("a {kind} of {} bytes got a replacement of {}", place.len(), found.len()));
        }
        place.copy_from_slice(&found);
        Ok(())
    }

    /// The lines of `pid name` that tracefs keeps, replaced; in as many bytes, the rest newlines.
    pub fn cmdlines(&mut self, bytes: &mut [u8]) -> Result<()> {
        let mut masked = Vec::with_capacity(bytes.len());
        for line in bytes.split(|&byte| byte == b'\n') {
            let line = until_nul(line);
            let line = line.trim_ascii_start();
            let Some(space) = line.iter().position(|&byte| byte == b' ') else { continue };
            let (pid, comm) = (&line[..space], &line[space + 1..]);
            if pid.iter().all(u8::is_ascii_digit) && !pid.is_empty() {
                masked.extend_from_slice(pid);
                masked.push(b' ');
                masked.extend_from_slice(self.replacement("task", comm)?);
                masked.push(b'\n');
            }
        }
        if masked.len() > bytes.len() {
            return Err(too_long("task", bytes.len()));
        }
        masked.resize(bytes.len(), b'\n');
        bytes.copy_from_slice(&masked);
        Ok(())
    }
}

fn too_long(kind: &str, size: usize) -> crate::error::Error {
    bad!("the map replaces a {kind} of {size} bytes by a longer one, for which a recording has no room")
}
