//! Memory that is touched on purpose: the resident array, and pages touched for the first time.
//!
//! Mapped directly and not allocated: an allocator keeps and reuses pages, which would hide their faults.

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// An anonymous mapping of small pages that no allocator shares.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: *mut u8,
    length: usize,
}

impl Mapping {
    /// Maps at least `bytes`; nothing is touched yet. Zero bytes map nothing.
    pub fn new(bytes: usize) -> std::io::Result<Mapping> {
        if bytes == 0 {
            return Ok(Mapping { start: std::ptr::null_mut(), length: 0 });
        }
        let page = page_bytes();
        let length = bytes.div_ceil(page).checked_mul(page).ok_or(std::io::ErrorKind::OutOfMemory)?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a fresh anonymous mapping at an address of the kernel's choice overlaps nothing.
        let start = unsafe { mmap_anonymous(std::ptr::null_mut(), length, protection, MapFlags::PRIVATE)? };
        let mapping = Mapping { start: start.cast(), length };
        // One page is one fault: a huge page would serve 512 of them at once. A kernel without huge pages
        // refuses the advice, which is as good.
        // SAFETY: the range is the mapping made above.
        let _ = unsafe { madvise(start, length, Advice::LinuxNoHugepage) };
        Ok(mapping)
    }

    /// Writes `value` to each page.
    pub fn touch(&mut self, value: u8) {
        for offset in (0..self.length).step_by(page_bytes()) {
            // SAFETY: `offset` is inside the mapping, which is writable and belongs to `self` alone. Volatile,
            // because the compiler may not leave out a write that nobody reads.
            unsafe { self.start.add(offset).write_volatile(value) };
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if self.length > 0 {
            // SAFETY: the range was mapped by `new`, and no reference into it exists.
            let _ = unsafe { munmap(self.start.cast(), self.length) };
        }
    }
}

/// Size of a page [byte].
pub(crate) fn page_bytes() -> usize {
    rustix::param::page_size()
}

/// The dummy array that determines the size of a process.
#[derive(Debug)]
pub(crate) struct Array(Mapping);

impl Array {
    /// An array of `bytes` bytes, rounded up to whole pages, all of them in main memory.
    pub fn resident(bytes: u64) -> std::io::Result<Array> {
        let bytes = usize::try_from(bytes).map_err(|_| std::io::ErrorKind::OutOfMemory)?;
        let mut mapping = Mapping::new(bytes)?;
        mapping.touch(1);
        Ok(Array(mapping))
    }

    /// Writes to every page, so that all of it must be in main memory.
    pub fn touch(&mut self, value: u64) {
        self.0.touch(value as u8);
    }
}

/// Touches `pages` pages for the first time and returns them to the kernel.
pub(crate) fn touch_fresh(pages: u64) -> std::io::Result<()> {
    let bytes = usize::try_from(pages).ok().and_then(|pages| pages.checked_mul(page_bytes()));
    Mapping::new(bytes.ok_or(std::io::ErrorKind::OutOfMemory)?)?.touch(1);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::user::usage::Usage;

    #[test]
    fn each_fresh_page_is_one_minor_fault() {
        // The other threads of the test process fault too, so the count is a lower bound here; the exact
        // count is checked on a prototype process, which is alone.
        let before = Usage::now();
        touch_fresh(500).expect("memory");
        assert!(Usage::now().since(&before).page_faults_minor >= 500);
    }

    #[test]
    fn nothing_and_too_much() {
        touch_fresh(0).expect("nothing is always there");
        assert!(touch_fresh(u64::MAX).is_err());
        Array::resident(1).expect("a byte").touch(3);
    }
}
