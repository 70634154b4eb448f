//! What every process here needs of the kernel, forked or not.

/// Repeats a system call that a signal interrupted.
pub(crate) fn retry<T>(mut call: impl FnMut() -> rustix::io::Result<T>) -> rustix::io::Result<T> {
    loop {
        match call() {
            Err(rustix::io::Errno::INTR) => {}
            result => return result,
        }
    }
}

/// Ends this process at once: no destructor, no handler of the program that it was forked from.
pub(crate) fn exit_now(status: i32) -> ! {
    // SAFETY: _exit is async-signal-safe, takes any status, and does not return.
    unsafe { libc::_exit(status) }
}
