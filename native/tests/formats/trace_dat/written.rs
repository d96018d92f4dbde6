//! A trace.dat of either version, byte order and word size: its sections, its options, and the rings of its CPUs.

use std::io::Write;

use flate2::write::ZlibEncoder;
use netcost::Order;

pub use super::machine::*;
use crate::described::{softirq, Bytes};
use crate::shown::{words, Shown};

/// Options and sections.
pub const DONE: u16 = 0;
pub const BUFFER: u16 = 3;
pub const HEADER_INFO: u16 = 16;
pub const EVENT_FORMATS: u16 = 18;
const TRACECLOCK: u16 = 4;
const BUFFER_TEXT: u16 = 22;

/// Time since a second, CPU and vector of every event.
pub fn found(shown: &Shown) -> Vec<(i64, i64, i64)> {
    let numbers =
        |row| words(row, "time_ns common_cpu vec").split(' ').map(|word| word.parse().expect("a number")).collect();
    let row = |numbers: Vec<i64>| (numbers[0] - S as i64, numbers[1], numbers[2]);
    shown.events("irq:softirq_raise").iter().map(numbers).map(row).collect()
}

/// The top buffer has no name. A latency tracer leaves text instead of rings.
#[derive(Clone)]
pub struct Buffer {
    pub name: &'static str,
    pub clock: &'static str,
    pub page: usize,
    pub rings: Vec<(u32, Vec<u8>)>,
    pub text: Option<String>,
}

impl Buffer {
    pub fn of(name: &'static str, rings: Vec<(u32, Vec<u8>)>) -> Buffer {
        Buffer { name, clock: "mono", page: PAGE, rings, text: None }
    }
}

#[derive(Clone)]
pub struct Dat {
    pub machine: Machine,
    pub version: u8,
    /// As the file names it: none, zstd or zlib.
    pub packing: &'static str,
    /// Bytes of a ring that are packed at once.
    pub chunk: usize,
    /// Options of one section.
    pub options_each: usize,
    pub options: Vec<(u16, Vec<u8>)>,
    pub buffers: Vec<Buffer>,
}

fn option(file: Bytes, id: u16, data: &[u8]) -> Bytes {
    file.u16(id).u32(data.len() as u32).raw(data)
}

fn section(file: Bytes, id: u16, is_packed: bool, body: &[u8]) -> Bytes {
    file.u16(id).u16(is_packed.into()).u32(0).u64(body.len() as u64).raw(body)
}

fn aligned(mut file: Bytes) -> Bytes {
    file.bytes.resize(file.bytes.len().next_multiple_of(PAGE), 0);
    file
}

impl Dat {
    /// Of a top buffer with these rings, not packed.
    pub fn of(machine: Machine, version: u8, rings: Vec<(u32, Vec<u8>)>) -> Dat {
        let buffers = vec![Buffer::of("", rings)];
        Dat { machine, version, packing: "none", chunk: 10 * PAGE, options_each: 100, options: vec![], buffers }
    }

    /// With its top buffer's clock, and options beside it.
    pub fn clocked(self, clock: &'static str, options: &[(u16, Vec<u8>)]) -> Dat {
        let buffers = self.buffers.into_iter().map(|one| Buffer { clock, ..one }).collect();
        Dat { buffers, options: options.to_vec(), ..self }
    }

    pub fn packed(self, packing: &'static str) -> Dat {
        Dat { packing, ..self }
    }

    pub fn shown(&self) -> Shown {
        Shown::of(self.bytes())
    }

    pub fn bytes(&self) -> Vec<u8> {
        if self.version == 6 {
            self.version_6()
        } else {
            self.version_7().0
        }
    }

    fn magic(&self) -> Bytes {
        let Machine { order, word } = self.machine;
        let magic = self.machine.bytes().raw(b"\x17\x08\x44tracing").raw(&[b'0' + self.version, 0]);
        magic.raw(&[u8::from(order == Order::Big), word as u8]).u32(PAGE as u32)
    }

    /// What both versions have: one after the other in 6, each a section in 7.
    fn sections(&self) -> [(u16, Bytes); 6] {
        let here = || self.machine.bytes();
        let sized = |bytes: Bytes, text: &str| bytes.u64(text.len() as u64).raw(text.as_bytes());
        [
            (
                HEADER_INFO,
                sized(here().raw(b"header_page\0"), &self.machine.header_page()).raw(b"header_event\0").u64(0),
            ),
            (17, here().u32(0)),
            (EVENT_FORMATS, sized(here().u32(1).raw(b"irq\0").u32(1), &softirq("softirq_raise", 77))),
            (19, here().u32(0)),
            (20, here().u32(0)),
            (21, here().u64(0)),
        ]
    }

    /// A table of CPUs for each buffer, and their pages behind it.
    fn version_6(&self) -> Vec<u8> {
        let numbers = self.buffers.iter().flat_map(|one| &one.rings).map(|ring| ring.0 + 1);
        let count = numbers.max().unwrap_or(0);
        let start = self.sections().iter().fold(self.magic(), |file, section| file.raw(&section.1.bytes));
        // A clock stands behind each table.
        let start = option(start.u32(count).raw(b"options  \0"), TRACECLOCK, b"\0");
        let mut file = self.options.iter().fold(start, |file, (id, data)| option(file, *id, data));
        let mut places = vec![0];
        for one in &self.buffers[1..] {
            places.push(file.bytes.len() + 6);
            file = option(file, BUFFER, &self.machine.bytes().u64(0).raw(one.name.as_bytes()).raw(b"\0").bytes);
        }
        file = file.u16(DONE);
        if let Some(text) = &self.buffers[0].text {
            return file.raw(b"latency  \0").raw(text.as_bytes()).bytes;
        }
        for (one, place) in self.buffers.iter().zip(places) {
            if place > 0 {
                let at = self.machine.bytes().u64(file.bytes.len() as u64).bytes;
                file.bytes[place..place + 8].copy_from_slice(&at);
            }
            let clock = format!("[{}]", one.clock);
            let rows = 10 + 16 * count as usize + 8 + clock.len();
            let mut at = (file.bytes.len() + rows).next_multiple_of(PAGE);
            let ring = |cpu| one.rings.iter().find(|ring| ring.0 == cpu).map_or(&[][..], |ring| &ring.1);
            file = file.raw(b"flyrecord\0");
            for pages in (0..count).map(ring) {
                file = file.u64(at as u64).u64(pages.len() as u64);
                at += pages.len().next_multiple_of(PAGE);
            }
            file = aligned(file.u64(clock.len() as u64).raw(clock.as_bytes()));
            file = (0..count).map(ring).fold(file, |file, pages| aligned(file.raw(pages)));
        }
        file.bytes
    }

    /// Sections that are found through options; and where each option's data stands.
    pub fn version_7(&self) -> (Vec<u8>, Vec<(u16, usize)>) {
        let here = |at: usize| self.machine.bytes().u64(at as u64).bytes;
        let mut file = self.magic().raw(self.packing.as_bytes()).raw(b"\0\0");
        let first = file.bytes.len();
        file = file.u64(0);
        let mut options = self.options.clone();
        for (id, body) in self.sections() {
            options.push((id, here(file.bytes.len())));
            let body = if self.packs() { self.block(&body.bytes) } else { body.bytes };
            file = section(file, id, self.packs(), &body);
        }
        for one in &self.buffers {
            options.push(self.buffer(&mut file, one));
        }
        let (mut places, mut following) = (Vec::new(), 0);
        for some in options.chunks(self.options_each).rev() {
            let (at, mut body) = (file.bytes.len(), self.machine.bytes());
            for (id, data) in some.iter().chain([&(DONE, here(following))]) {
                places.push((*id, at + 16 + body.bytes.len() + 6));
                body = option(body, *id, data);
            }
            file = section(file, DONE, false, &body.bytes);
            following = at;
        }
        file.bytes[first..first + 8].copy_from_slice(&here(following));
        (file.bytes, places)
    }

    /// The option that names a buffer.
    fn buffer(&self, file: &mut Bytes, one: &Buffer) -> (u16, Vec<u8>) {
        let here = self.machine.bytes().u64(file.bytes.len() as u64);
        let named = here.raw(one.name.as_bytes()).raw(b"\0").raw(one.clock.as_bytes()).raw(b"\0");
        let held = |data: &[u8]| if self.packs() && !data.is_empty() { self.chunks(data) } else { data.to_vec() };
        let begun = file.clone();
        if let Some(text) = &one.text {
            *file = section(begun, BUFFER_TEXT, self.packs(), &held(text.as_bytes()));
            return (BUFFER_TEXT, named.bytes);
        }
        *file = section(begun, BUFFER, self.packs(), &[]);
        let mut option = named.u32(one.page as u32).u32(one.rings.len() as u32);
        for (cpu, pages) in &one.rings {
            let (pages, begun) = (held(pages), aligned(file.clone()));
            option = option.u32(*cpu).u64(begun.bytes.len() as u64).u64(pages.len() as u64);
            *file = begun.raw(&pages);
        }
        (BUFFER, option.bytes)
    }

    /// A copy of tracefs with the same: paths and what the files hold.
    pub fn folder(&self) -> Vec<(String, Vec<u8>)> {
        let top = &self.buffers[0];
        let texts = [("header_page", self.machine.header_page()), ("trace_clock", format!("[{}]", top.clock))];
        let texts = texts.into_iter().chain([("events/irq/softirq_raise/format", softirq("softirq_raise", 77))]);
        let rings = top.rings.iter().map(|(cpu, pages)| (format!("per_cpu/cpu{cpu}/raw"), pages.clone()));
        texts.map(|(path, text)| (path.to_owned(), text.into_bytes())).chain(rings).collect()
    }

    fn packs(&self) -> bool {
        self.packing != "none"
    }

    /// What trace-cmd packs, behind its sizes.
    fn block(&self, data: &[u8]) -> Vec<u8> {
        let packed = if self.packing == "zstd" {
            zstd::bulk::compress(data, 1).expect("packs")
        } else {
            let mut packer = ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
            packer.write_all(data).and_then(|()| packer.finish()).expect("packs")
        };
        self.machine.bytes().u32(packed.len() as u32).u32(data.len() as u32).raw(&packed).bytes
    }

    fn chunks(&self, data: &[u8]) -> Vec<u8> {
        let pieces = data.chunks(self.chunk);
        let count = self.machine.bytes().u32(pieces.len() as u32);
        pieces.fold(count, |bytes, piece| bytes.raw(&self.block(piece))).bytes
    }
}
