//! System calls that every process here needs, forked or not.

use std::ffi::CStr;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::time::{Duration, Instant};

use rustix::process::{Pid, getpid, ioctl_tiocsctty, setsid};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::accounts;
use crate::nursery::message::Command;

/// Columns and rows of a user's terminal: no line that is typed wraps, so that its echo is what was typed.
const WINDOW: Winsize = Winsize { ws_row: 50, ws_col: 2000, ws_xpixel: 0, ws_ypixel: 0 };

/// Repeats a system call that a signal interrupted.
pub(crate) fn retry<T>(mut call: impl FnMut() -> rustix::io::Result<T>) -> rustix::io::Result<T> {
    loop {
        match call() {
            Err(rustix::io::Errno::INTR) => {}
            result => return result,
        }
    }
}

/// Longest time for which a system call is tried again that the kernel has no memory for.
const PATIENCE: Duration = Duration::from_secs(30);

/// Repeats a system call also while the kernel has no memory for it: in a control group whose pages must be written to
/// a slow device first, it soon gives up on a call, where a page fault would wait.
pub(crate) fn patient<T>(mut call: impl FnMut() -> rustix::io::Result<T>) -> rustix::io::Result<T> {
    let begin = Instant::now();
    loop {
        match retry(&mut call) {
            Err(rustix::io::Errno::NOMEM | rustix::io::Errno::NOBUFS) if begin.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(1));
            }
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

/// Makes `terminal` the controlling terminal of a session of its own, and the standard streams.
pub(crate) fn take(terminal: &OwnedFd) -> rustix::io::Result<()> {
    setsid()?;
    ioctl_tiocsctty(terminal)?;
    to_standard_streams(terminal)
}

/// Ends this process if the driver hung up before it had taken its terminal, as at the end of a run on a machine that is
/// slow to start processes: nobody waits for it any more, and it has failed at nothing.
pub(crate) fn end_if_hung_up(taken: rustix::io::Result<()>) -> rustix::io::Result<()> {
    if taken == Err(rustix::io::Errno::IO) {
        exit_now(0);
    }
    taken
}

/// Becomes the program of `command` on `terminal`; returns only where that fails, with the reason.
pub(crate) fn execute(command: &Command, terminal: &OwnedFd) -> std::io::Error {
    let Some((program, arguments)) = command.arguments.split_first() else {
        return std::io::Error::other("there is no program to start");
    };
    let taken = take(terminal).and_then(|()| tcsetwinsize(terminal, WINDOW));
    if let Err(error) = end_if_hung_up(taken) {
        return std::io::Error::other(format!("cannot take the terminal: {error}"));
    }
    if let Some(group) = &command.group {
        if let Err(error) = accounts::enter(group) {
            return std::io::Error::other(format!("cannot enter control group {}: {error}", group.display()));
        }
    }
    let mut child = std::process::Command::new(program);
    child.args(arguments).env_clear().envs(command.environment.iter().cloned());
    let error = child.exec();
    std::io::Error::other(format!("cannot start {program}: {error}"))
}

/// Processes whose parent is this one.
pub(crate) fn children() -> Vec<Pid> {
    let own = getpid().as_raw_nonzero().get().to_string();
    let Ok(folders) = std::fs::read_dir("/proc") else { return Vec::new() };
    let number =
        |entry: std::io::Result<std::fs::DirEntry>| entry.ok()?.file_name().to_str()?.parse::<i32>().ok();
    let is_child = |pid: &i32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // The command's name may hold anything, brackets included: the last bracket ends it.
        stat.rsplit(')').next().and_then(|rest| rest.split_ascii_whitespace().nth(1)) == Some(&own)
    };
    folders.filter_map(number).filter(is_child).filter_map(Pid::from_raw).collect()
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

#[cfg(test)]
mod tests {
    use rustix::process::{WaitOptions, waitpid};

    use super::*;
    use crate::driver::terminal;

    /// Status of a process that takes a terminal, hung up before or not: 7 if it goes on.
    fn taken(is_hung_up: bool) -> i32 {
        let (master, slave) = terminal::open().unwrap();
        let master = (!is_hung_up).then_some(master);
        // SAFETY: the child makes system calls alone, and ends.
        let child = match unsafe { libc::fork() } {
            0 => exit_now(if end_if_hung_up(take(&slave)).is_ok() { 7 } else { 8 }),
            pid => Pid::from_raw(pid).unwrap(),
        };
        let status = retry(|| waitpid(Some(child), WaitOptions::empty())).unwrap().unwrap().1;
        drop(master);
        status.exit_status().unwrap()
    }

    #[test]
    fn a_process_whose_terminal_was_hung_up_ends_without_a_failure() {
        assert_eq!(taken(true), 0);
        assert_eq!(taken(false), 7);
    }
}
