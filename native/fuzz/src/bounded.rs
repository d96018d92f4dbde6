//! A bound on memory that holds to the byte. libFuzzer's own limit on single allocations needs a
//! sanitizer, which a stable toolchain has not, and its limit on resident memory does not see what
//! was allocated and never touched.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The system's allocator, with a count of what is allocated.
pub struct Counting;

static ALLOCATED: AtomicUsize = AtomicUsize::new(0);
static MAX: AtomicUsize = AtomicUsize::new(usize::MAX);

/// What reading costs that has nothing to do with the input: buffers, and tables per CPU and
/// event.
const ANY_INPUT: usize = 32 << 20;
/// A sample of a few bytes is a row in several tables.
const PER_BYTE: usize = 512;

/// Runs `what`, and ends the process where more is allocated meanwhile than `size` bytes of input
/// explain.
pub fn within<T>(size: usize, what: impl FnOnce() -> T) -> T {
    at_most(ANY_INPUT + PER_BYTE * size, what)
}

/// The same where it is more than so many bytes.
pub fn at_most<T>(bytes: usize, what: impl FnOnce() -> T) -> T {
    MAX.store(ALLOCATED.load(Relaxed) + bytes, Relaxed);
    let result = what();
    MAX.store(usize::MAX, Relaxed);
    result
}

fn add(size: usize) {
    let most = MAX.load(Relaxed);
    // A panic's own message takes what it takes.
    if ALLOCATED.fetch_add(size, Relaxed).saturating_add(size) > most && !std::thread::panicking() {
        // Saying it allocates.
        MAX.store(usize::MAX, Relaxed);
        eprintln!("{size} bytes more are beyond what an input of this size explains ({most} in all)");
        std::process::abort();
    }
}

// SAFETY: every call is the system allocator's, which fulfils the contract.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        System.alloc(layout)
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        System.alloc_zeroed(layout)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        ALLOCATED.fetch_sub(layout.size(), Relaxed);
        System.dealloc(block, layout);
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        add(size);
        ALLOCATED.fetch_sub(layout.size(), Relaxed);
        System.realloc(block, layout, size)
    }
}
