//! A pseudo-terminal: the driver's end and the user's end.

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
