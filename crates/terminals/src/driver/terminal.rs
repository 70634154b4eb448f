//! A pseudo-terminal: the driver's end, and the output read from it.

use std::os::fd::OwnedFd;

use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};

use crate::error::{Context, TerminalsError};

/// ASCII record separator, which ends the prompt. It occurs neither in an input (see `Class::check`; the
/// terminal would echo a typed control character as `^^` anyway) nor in an output string.
pub const MARKER: u8 = 0x1e;
/// Prompt that the prototype process writes when it waits for an input.
pub(crate) const PROMPT: &[u8] = b"> \x1e";

const REMEDY: &str =
    "raise kernel.pty.max (sysctl) or the limit of open files (ulimit -n), or play fewer users";

/// Opens a pseudo-terminal: the driver's end, which does not block, and the user's end.
pub(crate) fn open() -> Result<(OwnedFd, OwnedFd), TerminalsError> {
    // NOCTTY: opened by a session leader without a terminal, the first one would become the driver's, and its
    // hang-up would end the driver.
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)
        .doing("open a terminal", REMEDY)?;
    unlockpt(&master).doing("unlock a terminal", REMEDY)?;
    // From the master rather than by name (since Linux 4.13): /dev/pts may belong to another namespace.
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let slave = ioctl_tiocgptpeer(&master, flags).doing("open the user's end of a terminal", REMEDY)?;
    // One thread reads all terminals: a read that waits for one user would delay all others.
    rustix::io::ioctl_fionbio(&master, true).doing("make a terminal non-blocking", REMEDY)?;
    Ok((master, slave))
}

/// Content of a chunk read from a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Content {
    /// True if it has anything but the echo.
    pub output: bool,
    /// True if it completes the prompt.
    pub prompt: bool,
}

/// Separates the echo of an input from the output that follows it.
///
/// The line discipline echoes the input before the process can read it, and the driver sends an input
/// only after the last prompt has arrived, so that the echo is always first and complete.
#[derive(Debug, Default)]
pub(crate) struct Listener {
    /// Bytes of echo not read yet.
    echo_left: usize,
}

impl Listener {
    /// Announces an input of `length` bytes, newline included. Its echo has a carriage return in addition.
    pub fn expect_echo(&mut self, length: usize) {
        // ONLCR, the default of a new terminal, turns the newline of the echo into two characters.
        self.echo_left = length + 1;
    }

    /// Content of the next chunk.
    pub fn hear(&mut self, chunk: &[u8]) -> Content {
        let echo = chunk.len().min(self.echo_left);
        self.echo_left -= echo;
        let output = &chunk[echo..];
        Content { output: !output.is_empty(), prompt: output.contains(&MARKER) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn echo_is_no_output_however_it_is_cut() {
        let line = b"edit 7\n";
        let stream = b"edit 7\r\nhello\r\n> \x1e";
        for cut in 0..stream.len() {
            let mut listener = Listener::default();
            listener.expect_echo(line.len());
            let (first, second) = stream.split_at(cut);
            let contents = [listener.hear(first), listener.hear(second)];
            assert_eq!(contents[0].output, cut > 8, "cut at {cut}");
            assert!(!contents[0].prompt && contents[1].prompt && contents[1].output, "cut at {cut}");
        }
    }

    /// Echo of `typed` from a terminal that no process reads.
    fn echo_of(typed: &[u8]) -> Vec<u8> {
        let (master, _slave) = open().expect("a terminal");
        rustix::io::write(&master, typed).expect("is open");
        let mut echo = Vec::new();
        let mut chunk = [0u8; 64];
        // The line discipline works in the background: wait until the newline is back.
        while !echo.ends_with(b"\n") {
            let mut waiting = [rustix::event::PollFd::new(&master, rustix::event::PollFlags::IN)];
            assert_ne!(rustix::event::poll(&mut waiting, Some(&patience())), Ok(0), "no echo: {echo:?}");
            let length = rustix::io::read(&master, &mut chunk).expect("is open");
            echo.extend_from_slice(&chunk[..length]);
        }
        echo
    }

    fn patience() -> rustix::event::Timespec {
        rustix::event::Timespec { tv_sec: 60, tv_nsec: 0 }
    }

    #[test]
    fn a_real_terminal_never_echoes_the_marker() {
        assert_eq!(echo_of(b"edit 7\n"), b"edit 7\r\n");
        // The canary: even if it were typed, it would come back in two visible characters.
        let typed = [b"ls ", &[MARKER][..], b"\n"].concat();
        assert_eq!(echo_of(&typed), b"ls ^^\r\n");
        assert!(PROMPT.contains(&MARKER));
    }
}
