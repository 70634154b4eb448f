//! Waits of processes that have ended, from the kernel's messages of their ends (taskstats over generic netlink).
//!
//! A message comes before the parent learns of the end, so that those of all commands that a shell waited for are there
//! when its prompt is. It has the parent and not the terminal: what belongs to a parent that is no shell of the play waits
//! until that parent ends, and goes on to its parent.
//!
//! Layouts: linux/netlink.h, linux/genetlink.h, linux/taskstats.h. Only fields are read that all versions of
//! `struct taskstats` have in the same place.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_recv_buffer_size_force, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};

use super::tree::delays_are_accounted;
use crate::user::waits::Waits;

// From the kernel's headers named above: part of its ABI, so that they do not change.
const NLMSG_ERROR: u16 = 2;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const GENL_ID_CTRL: u16 = 0x10;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
const TASKSTATS_CMD_GET: u8 = 1;
const TASKSTATS_CMD_ATTR_REGISTER_CPUMASK: u16 = 3;
const TASKSTATS_TYPE_STATS: u16 = 3;
const TASKSTATS_TYPE_AGGR_PID: u16 = 4;
const NLA_TYPE_MASK: u16 = 0x3fff;
const HEADERS_BYTES: usize = 20;
/// Offsets in `struct taskstats` [byte].
const WAIT_OFFSET: usize = 24;
const IO_DELAY_OFFSET: usize = 40;
const PID_OFFSET: usize = 128;
const PARENT_OFFSET: usize = 132;
/// Room for messages [byte]: they are received before and after each interaction, and a command may start thousands.
const BUFFER_BYTES: usize = 4 << 20;
/// Parents whose children have ended that are remembered.
const PARENTS_MAX: usize = 1 << 16;

/// Waits of the processes that have ended, by the shell from which they came.
#[derive(Debug)]
pub(crate) struct Ends {
    socket: OwnedFd,
    ledger: Ledger,
    has_io_delay: bool,
}

/// End of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct End {
    pid: i32,
    parent: i32,
    run_delay_ns: i64,
    io_delay_ns: i64,
}

/// Sums of ended tasks.
#[derive(Debug, Default)]
struct Ledger {
    /// Wait for a CPU and for block I/O, by shell [ns].
    shells: BTreeMap<i32, (i64, i64)>,
    /// The same of other parents, which have not ended.
    parents: BTreeMap<i32, (i64, i64)>,
    losses: u64,
}

impl Ends {
    /// Registers for the messages of all CPUs.
    ///
    /// # Errors
    /// The kernel has no such messages, or does not permit them.
    pub fn open() -> io::Result<Ends> {
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, Some(netlink::GENERIC))?;
        // The kernel answers before send returns; a lost answer must not stop the play.
        set_socket_timeout(&socket, Timeout::Recv, Some(Duration::from_millis(200)))?;
        let name = request(GENL_ID_CTRL, 0, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME, b"TASKSTATS\0");
        send(&socket, &name, SendFlags::empty())?;
        let mut answer = [0u8; 8192];
        let (length, _) = recv(&socket, &mut answer[..], RecvFlags::empty())?;
        let attributes = body(&answer[..length])?;
        let family = attribute(attributes, CTRL_ATTR_FAMILY_ID).and_then(|value| u16_at(value, 0));
        let family =
            family.ok_or_else(|| io::Error::new(io::ErrorKind::Unsupported, "no taskstats family"))?;
        // Beyond the limit for users; refused without the permission that the messages need too.
        set_socket_recv_buffer_size_force(&socket, BUFFER_BYTES)?;
        let cpus = std::fs::read_to_string("/sys/devices/system/cpu/possible")?;
        let list = format!("{}\0", cpus.trim());
        let register = request(
            family,
            NLM_F_ACK,
            TASKSTATS_CMD_GET,
            TASKSTATS_CMD_ATTR_REGISTER_CPUMASK,
            list.as_bytes(),
        );
        send(&socket, &register, SendFlags::empty())?;
        loop {
            let (length, _) = recv(&socket, &mut answer[..], RecvFlags::empty())?;
            // Without an error: tasks that ended meanwhile.
            match body(&answer[..length]) {
                Ok(_) if u16_at(&answer, 4) == Some(NLMSG_ERROR) => break,
                Ok(_) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Ends { socket, ledger: Ledger::default(), has_io_delay: delays_are_accounted() })
    }

    /// Begins to sum the ends below `shell`.
    pub fn watch(&mut self, shell: i32) {
        // Before the first look at the messages that name it: none of an earlier process with its number remains.
        self.drain();
        self.ledger.parents.remove(&shell);
        self.ledger.shells.insert(shell, (0, 0));
    }

    /// Stops it.
    pub fn forget(&mut self, shell: i32) {
        self.ledger.shells.remove(&shell);
    }

    /// Receives all messages that are there.
    pub fn drain(&mut self) {
        let mut message = [0u8; 4096];
        loop {
            match recv(&self.socket, &mut message[..], RecvFlags::DONTWAIT) {
                Ok((length, _)) => {
                    if let Some(end) = parse(&message[..length]) {
                        self.ledger.take(end);
                    }
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::NOBUFS) => self.ledger.lose(),
                Err(_) => return,
            }
        }
    }

    /// Waits of all that have ended below `shell` since it is watched.
    pub fn waits_of(&self, shell: i32) -> Waits {
        let sums = self.ledger.shells.get(&shell);
        Waits {
            run_delay_ns: sums.map(|sums| sums.0),
            io_delay_ns: sums.map(|sums| sums.1).filter(|_| self.has_io_delay),
        }
    }

    /// Times that messages were lost.
    pub fn losses(&self) -> u64 {
        self.ledger.losses
    }
}

impl Ledger {
    fn take(&mut self, end: End) {
        let below = self.parents.remove(&end.pid).unwrap_or_default();
        let sums = (end.run_delay_ns.saturating_add(below.0), end.io_delay_ns.saturating_add(below.1));
        let place = match self.shells.get_mut(&end.parent) {
            Some(place) => place,
            None => {
                if self.parents.len() >= PARENTS_MAX {
                    self.lose();
                }
                self.parents.entry(end.parent).or_default()
            }
        };
        *place = (place.0.saturating_add(sums.0), place.1.saturating_add(sums.1));
    }

    /// Something is missing: no difference over this moment is known.
    fn lose(&mut self) {
        self.losses += 1;
        self.parents.clear();
    }
}

/// The end in a message; `None` for other messages, and for one that cannot be read.
fn parse(message: &[u8]) -> Option<End> {
    let task = attribute(body(message).ok()?, TASKSTATS_TYPE_AGGR_PID)?;
    let stats = attribute(task, TASKSTATS_TYPE_STATS)?;
    let number = |at| u32_at(stats, at).and_then(|number| i32::try_from(number).ok());
    let time_ns = |at| u64_at(stats, at).and_then(|ns| i64::try_from(ns).ok());
    Some(End {
        pid: number(PID_OFFSET)?,
        parent: number(PARENT_OFFSET)?,
        run_delay_ns: time_ns(WAIT_OFFSET)?,
        io_delay_ns: time_ns(IO_DELAY_OFFSET)?,
    })
}

/// A message of generic netlink with one attribute.
fn request(kind: u16, flags: u16, command: u8, attribute: u16, value: &[u8]) -> Vec<u8> {
    // Attributes are aligned to four bytes; the length in their head does not count the padding.
    let length = (HEADERS_BYTES + 4 + value.len()).next_multiple_of(4);
    let mut message = Vec::with_capacity(length);
    message.extend((length as u32).to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend((NLM_F_REQUEST | flags).to_ne_bytes());
    message.extend([0; 8]);
    message.extend([command, 1, 0, 0]);
    message.extend(((4 + value.len()) as u16).to_ne_bytes());
    message.extend(attribute.to_ne_bytes());
    message.extend(value);
    message.resize(length, 0);
    message
}

/// Attributes of a message, after its headers; the kernel's refusal is an error.
fn body(message: &[u8]) -> io::Result<&[u8]> {
    let short = || io::Error::new(io::ErrorKind::InvalidData, "a netlink message is too short");
    if u16_at(message, 4).ok_or_else(short)? == NLMSG_ERROR {
        // The kernel sends it negated; 0 acknowledges.
        return match u32_at(message, 16).ok_or_else(short)? as i32 {
            0 => Ok(&[]),
            errno => Err(io::Error::from_raw_os_error(errno.wrapping_neg())),
        };
    }
    message.get(HEADERS_BYTES..).ok_or_else(short)
}

/// The value of attribute `kind` among `attributes`.
fn attribute(mut attributes: &[u8], kind: u16) -> Option<&[u8]> {
    loop {
        let length = usize::from(u16_at(attributes, 0)?);
        let value = attributes.get(4..length)?;
        if u16_at(attributes, 2)? & NLA_TYPE_MASK == kind {
            return Some(value);
        }
        // At least four bytes on: with a length of 0 the loop would never end.
        attributes = attributes.get(length.next_multiple_of(4).max(4)..)?;
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn end(pid: i32, parent: i32, run_delay_ns: i64) -> End {
        End { pid, parent, run_delay_ns, io_delay_ns: 1 }
    }

    #[test]
    fn ends_reach_the_shell_through_parents_that_end_after_them() {
        let mut ledger = Ledger::default();
        ledger.shells.insert(10, (0, 0));
        for one in [end(12, 11, 100), end(13, 11, 20), end(99, 98, 7), end(11, 10, 3), end(14, 10, 1000)] {
            ledger.take(one);
        }
        assert_eq!(ledger.shells[&10], (1123, 4));
        assert_eq!(ledger.parents, BTreeMap::from([(98, (7, 1))]));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_message_or_none(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
            let _ = parse(&bytes);
        }

        #[test]
        fn parents_are_bounded(count in 0usize..10) {
            let mut ledger = Ledger::default();
            for number in 0..(PARENTS_MAX + count) as i32 {
                ledger.take(end(1_000_000 + number, number, 1));
            }
            prop_assert!(ledger.parents.len() <= PARENTS_MAX);
        }
    }
}
