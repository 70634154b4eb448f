//! What every process here needs of the kernel, forked or not.

use std::ffi::CStr;

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

/// A child process that ends at once, by itself or as /bin/true, and is waited for.
pub(crate) fn fork_and_wait(execute: bool) -> std::io::Result<()> {
    const TRUE: &CStr = c"/bin/true";
    // SAFETY: this process has one thread; the child calls only execv, with a null-terminated array of
    // null-terminated strings that live for ever, and _exit.
    let child = match unsafe { libc::fork() } {
        0 => {
            if execute {
                unsafe { libc::execv(TRUE.as_ptr(), [TRUE.as_ptr(), std::ptr::null()].as_ptr()) };
            }
            exit_now(0)
        }
        pid => rustix::process::Pid::from_raw(pid)
            .filter(|_| pid > 0)
            .ok_or_else(std::io::Error::last_os_error)?,
    };
    retry(|| rustix::process::waitpid(Some(child), rustix::process::WaitOptions::empty()))?;
    Ok(())
}
