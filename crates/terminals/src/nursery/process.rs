//! System calls that every process here needs, forked or not.

use std::ffi::CStr;
use std::os::fd::OwnedFd;

/// Repeats a system call that a signal interrupted.
pub(crate) fn retry<T>(mut call: impl FnMut() -> rustix::io::Result<T>) -> rustix::io::Result<T> {
    loop {
        match call() {
            Err(rustix::io::Errno::INTR) => {}
            result => return result,
        }
    }
}

/// Makes `descriptor` the standard input, output and error. dup2(2) clears the close-on-exec flag of the copies, so
/// that they survive in programs that a user's process executes.
pub(crate) fn to_standard_streams(descriptor: &OwnedFd) -> rustix::io::Result<()> {
    rustix::stdio::dup2_stdin(descriptor)?;
    rustix::stdio::dup2_stdout(descriptor)?;
    rustix::stdio::dup2_stderr(descriptor)
}

/// Ends this process at once, without destructors or exit handlers of the program that it was forked from.
pub(crate) fn exit_now(status: i32) -> ! {
    // SAFETY: _exit is async-signal-safe, takes any status, and does not return.
    unsafe { libc::_exit(status) }
}

/// Forks a child that ends at once, by itself or as /bin/true, and waits for it.
pub(crate) fn fork_and_wait(execute: bool) -> std::io::Result<()> {
    let child = fork_child(execute)?;
    retry(|| rustix::process::waitpid(Some(child), rustix::process::WaitOptions::empty()))?;
    Ok(())
}

/// Forks a child that ends at once, by itself or as /bin/true; to be waited for.
pub(crate) fn fork_child(execute: bool) -> std::io::Result<rustix::process::Pid> {
    const TRUE: &CStr = c"/bin/true";
    // SAFETY: this process has one thread; the child calls only execv, with a null-terminated array of
    // null-terminated strings of static lifetime, and _exit.
    match unsafe { libc::fork() } {
        0 => {
            if execute {
                // SAFETY: as above.
                unsafe { libc::execv(TRUE.as_ptr(), [TRUE.as_ptr(), std::ptr::null()].as_ptr()) };
            }
            exit_now(0)
        }
        pid => {
            rustix::process::Pid::from_raw(pid).filter(|_| pid > 0).ok_or_else(std::io::Error::last_os_error)
        }
    }
}
