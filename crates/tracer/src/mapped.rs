//! The memory of a map of the kernel in this process: read while the programs write to it, without a system call.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// An array map, mapped.
#[derive(Debug)]
pub(crate) struct Mapped {
    start: NonNull<libc::c_void>,
    bytes: usize,
    // Kept open: the map lives as long as somebody holds it.
    _map: OwnedFd,
}

// SAFETY: the memory belongs to this value alone, and is accessed by atomic loads and stores.
unsafe impl Send for Mapped {}
// SAFETY: as above.
unsafe impl Sync for Mapped {}

impl Mapped {
    /// Maps an array map with `bytes` bytes in its elements.
    pub fn new(map: OwnedFd, bytes: usize, is_writable: bool) -> io::Result<Mapped> {
        let protection = if is_writable { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
        // SAFETY: a new mapping at an address of the kernel's choice; nothing else refers to it.
        let start =
            unsafe { mmap(std::ptr::null_mut(), bytes, protection, MapFlags::SHARED, map.as_fd(), 0) }?;
        let start = NonNull::new(start).ok_or_else(|| io::Error::other("mapped at address 0"))?;
        Ok(Mapped { start, bytes, _map: map })
    }

    /// The number of 64 bits at `offset` [byte].
    pub fn u64(&self, offset: usize) -> u64 {
        assert!(offset % 8 == 0 && offset + 8 <= self.bytes, "offset {offset} of {} bytes", self.bytes);
        // SAFETY: within the mapping and aligned, as asserted; the mapping lives as long as `self`.
        let place = unsafe { &*self.start.as_ptr().byte_add(offset).cast::<AtomicU64>() };
        place.load(Ordering::Acquire)
    }

    /// Puts a number of 64 bits at `offset` [byte]; the memory is mapped for writing.
    pub fn put_u64(&self, offset: usize, value: u64) {
        assert!(offset % 8 == 0 && offset + 8 <= self.bytes, "offset {offset} of {} bytes", self.bytes);
        // SAFETY: as above; this process and the programs write to different fields.
        let place = unsafe { &*self.start.as_ptr().byte_add(offset).cast::<AtomicU64>() };
        place.store(value, Ordering::Release);
    }

    /// Puts a number of 32 bits at `offset` [byte] if `expected` is there; true if it was.
    pub fn replace_u32(&self, offset: usize, expected: u32, value: u32) -> bool {
        assert!(offset % 4 == 0 && offset + 4 <= self.bytes, "offset {offset} of {} bytes", self.bytes);
        // SAFETY: as above; the programs replace it in the same way.
        let place = unsafe { &*self.start.as_ptr().byte_add(offset).cast::<AtomicU32>() };
        place.compare_exchange(expected, value, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// The words from `offset` [byte] on.
    pub fn words<const N: usize>(&self, offset: usize) -> [u64; N] {
        assert!(offset % 8 == 0 && offset + 8 * N <= self.bytes, "offset {offset} of {} bytes", self.bytes);
        // SAFETY: within the mapping and aligned, as asserted.
        let first = unsafe { self.start.as_ptr().byte_add(offset).cast::<AtomicU64>() };
        std::array::from_fn(|index| {
            // SAFETY: one of the words above; the mapping lives as long as `self`.
            let place = unsafe { &*first.add(index) };
            place.load(Ordering::Relaxed)
        })
    }

    /// The number of 32 bits at `offset` [byte].
    pub fn u32(&self, offset: usize) -> u32 {
        assert!(offset % 4 == 0 && offset + 4 <= self.bytes, "offset {offset} of {} bytes", self.bytes);
        // SAFETY: as above.
        let place = unsafe { &*self.start.as_ptr().byte_add(offset).cast::<AtomicU32>() };
        place.load(Ordering::Acquire)
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new`, and no reference to it outlives `self`.
        let _ = unsafe { munmap(self.start.as_ptr(), self.bytes) };
    }
}
