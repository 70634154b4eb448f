//! Hints to the processor about memory that will be needed soon: results do not depend on them.

/// Has the processor fetch `items[index]`, if there is such an item: with many users it is far away, and whoever waits
/// for it waits for longer than an event takes.
#[inline(always)]
pub fn fetch<T>(items: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(item) = items.get(index) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the address is that of an item, and fetching changes nothing but the cache.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(item).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (items, index);
}
