use std::fs::read_dir;

use tempfile::{tempdir, TempDir};

use super::*;

/// A bundle of a manifest and these files, zstd-compressed, in a folder of its own.
fn bundle(files: &[(&str, Vec<u8>)]) -> (TempDir, PathBuf) {
    let manifest = ("manifest.json", b"{}".to_vec());
    let files: Vec<&(&str, Vec<u8>)> = std::iter::once(&manifest).chain(files).collect();
    let sum = |data: &[u8]| Sha256::digest(data).iter().map(|byte| format!("{byte:02X}")).collect::<String>();
    let sums: String = files.iter().map(|(name, data)| format!("{} *./{name}\n", sum(data))).collect();
    let mut archive = tar::Builder::new(Vec::new());
    let sums = (SUMS, sums.into_bytes());
    for (name, data) in std::iter::once(&sums).chain(files) {
        let mut header = Header::new_gnu();
        header.set_size(data.len() as u64);
        archive.append_data(&mut header, format!("bundle/{name}"), data.as_slice()).expect("in memory");
    }
    let folder = tempdir().expect("a folder");
    let path = folder.path().join("b.tar.zst");
    let data = zstd::encode_all(archive.into_inner().expect("in memory").as_slice(), 1).expect("in memory");
    std::fs::write(&path, data).expect("written");
    std::fs::create_dir(folder.path().join("out")).expect("created");
    (folder, path)
}

fn unpacked(path: &Path, bounds: &Bounds, waiting: Waiting<'_>) -> Result<PathBuf> {
    unpack_within(path, &path.with_file_name("out"), bounds, waiting)
}

/// Bytes in files below a folder.
fn written(folder: &Path) -> u64 {
    let entries = read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry"));
    let bytes = |kind: std::fs::Metadata, path: PathBuf| if kind.is_dir() { written(&path) } else { kind.len() };
    entries.map(|entry| bytes(entry.metadata().expect("metadata"), entry.path())).sum()
}

#[test]
fn capitals_stars_and_dots_of_checksums_are_read() {
    let (folder, path) = bundle(&[("before/stat", b"cpu".to_vec())]);
    let top = unpack(&path, &folder.path().join("out"), &mut || true).expect("whole");
    assert_eq!(std::fs::read(top.join("before/stat")).expect("written"), b"cpu");
    let names = named_first(&path).expect("whole").expect("they come first");
    assert_eq!(names, [b"before/stat".to_vec(), b"manifest.json".to_vec()]);
}

#[test]
fn a_bomb_is_refused_before_it_is_written() {
    // One file claims the whole size in its header; of many, each is small.
    for (files, most) in [(320, 4 << 20), (1, 0)] {
        let names: Vec<String> = (0..files).map(|number| format!("zeros{number}")).collect();
        let files: Vec<_> = names.iter().map(|name| (name.as_str(), vec![0; (80 << 20) / names.len()])).collect();
        let (folder, path) = bundle(&files);
        let refused = unpacked(&path, &Bounds { unchecked: 4 << 20, ..BOUNDS }, &mut || true);
        assert!(refused.expect_err("80 MiB are too many").to_string().contains("it unpacks to more than"));
        assert!(written(&folder.path().join("out")) <= most + 100_000);
    }
}

#[test]
fn an_archive_of_many_files_is_no_bundle() {
    let (_folder, path) = bundle(&[("one", vec![1]), ("two", vec![2])]);
    assert!(unpacked(&path, &Bounds { files: 4, ..BOUNDS }, &mut || true).is_ok());
    let (_folder, path) = bundle(&[("one", vec![1]), ("two", vec![2])]);
    let refused = unpacked(&path, &Bounds { files: 3, ..BOUNDS }, &mut || true).expect_err("a fourth");
    assert!(refused.to_string().contains("more than 3 files"));
}

#[test]
fn it_ends_when_the_caller_asks() {
    let (_folder, path) = bundle(&[("large", vec![7; 3 << 20])]);
    let mut asked = 0;
    let ended = unpacked(&path, &BOUNDS, &mut || (asked += 1, asked < 2).1).expect_err("asked to end");
    assert!(matches!(ended, Error::Capture { kind: crate::ErrorKind::Interrupted, .. }));
    assert_eq!(asked, 2);
}
