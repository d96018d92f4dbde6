//! A trace.dat whose sizes, counts and places cannot be: read or refused, and nothing costs more memory than the file
//! explains.

use std::io::Write;

use flate2::write::ZlibEncoder;
use netcost::events;

use crate::written::{Dat, BUFFER, DONE, EVENT_FORMATS, HEADER_INFO, PAGE, S, X86_64};
use crate::{alone, bound, tables};

/// Of a buffer's option: its page size, its count of CPUs, and behind them each CPU's number, place and size.
const SIZE: usize = 14;
const COUNT: usize = 18;
const FIRST: usize = 22;

fn whole(packing: &'static str) -> (Vec<u8>, Vec<(u16, usize)>) {
    let ring = |cpu: u32| {
        let events: Vec<(u64, u32)> = (0..2000).map(|step| (S + 10 * step + u64::from(cpu), 1)).collect();
        (cpu, X86_64.ring(255, &events))
    };
    Dat::of(X86_64, 7, vec![ring(0), ring(1)]).packed(packing).version_7()
}

fn place(places: &[(u16, usize)], option: u16) -> usize {
    places.iter().find(|place| place.0 == option).expect("an option").1
}

#[test]
fn what_cannot_be_is_read_or_refused_within_memory() {
    let _alone = alone();
    let read_or_refused = |bytes: &[u8], what: &str| bound(what, bytes, (5.0, 48), tables);
    let (plain, places) = whole("none");
    let bytes = |number: i64| number.to_le_bytes();
    // An option, a place in it, how many bytes, and what stands there then.
    for (what, option, at, width, number) in [
        ("a buffer outside the file", BUFFER, 0, 8, 1 << 40),
        ("sub-buffers of no size", BUFFER, SIZE, 4, 0),
        ("sub-buffers of odd size", BUFFER, SIZE, 4, 4097),
        ("sub-buffers of a byte", BUFFER, SIZE, 4, 1),
        ("sub-buffers of gibibytes", BUFFER, SIZE, 4, 1 << 31),
        ("thousands of millions of CPUs", BUFFER, COUNT, 4, -1),
        ("no CPU", BUFFER, COUNT, 4, 0),
        ("a CPU without end", BUFFER, FIRST, 4, -1),
        ("the same CPU twice", BUFFER, FIRST, 4, 1),
        ("data outside the file", BUFFER, FIRST + 4, 8, 1 << 40),
        ("data before the file", BUFFER, FIRST + 4, 8, -4096),
        ("data without end", BUFFER, FIRST + 12, 8, -1),
        ("data in the headers", BUFFER, FIRST + 4, 8, 0),
        ("two CPUs' data in one place", BUFFER, FIRST + 4, 8, 2 * 4096),
        ("options in the headers", DONE, 0, 8, 0x1000),
        ("no header", HEADER_INFO, 0, 8, 1 << 40),
        ("formats in the header's place", EVENT_FORMATS, 0, 8, 32),
        // Each options section says where the next one is: here, that it is the next one itself.
        ("options in a circle", DONE, 0, 8, i64::from_le_bytes(plain[24..32].try_into().expect("eight bytes"))),
    ] {
        let mut broken = plain.clone();
        let at = place(&places, option) + at;
        broken[at..at + width].copy_from_slice(&bytes(number)[..width]);
        read_or_refused(&broken, what);
    }
    // Chunks that claim to be more than there are, or larger, or smaller.
    let (packed, places) = whole("zstd");
    let at = place(&places, BUFFER) + FIRST + 4;
    let first = u64::from_le_bytes(packed[at..at + 8].try_into().expect("eight bytes")) as usize;
    for count in [0, 2, 1 << 31, u32::MAX] {
        for sizes in [[0, 0], [1 << 31, 4096], [100, 1 << 31]] {
            let mut broken = packed.clone();
            broken[first..first + 12].copy_from_slice(&[count, sizes[0], sizes[1]].map(u32::to_le_bytes).concat());
            read_or_refused(&broken, "chunks");
        }
    }
    // Kilobytes that unpack to gigabytes: a section, and a CPU's chunk, at the file's end, where an option points now.
    for packing in ["zstd", "zlib"] {
        let bomb = bomb(packing);
        let (mut plain, places) = whole(packing);
        plain.resize(plain.len().next_multiple_of(PAGE), 0);
        let end = (plain.len() as u64).to_le_bytes();
        for claimed in [1 << 16, u32::MAX] {
            let block = [&(bomb.len() as u32).to_le_bytes()[..], &claimed.to_le_bytes(), &bomb].concat();
            let mut section = plain.clone();
            let at = place(&places, EVENT_FORMATS);
            section[at..at + 8].copy_from_slice(&end);
            let head = X86_64.bytes().u16(EVENT_FORMATS).u16(1).u32(0).u64(block.len() as u64);
            section.extend(head.raw(&block).bytes);
            read_or_refused(&section, "a section");
            let mut chunk = plain.clone();
            let at = place(&places, BUFFER) + FIRST + 4;
            chunk[at..at + 16].copy_from_slice(&[end, (4 + block.len() as u64).to_le_bytes()].concat());
            chunk.extend(X86_64.bytes().u32(1).raw(&block).bytes);
            read_or_refused(&chunk, "a chunk");
        }
    }
}

/// A gigabyte of nothing, or a quarter of one.
fn bomb(packing: &str) -> Vec<u8> {
    let zeros = vec![0; 1 << 20];
    let written = |mut packer: Box<dyn Write + '_>, count: usize| {
        (0..count).for_each(|_| packer.write_all(&zeros).expect("packs"))
    };
    let mut bomb = Vec::new();
    match packing {
        "zlib" => written(Box::new(ZlibEncoder::new(&mut bomb, flate2::Compression::fast())), 256),
        _ => written(Box::new(zstd::stream::Encoder::new(&mut bomb, 1).expect("packs").auto_finish()), 1024),
    }
    bomb
}

// One full sub-buffer many times over, each a microsecond after the one before.
#[test]
fn many_pages() {
    let _alone = alone();
    const COUNT: u64 = 3000;
    let mut pages = X86_64.ring(255, &(0..255).map(|at| (S + at, 3)).collect::<Vec<_>>()).repeat(COUNT as usize);
    for (page, number) in pages.chunks_exact_mut(PAGE).zip(0..) {
        page[..8].copy_from_slice(&(S + 1000 * number).to_le_bytes());
    }
    let rings = vec![(0, pages.clone()), (1, pages)];
    for (version, packing) in [(6, "none"), (7, "none"), (7, "zstd"), (7, "zlib")] {
        let bytes = Dat::of(X86_64, version, rings.clone()).packed(packing).bytes();
        bound("pages", &bytes, (3.0, 16), |recording| {
            let scan = events::scan(recording, &mut |_| true)?;
            assert_eq!(scan.counts, [2 * COUNT * 255]);
            Ok(())
        });
    }
}
