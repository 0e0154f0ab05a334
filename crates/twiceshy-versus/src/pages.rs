//! Memory that is the same for both sides.
//!
//! twiceshy keeps a large table in an anonymous map that asks for huge pages; the peers take what the
//! allocator gives them, which means small pages, and often memory that was used before and costs no page
//! faults. Measured like that, the pages are compared and not the filters. So this program's allocator
//! treats every large allocation as twiceshy treats its tables: a fresh anonymous map with the same
//! request. With `--pages small` the kernel refuses the request for the whole process, again for both
//! sides. How many bytes of each table really lie in huge pages is read from the kernel and reported.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// The pages of both tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Pages {
    /// Huge pages for every large allocation of either side.
    Huge,
    /// Small pages for all of them.
    Small,
}

impl Pages {
    /// Makes it so for this process. Has to come before the first large allocation.
    pub(crate) fn apply(self) -> Result<(), String> {
        #[cfg(target_os = "linux")]
        if self == Self::Small {
            rustix::thread::disable_transparent_huge_pages(true)
                .map_err(|error| format!("cannot switch huge pages off: {error}"))?;
        }
        Ok(())
    }
}

/// Memory that is never touched, to lie next to a table.
///
/// A huge page starts at a multiple of 2 MiB and must lie in one map. A table starts anywhere, so the
/// pages at its ends may be small, and how many are is luck that differs between the sides. The kernel puts
/// maps next to each other and joins them if they asked for the same; between two cushions a table can have
/// huge pages to its very ends.
pub(crate) struct Cushion(#[expect(dead_code, reason = "only its place counts")] Vec<u8>);

impl Cushion {
    pub(crate) fn new() -> Self {
        // Not a multiple of 2 MiB: such maps are aligned and leave gaps.
        Self(Vec::with_capacity((4 << 20) + 4096))
    }
}

/// What the kernel says about huge pages, if it is one that has them: `always [madvise] never`.
pub(crate) fn kernel_setting() -> Option<String> {
    let setting = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").ok()?;
    Some(setting.trim().to_owned())
}

/// How many bytes of this process lie in huge pages. 0 where the kernel does not tell.
fn huge_bytes() -> u64 {
    proc_bytes("/proc/self/smaps_rollup", "AnonHugePages:").unwrap_or(0)
}

/// Does `work` and tells how many bytes more lie in huge pages since.
pub(crate) fn huge_bytes_of<R>(work: impl FnOnce() -> R) -> (R, u64) {
    let before = huge_bytes();
    let result = work();
    (result, huge_bytes().saturating_sub(before))
}

/// The bytes of memory that this process has now.
pub(crate) fn resident_bytes() -> Option<u64> {
    proc_bytes("/proc/self/status", "VmRSS:")
}

/// The most bytes of memory that this process ever had.
pub(crate) fn peak_bytes() -> Option<u64> {
    proc_bytes("/proc/self/status", "VmHWM:")
}

fn proc_bytes(file: &str, field: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let rest = text.lines().find_map(|line| line.strip_prefix(field))?;
    let kib: u64 = rest.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(target_os = "linux")]
mod allocator {
    #![expect(unsafe_code, reason = "an allocator deals in raw memory")]

    use std::alloc::{GlobalAlloc, Layout, System};
    use std::ptr::{self, null_mut};

    use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

    /// From this size on an allocation is mapped. The same as for twiceshy's tables.
    const MAP_FROM: usize = 4 << 20;

    /// Aligned like this at least is every map.
    const PAGE: usize = 4096;

    /// The system's allocator, except that large allocations are anonymous maps that ask for huge pages.
    struct Alike;

    #[global_allocator]
    static ALLOCATOR: Alike = Alike;

    fn is_mapped(layout: Layout) -> bool {
        layout.size() >= MAP_FROM && layout.align() <= PAGE
    }

    fn map(size: usize) -> *mut u8 {
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        // SAFETY: a new map at an address of the kernel's choice touches no memory that is in use.
        let Ok(start) = (unsafe { mmap_anonymous(null_mut(), size, protection, flags) }) else {
            return null_mut();
        };
        // SAFETY: the range is the map just made; the advice changes none of its bytes. It is a hint, and
        // a kernel that refuses it is reported by the count of huge bytes.
        let _ = unsafe { madvise(start, size, Advice::LinuxHugepage) };
        start.cast()
    }

    // SAFETY: a layout decides alone whether it is mapped, so that memory goes back to where it came
    // from. Maps are as large as asked, zeroed, and aligned to a page, which is enough for `is_mapped`.
    unsafe impl GlobalAlloc for Alike {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            if is_mapped(layout) {
                return map(layout.size());
            }
            // SAFETY: the caller keeps the contract of `alloc`.
            unsafe { System.alloc(layout) }
        }

        unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
            if is_mapped(layout) {
                return map(layout.size());
            }
            // SAFETY: the caller keeps the contract of `alloc_zeroed`.
            unsafe { System.alloc_zeroed(layout) }
        }

        unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
            if is_mapped(layout) {
                // SAFETY: memory of such a layout is a map of this size, and the caller gives it up. It
                // cannot fail for a whole map, and if it did, the memory would merely stay.
                let _ = unsafe { munmap(memory.cast(), layout.size()) };
                return;
            }
            // SAFETY: memory of any other layout is the system's.
            unsafe { System.dealloc(memory, layout) }
        }

        unsafe fn realloc(&self, memory: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
            // SAFETY: the caller promises that the new size is fine for this alignment.
            let new_layout = unsafe { Layout::from_size_align_unchecked(new_size, layout.align()) };
            if !is_mapped(layout) && !is_mapped(new_layout) {
                // SAFETY: the memory is the system's and stays there.
                return unsafe { System.realloc(memory, layout, new_size) };
            }
            // SAFETY: the new layout is valid and, like the old one, not empty.
            let new = unsafe { self.alloc(new_layout) };
            if !new.is_null() {
                // SAFETY: both are valid for the smaller size and do not overlap; the old memory came
                // from here with this layout and is not used again.
                unsafe {
                    ptr::copy_nonoverlapping(memory, new, layout.size().min(new_size));
                    self.dealloc(memory, layout);
                }
            }
            new
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn large_allocations_start_at_zero_and_survive_growth() {
        let mut bytes = vec![0u8; 5 << 20];
        assert!(bytes.iter().all(|&byte| byte == 0));
        bytes.fill(7);
        bytes.reserve_exact(20 << 20);
        bytes.resize(25 << 20, 9);
        assert!(bytes[..5 << 20].iter().all(|&byte| byte == 7));
        bytes.truncate(100);
        bytes.shrink_to_fit();
        assert_eq!(bytes, [7; 100]);
    }
}
