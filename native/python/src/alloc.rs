//! Large blocks on huge pages: tables of millions of rows are written once from end to end, and
//! most of what that cost was the kernel handing out 4 KiB at a time.

use std::alloc::{GlobalAlloc, Layout, System};

/// The system's allocator; blocks of at least one huge page begin on one and ask for them.
pub struct HugePages;

const HUGE_PAGE: usize = 2 << 20;

fn aligned(layout: Layout) -> Layout {
    // Only a size near the address space's end fails, and that fails in the allocator anyway.
    layout.align_to(HUGE_PAGE).unwrap_or(layout)
}

fn advise(block: *mut u8, size: usize) {
    if !block.is_null() {
        // SAFETY: the range lies inside a block that this allocator just got; the advice changes
        // no contents, and a kernel that does not take it leaves all as it was.
        unsafe {
            libc::madvise(block.cast(), size, libc::MADV_HUGEPAGE);
        }
    }
}

// SAFETY: every block comes from `System` with at least the alignment asked for. `System` frees
// by address alone, so the alignment need not be repeated to it.
unsafe impl GlobalAlloc for HugePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() < HUGE_PAGE {
            return System.alloc(layout);
        }
        let block = System.alloc(aligned(layout));
        advise(block, layout.size());
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // Fresh pages are zero already, which the system's allocator knows and this one does not.
        System.alloc_zeroed(layout)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        System.dealloc(block, layout);
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if size < HUGE_PAGE || size <= layout.size() {
            return System.realloc(block, layout, size);
        }
        let Ok(wanted) = Layout::from_size_align(size, layout.align()) else { return std::ptr::null_mut() };
        let moved = self.alloc(wanted);
        if !moved.is_null() {
            std::ptr::copy_nonoverlapping(block, moved, layout.size());
            self.dealloc(block, layout);
        }
        moved
    }
}
