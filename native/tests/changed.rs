//! A file that changes while it is opened, and a caller who does not wait: one error, whatever is
//! copied out of it first.

use std::fs::{write, File};
use std::io::Write;
use std::path::Path;

use flate2::write::GzEncoder;
use netcost::{open, Error, ErrorKind};
use tempfile::TempDir;

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
            "the file became shorter while it was read: 9 bytes of {}; copy it when its writer has ended, and read the copy",
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
