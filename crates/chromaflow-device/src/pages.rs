#![allow(unsafe_code)]
//! The memory of a program whose arrays are large.

use std::alloc::{GlobalAlloc, Layout, System};

/// An allocator that takes arrays of 32 MiB and more from the system and asks for large pages there (Linux); all else is
/// [`System`]'s, which keeps what is freed for the next array of that size.
///
/// A page that is touched for the first time costs microseconds, above all within a virtual machine, and threads of one process wait for one
/// another there. Large pages are 512 times fewer. Such memory is zero before it is written, whichever thread writes it first, and
/// is given back as soon as it is freed.
///
/// ```
/// use chromaflow_device::LargePages;
/// #[global_allocator]
/// static MEMORY: LargePages = LargePages;
/// let mut all = vec![0_u64; 4 << 20];
/// all.resize(5 << 20, 7);
/// assert_eq!((all[(4 << 20) - 1], all[4 << 20]), (0, 7));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct LargePages;

#[cfg(target_os = "linux")]
mod linux {
    use libc::{
        MADV_HUGEPAGE, MAP_ANONYMOUS, MAP_FAILED, MAP_PRIVATE, MREMAP_MAYMOVE, PROT_READ, PROT_WRITE,
        madvise, mmap, mremap, munmap,
    };
    use std::alloc::Layout;
    use std::ptr::null_mut;

    /// Bytes of a large page.
    const LARGE_PAGE: usize = 2 << 20;
    /// Bytes from which glibc, too, asks the system for each array and gives it back at once.
    const LARGE: usize = 32 << 20;
    /// A multiple of every usual page.
    const PAGES: usize = 1 << 16;

    /// Whether an array is mapped by itself; the same for all its life, but where it is reallocated.
    pub fn is_large(layout: &Layout) -> bool {
        layout.size() >= LARGE && layout.align() <= 4096
    }

    /// Bytes that are mapped for an array of so many.
    fn whole(size: usize) -> usize {
        size.next_multiple_of(PAGES)
    }

    /// New memory of zeros that begins with a large page; null where there is none.
    pub fn map(size: usize) -> *mut u8 {
        let length = whole(size);
        // SAFETY: new memory, of which what lies before and behind the array is given back.
        unsafe {
            let start = mmap(
                null_mut(),
                length + LARGE_PAGE,
                PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS,
                -1,
                0,
            );
            if start == MAP_FAILED {
                return null_mut();
            }
            let before = start.cast::<u8>().align_offset(LARGE_PAGE);
            let at = start.byte_add(before);
            if before > 0 {
                munmap(start, before);
            }
            if before < LARGE_PAGE {
                munmap(at.byte_add(length), LARGE_PAGE - before);
            }
            // A refusal costs speed at most.
            madvise(at, length, MADV_HUGEPAGE);
            at.cast()
        }
    }

    /// Gives memory of [`map`] back.
    ///
    /// # Safety
    /// It is of this size, and nobody uses it any more.
    pub unsafe fn unmap(at: *mut u8, size: usize) {
        // SAFETY: as the caller says.
        unsafe { munmap(at.cast(), whole(size)) };
    }

    /// Memory of [`map`] with another size, both large, and what is in it, maybe elsewhere; null where there is none.
    ///
    /// # Safety
    /// As of [`unmap`], if it is not null.
    pub unsafe fn remap(at: *mut u8, size: usize, new: usize) -> *mut u8 {
        // SAFETY: as the caller says.
        let to = unsafe { mremap(at.cast(), whole(size), whole(new), MREMAP_MAYMOVE) };
        if to == MAP_FAILED { null_mut() } else { to.cast() }
    }
}

// SAFETY: memory of both sources is the caller's alone until it is freed; which source it is from follows from the layout, which is the same when it is
// freed.
#[cfg(target_os = "linux")]
unsafe impl GlobalAlloc for LargePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if linux::is_large(&layout) {
            return linux::map(layout.size());
        }
        // SAFETY: as the caller says.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if linux::is_large(&layout) {
            return linux::map(layout.size());
        }
        // SAFETY: as the caller says.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as the caller says; the source is that of `alloc`.
        unsafe {
            if linux::is_large(&layout) {
                linux::unmap(at, layout.size());
            } else {
                System.dealloc(at, layout);
            }
        }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's size does not overflow with this alignment.
        let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        // SAFETY: as the caller says; both arrays hold what is copied, and the old one is freed once.
        unsafe {
            match (linux::is_large(&layout), linux::is_large(&new)) {
                (true, true) => linux::remap(at, layout.size(), size),
                (false, false) => System.realloc(at, layout, size),
                _ => {
                    let to = self.alloc(new);
                    if !to.is_null() {
                        at.copy_to_nonoverlapping(to, layout.size().min(size));
                        self.dealloc(at, layout);
                    }
                    to
                }
            }
        }
    }
}

// SAFETY: the system's.
#[cfg(not(target_os = "linux"))]
unsafe impl GlobalAlloc for LargePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller says.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as the caller says.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller says.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller says.
        unsafe { System.realloc(at, layout, size) }
    }
}

/// Lets the allocator keep what is freed (glibc), but for arrays of 32 MiB and more, until [`give_back_freed`](crate::give_back_freed): one pass over
/// a mesh after another asks for as much again. For the beginning of a program.
pub fn keep_freed() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        use libc::{M_MMAP_THRESHOLD, M_TOP_PAD, M_TRIM_THRESHOLD, mallopt};
        for (parameter, value) in
            [(M_TRIM_THRESHOLD, 1 << 30), (M_TOP_PAD, 8 << 20), (M_MMAP_THRESHOLD, 32 << 20)]
        {
            // SAFETY: sets a number of the allocator, which takes what it can.
            unsafe { mallopt(parameter, value) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::LargePages;
    use std::alloc::{GlobalAlloc, Layout};

    /// Sizes around the smallest large one and above, up, down and through it: what was written stays, and new memory that is asked for as zeros is zero.
    #[test]
    fn arrays_keep_what_is_in_them_through_all_sizes() {
        let large = 32 << 20;
        let sizes = [1000, large - 1, large, large + 1, 3 * large + 12345, 2 * large, large - 1, 17];
        for align in [1, 4096, 1 << 16] {
            let layout = |size| Layout::from_size_align(size, align).unwrap();
            // SAFETY: every pointer is used with the layout that it was made with, and within it.
            unsafe {
                for size in sizes {
                    let at = LargePages.alloc_zeroed(layout(size));
                    assert!(!at.is_null() && at.align_offset(align) == 0);
                    assert!(std::slice::from_raw_parts(at, size).iter().all(|&byte| byte == 0));
                    LargePages.dealloc(at, layout(size));
                }
                let (mut at, mut size, mut kept) = (LargePages.alloc(layout(8)), 8, 8);
                (0..8).for_each(|k| *at.add(k) = k as u8);
                for new in sizes {
                    at = LargePages.realloc(at, layout(size), new);
                    assert!(!at.is_null() && at.align_offset(align) == 0);
                    (size, kept) = (new, kept.min(new));
                    let all = std::slice::from_raw_parts_mut(at, size);
                    assert!(all[..kept].iter().enumerate().all(|(k, &byte)| byte == k as u8), "{size} bytes");
                    all.iter_mut().enumerate().for_each(|(k, byte)| *byte = k as u8);
                    kept = size;
                }
                LargePages.dealloc(at, layout(size));
            }
        }
    }
}
