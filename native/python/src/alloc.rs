//! Large blocks on huge pages: tables of millions of rows are written once from end to end, and
//! most of what that cost was the kernel handing out 4 KiB at a time.

use std::alloc::{GlobalAlloc, Layout, System};

/// The system's allocator; blocks of at least one huge page begin on one and ask for them.
pub struct HugePages;

const HUGE_PAGE: usize = 2 << 20;

/// What the system is asked for, and gets back, for a block of this layout.
fn placed(layout: Layout) -> Layout {
    // Only a size near the address space's end fails, and that fails in the allocator anyway.
    let aligned = if layout.size() < HUGE_PAGE { Ok(layout) } else { layout.align_to(HUGE_PAGE) };
    aligned.unwrap_or(layout)
}

// SAFETY: every block is `System`'s, by the layout that `placed` makes of the caller's, which is aligned no less.
unsafe impl GlobalAlloc for HugePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let block = System.alloc(placed(layout));
        if layout.size() >= HUGE_PAGE && !block.is_null() {
            // SAFETY: the range is the block that was just got; the advice changes no contents, and a kernel that does
            // not take it leaves all as it was.
            libc::madvise(block.cast(), layout.size(), libc::MADV_HUGEPAGE);
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        System.dealloc(block, placed(layout));
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if layout.size().max(size) < HUGE_PAGE {
            return System.realloc(block, layout, size);
        }
        let Ok(wanted) = Layout::from_size_align(size, layout.align()) else { return std::ptr::null_mut() };
        let moved = self.alloc(wanted);
        if !moved.is_null() {
            std::ptr::copy_nonoverlapping(block, moved, layout.size().min(size));
            self.dealloc(block, layout);
        }
        moved
    }
}

/// Gives back what a pass has freed. glibc keeps it for each thread, and a page of a large capture takes several passes: it
/// held a hundred megabytes more.
pub fn give_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it touches nothing that is in use.
    unsafe {
        libc::malloc_trim(0);
    }
}
