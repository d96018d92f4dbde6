//! The parts of a perf.data's header beside the records, each masked in as many bytes.

use super::recorded::cmdlines_of;
use super::Mask;
use crate::bytes::{slice, until_nul, Order};
use crate::error::Result;
use crate::perf::record;

mod id {
    pub const TRACING_DATA: usize = 1;
    pub const BUILD_ID: usize = 2;
    pub const HOSTNAME: usize = 3;
    pub const OSRELEASE: usize = 4;
    pub const ARCH: usize = 6;
    pub const CPUDESC: usize = 8;
    pub const CPUID: usize = 9;
    pub const CMDLINE: usize = 11;
    pub const BPF_PROG_INFO: usize = 25;
    pub const BPF_BTF: usize = 26;
    pub const LAST: usize = 31;
}

/// Where the build id and the name stand in a record of a build id.
const BUILD_ID_AT: usize = 12;
const BUILD_ID_NAME_AT: usize = 36;

impl Mask<'_> {
    /// Masks one feature's section. Those that hold no names (releases, topology, names of events,
    /// clocks) stay; of programs of BPF, and where nobody knows what it is, zeros are left.
    pub(super) fn feature(&mut self, feature: usize, bytes: &mut [u8], order: Order) -> Result<()> {
        match feature {
            id::TRACING_DATA => {
                let known = cmdlines_of(bytes);
                self.tracing_data(bytes, known)
            }
            id::BUILD_ID => self.build_ids(bytes, order),
            id::HOSTNAME => self.string(bytes, order, "host"),
            id::CMDLINE => self.command(bytes, order),
            id::OSRELEASE..=id::ARCH | id::CPUDESC | id::CPUID => {
                // A string and no more.
                let size = order.u32(bytes, 0).map_or(0, |size| size as usize);
                let text = bytes.get(4..size.saturating_add(4)).map_or(0, |text| until_nul(text).len());
                let end = (4 + text).min(bytes.len());
                bytes[end..].fill(0);
                Ok(())
            }
            0 | id::BPF_PROG_INFO | id::BPF_BTF => {
                self.tell("BPF programs in the header zeroed", 1);
                bytes.fill(0);
                Ok(())
            }
            _ if feature > id::LAST => {
                self.tell(&format!("feature {feature} of the header zeroed"), 1);
                bytes.fill(0);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn tracing_data(&mut self, bytes: &mut [u8], cmdlines: (usize, usize)) -> Result<()> {
        let (at, size) = cmdlines;
        let (first, rest) = bytes.split_at_mut(at.min(bytes.len()));
        self.symbols(first);
        let (cmdlines, rest) = rest.split_at_mut(size.min(rest.len()));
        rest.fill(0);
        self.names.cmdlines(cmdlines)
    }

    /// Records like those of a stream: header, process, build id, name.
    fn build_ids(&mut self, bytes: &mut [u8], order: Order) -> Result<()> {
        let mut rest = bytes;
        while let Some((_, size)) = record::header(rest, order) {
            if size <= BUILD_ID_NAME_AT || size > rest.len() {
                break;
            }
            let (one, after) = rest.split_at_mut(size);
            self.build_id(one)?;
            rest = after;
        }
        rest.fill(0);
        Ok(())
    }

    /// A program is known by its build id too: both are replaced.
    pub(super) fn build_id(&mut self, bytes: &mut [u8]) -> Result<()> {
        let Some((head, name)) = bytes.split_at_mut_checked(BUILD_ID_NAME_AT) else { return Ok(()) };
        if self.names.text("path", name)? {
            head[BUILD_ID_AT..BUILD_ID_AT + 20].fill(0);
        }
        Ok(())
    }

    fn string(&mut self, bytes: &mut [u8], order: Order, kind: &'static str) -> Result<()> {
        let size = order.u32(bytes, 0).map_or(0, |size| size as usize);
        let end = size.saturating_add(4).min(bytes.len());
        bytes[end..].fill(0);
        match bytes.get_mut(4..end) {
            Some(text) => self.names.text(kind, text).map(|_| ()),
            None => Ok(()),
        }
    }

    /// The recorder's command line: all words at once, since what one is depends on those before it.
    fn command(&mut self, bytes: &mut [u8], order: Order) -> Result<()> {
        let places = words(bytes, order);
        let end = places.last().map_or(4, |&(at, size)| at + size).min(bytes.len());
        bytes[end..].fill(0);
        let texts: Vec<&[u8]> = places.iter().map(|&(at, size)| until_nul(&bytes[at..at + size])).collect();
        let joined = texts.join(&0);
        let masked = self.names.replacement("arguments", &joined)?.to_vec();
        let mut masked = masked.split(|&byte| byte == 0);
        for (at, size) in places {
            let place = &mut bytes[at..at + size];
            let word = masked.next().unwrap_or_default();
            let room = until_nul(place).len();
            place.fill(0);
            if word.len() <= room {
                place[..word.len()].copy_from_slice(word);
            }
        }
        Ok(())
    }
}

/// Where the words of a list of strings lie, as far as it is whole.
fn words(bytes: &[u8], order: Order) -> Vec<(usize, usize)> {
    let mut at = 4;
    let mut places = Vec::new();
    for _ in 0..order.u32(bytes, 0).unwrap_or(0) {
        let Some(size) = order.u32(bytes, at).map(|size| size as usize) else { break };
        if slice(bytes, at + 4, size).is_none() {
            break;
        }
        places.push((at + 4, size));
        at += 4 + size;
    }
    places
}
