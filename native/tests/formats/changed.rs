//! A capture that somebody makes shorter, or writes anew, while it is opened or read, and a caller who does not wait: one
//! line of error, and never a table of what was left. What a recorder appends, and a file that another replaces under its
//! name, change nothing.

use std::fs::{write, File, FileTimes};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use flate2::write::GzEncoder;
use netcost::ledger::{self, Request};
use netcost::{events, maps, open, Error, ErrorKind, Order, Recording};
use tempfile::TempDir;

use crate::described::{file_of, pipe_of};
use crate::perf_data::samples::{at, hardware};
use crate::shown::rows;
use crate::trace_dat::written::{Dat, S, X86_64};

/// More than is copied at once, and packs to more than that too.
fn text() -> Vec<u8> {
    let mut number = 1u32;
    let mut text = String::new();
    for line in 0..40_000 {
        number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        text += &format!("sh-{number} [000] ..... {line}.000001: strange_event: anything={number:032x}\n");
    }
    text.into_bytes()
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(text).expect("packs");
    packed.finish().expect("packs")
}

fn utf16(text: &[u8]) -> Vec<u8> {
    text.iter().flat_map(|&byte| [byte, 0]).collect()
}

/// What opening a file says, and how often it was waited for; at the third time the file changes.
fn opened(bytes: &[u8], change: fn(&Path)) -> (Option<String>, usize) {
    let folder = TempDir::new().expect("makes a folder");
    let path = folder.path().join("capture");
    write(&path, bytes).expect("writes");
    let mut waited = 0;
    let result = open(path.to_str().expect("a name"), None, &mut || {
        waited += 1;
        if waited == 3 {
            change(&path);
        }
        true
    });
    (result.err().map(|error| error.to_string()), waited)
}

#[test]
fn what_is_copied_while_it_changes_is_refused() {
    let text = text();
    let packed = [gzip(&text), zstd::bulk::compress(&text, 1).expect("packs"), utf16(&text)];
    for bytes in packed {
        let (error, waited) = opened(&bytes, |_| ());
        assert!(error.is_none() && waited > 3, "{error:?} {waited}");
        let cut = |path: &Path| File::options().write(true).open(path).and_then(|file| file.set_len(9)).expect("cuts");
        let want = format!(
            "the file shrank while it was read: 9 of {} bytes are left; copy it when nothing writes to it any more, and read the copy",
            bytes.len()
        );
        assert_eq!(opened(&bytes, cut).0, Some(want));
        let (error, _) = opened(&bytes, |path| std::fs::remove_file(path).expect("removes"));
        assert_eq!(error, None);
    }
}

#[test]
fn who_does_not_wait_is_told_so() {
    let folder = TempDir::new().expect("makes a folder");
    let path = folder.path().join("capture");
    write(&path, gzip(&text())).expect("writes");
    let error = open(path.to_str().expect("a name"), None, &mut || false).err();
    assert!(matches!(error, Some(Error::Capture { kind: ErrorKind::Interrupted, offset: None, .. })), "{error:?}");
}

type Files = Vec<(String, Vec<u8>)>;
type Change = (fn(&Path), &'static str);

/// Of each kind one that is shown as it is read, and one of more than a reader has ahead of that.
fn captures(is_large: bool) -> Vec<(&'static str, Files)> {
    let count = if is_large { 250_000 } else { 200 };
    let records = at(Order::Little, &(0..count).collect::<Vec<u64>>());
    let attr = hardware(0, 0, &[10]);
    let file = file_of(Order::Little, 104, &attr, &records);
    let ring: Vec<(u64, u32)> = (0..count).map(|step| (S + step, 1)).collect();
    let dat = |version| Dat::of(X86_64, version, vec![(0, X86_64.ring(255, &ring)), (1, X86_64.ring(255, &ring))]);
    let lines: String =
        (0..count / 2).map(|at| format!("sh-7 [000] ..... {at}.000001: strange_event: anything={at}\n")).collect();
    let one = |bytes: Vec<u8>| vec![("data".to_owned(), bytes)];
    let parts = [("data", file.clone()), ("data.0", records.bytes.clone()), ("data.1", records.bytes.clone())];
    vec![
        ("pipe", one(pipe_of(Order::Little, &[attr], &records))),
        ("file", one(file)),
        ("threads", parts.map(|(name, bytes)| (name.to_owned(), bytes)).to_vec()),
        ("text", one(lines.into_bytes())),
        ("trace.dat 6", one(dat(6).bytes())),
        ("trace.dat 7", one(dat(7).packed("zstd").bytes())),
        ("tracefs", dat(7).folder()),
    ]
}

/// What is done while it is read, and what is said of that; nothing of what does no harm.
const CHANGES: [Change; 9] = [
    (|path| cut(path, |size| size / 2), "shrank"),
    (|path| cut(path, |size| size - 1), "shrank"),
    (|path| cut(path, |_| 0), "shrank"),
    (|path| anew(path, 0), "was rewritten"),
    (|path| anew(path, 5000), "was rewritten"),
    (
        |path| {
            let whole = std::fs::read(path).expect("reads");
            write(path, [&whole[1..], &whole].concat()).expect("writes");
        },
        "was rewritten",
    ),
    (
        |path| {
            let mut file = File::options().append(true).open(path).expect("opens");
            file.write_all(&[b'x'; 4096]).expect("appends");
        },
        "",
    ),
    (
        |path| {
            let other = path.with_extension("other");
            write(&other, "x").and_then(|()| std::fs::rename(other, path)).expect("replaces");
        },
        "",
    ),
    (|path| std::fs::remove_file(path).expect("removes"), ""),
];

fn cut(path: &Path, size: impl Fn(u64) -> u64) {
    let file = File::options().write(true).open(path).expect("opens");
    file.set_len(size(file.metadata().expect("a size").len())).expect("cuts");
}

fn anew(path: &Path, more: usize) {
    let size = path.metadata().expect("a size").len() as usize;
    let mut file = File::options().write(true).open(path).expect("opens");
    file.write_all(&vec![b'x'; size + more]).expect("writes");
}

/// A pass that tells how far it is, and what it gives.
type Pass = fn(&Recording, &mut dyn FnMut(f64) -> bool) -> netcost::Result<String>;

const PASSES: [Pass; 5] = [
    |recording, tell| events::scan(recording, tell).map(|scan| format!("{scan:?}")),
    |recording, tell| {
        let tables = events::tables(recording, None, None, &events::Within::default(), tell);
        tables.map(|tables| tables.into_iter().map(|(_, batch)| batch.num_rows().to_string() + " ").collect())
    },
    |recording, tell| maps::mappings(recording, tell).map(|batch| format!("{:?}", rows(&batch))),
    |recording, tell| {
        recording.samples(&recording.events[0].name, None, tell).map(|batch| batch.num_rows().to_string())
    },
    |recording, tell| {
        ledger::run(recording, &Request::default(), tell).map(|output| format!("{:?}", rows(&output.sums)))
    },
];

/// What a pass gives where a file is changed as it first tells how far it is; `None` of one that never tells.
fn changed(files: &Files, which: usize, pass: Pass, change: fn(&Path)) -> Option<Result<String, String>> {
    let folder = TempDir::new().expect("makes a folder");
    let paths: Vec<PathBuf> = files.iter().map(|(name, _)| folder.path().join(name)).collect();
    for (path, (_, bytes)) in paths.iter().zip(files) {
        std::fs::create_dir_all(path.parent().expect("a folder")).and_then(|()| write(path, bytes)).expect("writes");
        let times = FileTimes::new().set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000));
        File::options().write(true).open(path).and_then(|file| file.set_times(times)).expect("sets the time");
    }
    let whole = if files.len() > 1 { folder.path() } else { &paths[0] };
    let recording = open(whole.to_str().expect("a name"), None, &mut || true).expect("a capture");
    let mut left = Some(&paths[which]);
    let found = pass(&recording, &mut |_| {
        left.take().into_iter().for_each(|path| change(path));
        true
    });
    left.is_none().then(|| found.map_err(|error| error.to_string()))
}

#[test]
fn a_pass_over_what_changes_says_so_in_a_line() {
    for (is_large, (kind, files)) in
        [false, true].into_iter().flat_map(|large| captures(large).into_iter().map(move |one| (large, one)))
    {
        let which =
            |file: &(String, Vec<u8>)| files.len() == 1 || file.0.starts_with("data") || file.0.ends_with("raw");
        let changeable: Vec<usize> = (0..files.len()).filter(|&at| which(&files[at])).collect();
        let mut told = 0;
        // Whatever a pass reads for, it reads the file in one way.
        for (number, &pass) in PASSES.iter().enumerate().take(if is_large { 1 } else { 5 }) {
            let few = [CHANGES[0], CHANGES[3], CHANGES[6]];
            let changes = if number == 0 { &CHANGES[..] } else { &few };
            for &at in changeable.iter().take(if is_large { 1 } else { 9 }) {
                let Some(untouched) = changed(&files, at, pass, |_| ()) else { continue };
                for (change, line) in changes {
                    let found = changed(&files, at, pass, *change).expect("tells how far it is");
                    if line.is_empty() {
                        assert_eq!(found, untouched, "{kind} {number}");
                        continue;
                    }
                    let said = found.expect_err("a file that changed");
                    let name = if files.len() == 1 { "the file" } else { &files[at].0 };
                    assert!(said.starts_with(&format!("{name} {line} while ")), "{kind} {number}: {said}");
                    assert!(said.contains("; copy it ") && !said.contains('\n'), "{said}");
                    told += 1;
                }
            }
        }
        assert!(told >= 6, "{kind}");
    }
}
