//! Large blocks on huge pages: tables of millions of rows are written once from end to end, and
//! most of what that cost was the kernel handing out 4 KiB at a time.

use std::alloc::{GlobalAlloc, Layout, System};

/// The system's allocator, with a hint for blocks of many pages.
pub struct HugePages;

/// Below this a block is not worth a system call.
const LARGE: usize = 4 << 20;
const PAGE: usize = 4096;

fn advise(block: *mut u8, size: usize) {
    if size >= LARGE && !block.is_null() {
        let start = (block as usize).next_multiple_of(PAGE);
        let end = (block as usize + size) / PAGE * PAGE;
        // SAFETY: the range lies inside a block that this allocator just got; the advice changes
        // no contents, and a kernel that does not take it leaves all as it was.
        unsafe {
            libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE);
        }
    }
}

// SAFETY: every call goes to `System` unchanged.
unsafe impl GlobalAlloc for HugePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let block = System.alloc(layout);
        advise(block, layout.size());
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let block = System.alloc_zeroed(layout);
        advise(block, layout.size());
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        System.dealloc(block, layout);
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let block = System.realloc(block, layout, size);
        advise(block, size);
        block
    }
}
