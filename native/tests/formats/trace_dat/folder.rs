//! Copies of tracefs: what a folder says of itself, and what may and must not be missing in it. That it has the events of
//! a trace.dat of the same rings: tests/formats/trace_dat/test_folder.py.

use std::fs::{create_dir_all, write};

use netcost::events::{self, Within};
use netcost::{open, Recording, Result, Unit};
use tempfile::TempDir;

use super::written::{Dat, Machine, MACHINES, PAGE, S, X86_64};

/// Of these CPUs with 600 events each, without what is left out.
fn opened(files: &[(String, Vec<u8>)], without: &str) -> Result<Recording> {
    let folder = TempDir::new().expect("a folder");
    for (path, bytes) in files.iter().filter(|file| !file.0.starts_with(without)) {
        let path = folder.path().join(path);
        create_dir_all(path.parent().expect("a folder")).and_then(|()| write(&path, bytes)).expect("written");
    }
    open(folder.path().to_str().expect("a name"), None, &mut || true)
}

fn files(machine: Machine) -> Vec<(String, Vec<u8>)> {
    let events: Vec<(u64, u32)> = (0..600).map(|at| (S + at, 1)).collect();
    Dat::of(machine, 7, (0..3).map(|cpu| (cpu, machine.ring(255, &events))).collect()).clocked("boot", &[]).folder()
}

// A folder does not say how many CPUs the host had, and need not have its other files.
#[test]
fn a_folder_says_what_it_was() {
    for machine in MACHINES {
        let mut files = files(machine);
        files.push(("uname".to_owned(), b"Linux described 6.18.0 x86_64\n".to_vec()));
        let recording = opened(&files, "none").expect("a copy");
        assert_eq!((recording.format, recording.order, recording.unit), ("tracefs", machine.order, Unit::Nanoseconds));
        assert_eq!((recording.clock.as_str(), recording.resolution_ns, &recording.notes[..]), ("boot", 1, &[][..]));
        let host = &recording.host;
        assert_eq!((host.long_bytes, host.nr_cpus), (Some(machine.word as u8), None));
        assert_eq!(host.uname.as_deref(), Some("Linux described 6.18.0 x86_64"));
        for without in ["header_page", "per_cpu", "events"] {
            assert!(opened(&files, without).is_err(), "{without}");
        }
    }
}

// A CPU whose file is empty, one whose last page is cut, and files beside.
#[test]
fn what_may_be_missing() {
    let mut files = files(X86_64);
    for (path, bytes) in &mut files {
        match path.as_str() {
            "per_cpu/cpu0/raw" => bytes.clear(),
            "per_cpu/cpu1/raw" => bytes.truncate(2 * PAGE + 100),
            _ => {}
        }
    }
    files.push(("README".to_owned(), b"copied by hand\n".to_vec()));
    let recording = opened(&files, "trace_clock").expect("a copy");
    let scan = events::scan(&recording, &mut |_| true).expect("a pass");
    assert_eq!((scan.counts, scan.cpus), (vec![510 + 600], vec![1, 2]));
    assert!(recording.notes.iter().chain(&scan.tally.notes).any(|note| note.contains("CPU 1")));
    let tables = events::tables(&recording, None, None, &Within::default(), &mut |_| true).expect("tables");
    assert_eq!(tables[0].1.num_rows(), 1110);
}
