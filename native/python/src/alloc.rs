//! Large blocks on huge pages: tables of millions of rows are written once from end to end, and
//! most of what that cost was the kernel handing out 4 KiB at a time.

use std::alloc::{GlobalAlloc, Layout, System};

/// The system's allocator; blocks of at least one huge page ask for huge ones.
pub struct HugePages;

const HUGE_PAGE: usize = 2 << 20;

fn advise(block: *mut u8, size: usize) -> *mut u8 {
    if size >= HUGE_PAGE && !block.is_null() {
        let before = block.align_offset(HUGE_PAGE).min(size);
        // SAFETY: the range lies inside a block that this allocator just got; the advice changes no contents, and a
        // kernel that does not take it leaves all as it was.
        unsafe {
            libc::madvise(block.add(before).cast(), size - before, libc::MADV_HUGEPAGE);
        }
    }
    block
}

// SAFETY: every block is `System`'s, asked for and given back with the caller's own layout.
unsafe impl GlobalAlloc for HugePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        advise(System.alloc(layout), layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // Fresh pages are zero already, which the system's allocator knows and this one does not.
        System.alloc_zeroed(layout)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        System.dealloc(block, layout);
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        advise(System.realloc(block, layout, size), size)
    }
}
