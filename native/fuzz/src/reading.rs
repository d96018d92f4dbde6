//! Everything that a capture can be asked for, as the package asks.

use std::fs::File;
use std::io::Write;
use std::os::fd::FromRawFd;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};

use netcost::events;
use netcost::ledger::{self, Output, Request, Want};
use netcost::parts::PERF_SCRIPT;
use netcost::{maps, open_file, Error, Recording};

const MAX_EVENTS: usize = 16;

/// Reads a capture in full. Damage is refused in one line; what is given instead is well-formed.
pub fn read(capture: &[u8]) {
    super::within(capture.len(), || {
        let file = in_memory(capture).expect("a file in memory");
        if let Some(recording) = given(open_file(Arc::new(file))) {
            read_tables(&recording);
        }
    });
}

fn read_tables(recording: &Recording) {
    let progress = &mut |fraction: f64| {
        assert!((0.0..=1.0).contains(&fraction), "{fraction} of the capture are read");
        true
    };
    let scan = given(events::scan(recording, progress));
    if let Some(tables) = given(events::tables(recording, None, None, &events::Within::default(), progress)) {
        tables.iter().for_each(|(_, batch)| check(batch));
    }
    let mut names: Vec<&str> = recording.events.iter().map(|event| event.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    // Many events, each with a pass of its own, would only be slow.
    let has_samples = recording.format == "perf.data" || recording.mode == PERF_SCRIPT;
    if names.len() <= MAX_EVENTS && has_samples {
        let tables = names.iter().filter_map(|name| given(recording.samples(name, None, progress)));
        let rows = tables.inspect(check).map(|batch| batch.num_rows() as u64).sum::<u64>();
        if let Some(scan) = scan {
            let counted = scan.counts.iter().sum::<u64>();
            assert!(
                rows <= counted && counted <= rows + scan.short,
                "{rows} of {counted} samples, {} of them short",
                scan.short
            );
        }
    }
    given(maps::mappings(recording, progress)).iter().for_each(check);
    given(maps::kernel_symbols(recording, progress)).iter().for_each(check);
    let request = Request { want: Want::ALL, ..Request::default() };
    if let Some(found) = given(ledger::run(recording, &request, progress)) {
        found.tables.iter().for_each(|(_, batch)| check(batch));
        [&found.sums, &found.displaced, &found.irqs].into_iter().for_each(check);
        check_conserved(&found);
    }
}

/// Every nanosecond of every CPU has one owner.
fn check_conserved(found: &Output) {
    let owned = found.sums.column_by_name("ns").expect("sums have times");
    let owned: i128 = owned.as_primitive::<Int64Type>().values().iter().copied().map(i128::from).sum();
    let (start, end) = found.window;
    assert_eq!(owned, i128::from(end - start) * found.cpus.len() as i128);
}

fn given<T>(result: Result<T, Error>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(Error::Capture { message: said, .. }) => {
            assert!(!said.is_empty() && !said.contains('\n'), "{said:?}");
            None
        }
        Err(Error::Io(error)) => panic!("a file in memory does not fail: {error}"),
    }
}

/// Whether lengths, offsets, dictionary keys and text are what Arrow promises to whoever takes the
/// table over without looking.
fn check(batch: &RecordBatch) {
    for column in batch.columns() {
        column.to_data().validate_full().expect("a well-formed column");
        assert_eq!(column.len(), batch.num_rows());
    }
}

fn in_memory(capture: &[u8]) -> std::io::Result<File> {
    // SAFETY: the name is NUL-terminated; a descriptor that is not -1 is new and nobody else's.
    let mut file = unsafe {
        match libc::memfd_create(c"capture".as_ptr(), libc::MFD_CLOEXEC) {
            -1 => return Err(std::io::Error::last_os_error()),
            descriptor => File::from_raw_fd(descriptor),
        }
    };
    file.write_all(capture)?;
    Ok(file)
}
