//! perf.data whose headers have much of one thing, times much of another, whose fields overlap, and whose records are
//! packed or stop the walk over them.

use std::io::Write;

use netcost::Order::{self, Big, Little};
use netcost::{ledger, times, ErrorKind, Recording};

use crate::described::{opened, pipe_of, tracing, Attr, Bytes, CPU, RAW, SAMPLE, TIME};
use crate::shown::refused;
use crate::{alone, bound, scan, tables};

const TRACING_DATA: u32 = 66;
const EVENT_UPDATE: u32 = 78;
const COMPRESSED: u32 = 81;

fn attr(kind: u32, config: u64, ids: &[u64]) -> Attr<'_> {
    Attr { kind, ids, ..Attr::tracepoint(config, TIME | CPU | RAW) }
}

fn sample(records: Bytes, time: u64, payload: &[u8]) -> Bytes {
    let body = Bytes::of(records.order).u64(time).u32(0).u32(0).u32(payload.len() as u32).raw(payload);
    records.record(SAMPLE, 1, body)
}

/// A file of these attrs, each with the same ids, and this command line.
fn file(attrs: u64, ids: &[u64], words: &[String]) -> Vec<u8> {
    let here = || Bytes::of(Little);
    let (ids_size, attrs_size) = (8 * ids.len() as u64, 80 * attrs);
    let data = 104 + ids_size + attrs_size;
    let head = here().raw(b"PERFILE2").u64(104).u64(80).u64(104 + ids_size).u64(attrs_size).u64(data).u64(0);
    let head = head.u64(0).u64(0).u64(if words.is_empty() { 0 } else { 1 << 11 }).u64(0).u64(0).u64(0);
    let head = ids.iter().fold(head, |head, &id| head.u64(id));
    let one = |head: Bytes, config| head.raw(&attr(1, config, &[]).bytes(Little).bytes).u64(104).u64(ids_size);
    let head = (0..attrs).fold(head, one);
    let word = |all: Bytes, word: &String| all.u32(word.len() as u32 + 1).raw(word.as_bytes()).raw(b"\0");
    let said = words.iter().fold(here().u32(words.len() as u32), word);
    head.u64(data + 16).u64(said.bytes.len() as u64).raw(&said.bytes).bytes
}

fn command(events: String) -> Vec<String> {
    let start = ["perf", "record", "-e", &events].map(str::to_owned);
    start.into_iter().chain((0..10_000).map(|_| "--filter=x".to_owned())).collect()
}

#[test]
fn headers_with_much_of_one_thing_times_much_of_another() {
    let _alone = alone();
    let many = |name: &dyn Fn(u32) -> String| command((0..10_000).map(name).collect::<Vec<String>>().join(","));
    bound("filters", &file(2, &[], &many(&|number| format!("e{number}"))), (3.0, 32), scan);
    bound("patterns", &file(10_000, &[], &many(&|_| "*a*b*c*d".to_owned())), (3.0, 64), scan);
    // Attributes that all point at the same ids: 1 MB of them, named by each of 800.
    let ids: Vec<u64> = (1_000_000..1_000_000 + (1 << 17)).collect();
    bound("shared ids", &file(800, &ids, &[]), (3.0, 512), scan);
    bound("attributes", &file(100_000, &[], &[]), (6.0, 512), |recording: &Recording| {
        scan(recording)?;
        let window = (0, 1 << 62);
        times::event_times(recording, window, &[0], false, &mut |_| true).map(drop)?;
        ledger::run(recording, &ledger::Request::default(), &mut |_| true).map(drop)
    });
    // Names by id, for events that have many ids or none, and none of those.
    for (count, ids) in [(60, 1000..9000), (60_000, 0..0)] {
        let ids: Vec<u64> = ids.collect();
        let name = Bytes::of(Little).record(EVENT_UPDATE, 0, Bytes::of(Little).u64(2).u64(7).raw(b"name\0\0\0\0"));
        let bytes = pipe_of(Little, &vec![attr(1, 5, &ids); count], &Bytes::of(Little).raw(&name.bytes.repeat(60_000)));
        bound("names of ids", &bytes, (3.0, 192), scan);
    }
    // Each event is another table; and after each of the records at the end, all of them are looked at.
    let format =
        |id: u64| format!("name: event{id:05}\nID: {id}\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n");
    let texts: Vec<String> = (0..20_000).map(format).collect();
    let ids: Vec<[u64; 1]> = (0..20_000).map(|id| [1_000_000 + id]).collect();
    let attrs: Vec<Attr<'_>> = ids.iter().zip(0..).map(|(ids, config)| attr(2, config, ids)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let records = sample(tracing(Bytes::of(Little), 8, "irq", &texts), 1000, &[0; 12]);
    let stops = Bytes::of(Little).record(TRACING_DATA, 0, Bytes::of(Little).u32(0)).bytes.repeat(50_000);
    bound("tables", &pipe_of(Little, &attrs, &records.raw(&stops)), (3.0, 384), tables);
}

/// Events of one format whose fields are words that point to bytes of the event.
fn pointing(kind: &str, places: impl Iterator<Item = usize>, payloads: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut format = "name: made\nID: 7\nformat:\n".to_owned();
    for (number, at) in places.enumerate() {
        format += &format!("\tfield:__data_loc {kind}[] f{number};\toffset:{at};\tsize:4;\tsigned:0;\n");
    }
    let records = tracing(Bytes::of(Little), 8, "irq", &[&format]);
    let records = payloads.zip(1000..).fold(records, |records, (payload, time)| sample(records, time, &payload));
    pipe_of(Little, &[attr(2, 7, &[7])], &records)
}

// 1000 fields that all describe the same word, which says that their text is the whole record; and 250 that each have
// their own, from which they point into the same bytes: the first to all of them, the next to all but one, and so on.
#[test]
fn fields_that_say_the_same_bytes() {
    let _alone = alone();
    let head = |words: &[u32]| words.iter().fold(Bytes::of(Little).u64(7), |bytes, &word| bytes.u32(word));
    let same = (0..20)
        .map(|number| head(&[60_000 << 16 | 12]).raw(format!("{number:08}").as_bytes()).raw(&[b'A'; 59_992]).bytes);
    bound("overlap", &pointing("char", (0..1000).map(|_| 8), same), (3.0, 512), tables);
    for kind in ["char", "u8"] {
        let words: Vec<u32> = (0..250).map(|number| 57_000 << 16 | (1100 + number)).collect();
        let mut state = 1_u32;
        let mut noise = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            b"0123456789abcdef"[(state >> 28) as usize]
        };
        let payloads = (0..80).map(|_| {
            let mut payload = head(&words).bytes;
            payload.resize(1100, 0);
            payload.extend((0..58_000).map(|_| noise()));
            payload
        });
        bound(kind, &pointing(kind, (0..250).map(|number| 8 + 4 * number), payloads), (3.0, 192), tables);
    }
}

fn stream(order: Order, records: &[u8]) -> Vec<u8> {
    let first = sample(Bytes::of(order), 1000, &[0; 12]);
    pipe_of(order, &[attr(2, 7, &[7])], &first.raw(records))
}

fn flushed(data: &[u8], times: usize) -> Vec<u8> {
    let mut packer = zstd::stream::Encoder::new(Vec::new(), 1).expect("packs");
    (0..times).for_each(|_| packer.write_all(data).expect("packs"));
    packer.flush().expect("packs");
    packer.get_ref().clone()
}

#[test]
fn records_that_stop_the_walk_or_unpack_to_much() {
    let _alone = alone();
    for order in [Little, Big] {
        let here = || Bytes::of(order);
        // Each of these may be followed by something that is no record.
        let stop = here().record(TRACING_DATA, 0, here().u32(0)).bytes;
        bound("stops", &stream(order, &stop.repeat(500_000)), (3.0, 16), scan);
        // A record of 64 KiB waits for its last bytes while packed records come that hold raw blocks of no bytes.
        let begun = here().u32(200).u16(0).u16(65_528).raw(&[7; 63_750]).bytes;
        let packed = here().record(COMPRESSED, 0, here().raw(&flushed(&begun, 1)));
        let nothing = here().record(COMPRESSED, 0, here().raw(&[0; 3])).bytes;
        bound("nothing", &stream(order, &packed.raw(&nothing.repeat(300_000)).bytes), (3.0, 32), scan);
    }
    // Gigabytes of samples in some hundred KB.
    let some = sample(Bytes::of(Little), 1000, &[0; 12]).bytes.repeat(1 << 14);
    let pieces = flushed(&some, (1 << 30) / some.len());
    let one = |all: Bytes, piece: &[u8]| all.record(COMPRESSED, 0, Bytes::of(Little).raw(piece));
    let packed = pieces.chunks(65_000).fold(Bytes::of(Little), one);
    bound("very much", &stream(Little, &packed.bytes), (5.0, 512), scan);
    // A hundred kilobytes that unpack to a gigabyte: neither memory nor disk are filled with them.
    type Packer = fn(&[u8]) -> Vec<u8>;
    let packers: [Packer; 2] = [
        |data| zstd::bulk::compress(data, 1).expect("packs"),
        |data| {
            let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
            packer.write_all(data).and_then(|()| packer.finish()).expect("packs")
        },
    ];
    for packer in packers {
        let bomb = packer(&vec![0; 1 << 20]).repeat(1024);
        bound("bomb", &bomb, (3.0, 64), scan);
        assert_eq!(refused(opened(&bomb)).0, ErrorKind::Refused);
    }
}
