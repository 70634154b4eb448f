//! The taskstats family of generic netlink: requests and answers in batches.
//!
//! Layouts: linux/netlink.h, linux/genetlink.h, linux/taskstats.h. Only fields that all versions of
//! `struct taskstats` have in the same place are read.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};

// From the kernel's headers named above: part of its ABI, so that they do not change.
pub(super) const NLMSG_ERROR: u16 = 2;
pub(super) const NLM_F_REQUEST: u16 = 1;
const GENL_ID_CTRL: u16 = 0x10;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
pub(super) const TASKSTATS_CMD_GET: u8 = 1;
const TASKSTATS_CMD_ATTR_PID: u16 = 1;
const TASKSTATS_CMD_ATTR_TGID: u16 = 2;
pub(super) const TASKSTATS_TYPE_STATS: u16 = 3;
pub(super) const TASKSTATS_TYPE_AGGR_PID: u16 = 4;
pub(super) const TASKSTATS_TYPE_AGGR_TGID: u16 = 5;
const NLA_TYPE_MASK: u16 = 0x3fff;

pub(super) const HEADER_BYTES: usize = 16;
const GENERIC_HEADER_BYTES: usize = 4;
const REQUEST_BYTES: usize = HEADER_BYTES + GENERIC_HEADER_BYTES + 8;
/// Requests in one message: their answers fit well into a receive buffer of the default size.
const BATCH: usize = 64;
/// Bytes kept for one answer. `struct taskstats` has 416 bytes in version 13 and grows slowly.
const ANSWER_BYTES: usize = 2048;

/// Offset of `cpu_delay_total` in `struct taskstats` [byte].
pub(super) const WAIT_OFFSET: usize = 24;
/// Offset of `cpu_run_virtual_total` [byte]; some architectures adjust `cpu_run_real_total`, 8 bytes before it,
/// for time stolen by the hypervisor.
pub(super) const RUN_OFFSET: usize = 72;

/// Offset of `blkio_delay_total` [byte].
pub(super) const IO_DELAY_OFFSET: usize = 40;
/// Offset of `swapin_delay_total` [byte].
pub(super) const SWAP_DELAY_OFFSET: usize = 56;

/// Fields of `struct taskstats` that are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// CPU time [ns].
    pub run_ns: u64,
    /// Time of waiting for a processor [ns].
    pub wait_ns: u64,
    /// Time of waiting for a page from swap [ns]; 0 where the kernel does not account it.
    pub swap_wait_ns: u64,
}

/// Whose record is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// The first thread of a process.
    FirstThread,
    /// All threads of a process, those that have ended too.
    Process,
}

impl Record {
    fn of(stats: &[u8]) -> Option<Record> {
        Some(Record {
            run_ns: u64_at(stats, RUN_OFFSET)?,
            wait_ns: u64_at(stats, WAIT_OFFSET)?,
            swap_wait_ns: u64_at(stats, SWAP_DELAY_OFFSET)?,
        })
    }
}

/// A socket for requests to taskstats.
#[derive(Debug)]
pub struct TaskstatsSocket {
    socket: OwnedFd,
    family: u16,
    requests: Vec<u8>,
    answers: Vec<u8>,
    /// Sequence number of the next request.
    sequence: u32,
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

pub(super) fn put_attribute(message: &mut Vec<u8>, kind: u16, value: &[u8]) {
    message.extend(((4 + value.len()) as u16).to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend(value);
    // Attributes are aligned to four bytes; the length in their head does not count the padding.
    message.resize(message.len().next_multiple_of(4), 0);
}

pub(super) fn put_message(
    buffer: &mut Vec<u8>,
    kind: u16,
    sequence: u32,
    command: u8,
    attribute: (u16, &[u8]),
) {
    let start = buffer.len();
    buffer.extend(0u32.to_ne_bytes());
    buffer.extend(kind.to_ne_bytes());
    buffer.extend(NLM_F_REQUEST.to_ne_bytes());
    buffer.extend(sequence.to_ne_bytes());
    buffer.extend(0u32.to_ne_bytes());
    buffer.extend([command, 1, 0, 0]);
    put_attribute(buffer, attribute.0, attribute.1);
    let length = (buffer.len() - start) as u32;
    // The length is known only now.
    buffer[start..start + 4].copy_from_slice(&length.to_ne_bytes());
}

/// The value of attribute `kind` among `attributes`.
pub(super) fn attribute(mut attributes: &[u8], kind: u16) -> Option<&[u8]> {
    loop {
        let length = usize::from(u16_at(attributes, 0)?);
        let present = u16_at(attributes, 2)? & NLA_TYPE_MASK;
        let value = attributes.get(4..length)?;
        if present == kind {
            return Some(value);
        }
        // At least four bytes on: with a length of 0 the loop would never end.
        attributes = attributes.get(length.next_multiple_of(4).max(4)..)?;
    }
}

/// Attributes of a generic message, after its two headers; the kernel's refusal is an error.
pub(super) fn body(message: &[u8]) -> io::Result<&[u8]> {
    let short = || io::Error::new(io::ErrorKind::InvalidData, "a netlink message is too short");
    if u16_at(message, 4).ok_or_else(short)? == NLMSG_ERROR {
        let errno = u32_at(message, HEADER_BYTES).ok_or_else(short)? as i32;
        // The kernel sends it negated; a damaged message may have the lowest number, which has no opposite.
        return Err(io::Error::from_raw_os_error(errno.wrapping_neg()));
    }
    message.get(HEADER_BYTES + GENERIC_HEADER_BYTES..).ok_or_else(short)
}

/// Sequence number of the request that a message answers, and its record unless the process has gone.
pub fn parse_answer(message: &[u8]) -> io::Result<(u32, Option<Record>)> {
    let short = || io::Error::new(io::ErrorKind::InvalidData, "a taskstats answer is too short");
    let sequence = u32_at(message, 8).ok_or_else(short)?;
    let body = match body(message) {
        Ok(body) => body,
        // It ended between the listing and the request: normal, not an error of the recording.
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => return Ok((sequence, None)),
        Err(error) => return Err(error),
    };
    let record = attribute(body, TASKSTATS_TYPE_AGGR_PID)
        .or_else(|| attribute(body, TASKSTATS_TYPE_AGGR_TGID))
        .and_then(|nested| attribute(nested, TASKSTATS_TYPE_STATS))
        .and_then(Record::of);
    Ok((sequence, Some(record.ok_or_else(short)?)))
}

/// A socket of generic netlink, and the number of the taskstats family.
pub(super) fn open_family() -> io::Result<(OwnedFd, u16)> {
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, Some(netlink::GENERIC))?;
    // The kernel answers before send returns; a lost answer must not stop the recorder.
    set_socket_timeout(&socket, Timeout::Recv, Some(std::time::Duration::from_millis(200)))?;
    let mut request = Vec::new();
    let name = (CTRL_ATTR_FAMILY_NAME, &b"TASKSTATS\0"[..]);
    put_message(&mut request, GENL_ID_CTRL, 0, CTRL_CMD_GETFAMILY, name);
    send(&socket, &request, SendFlags::empty())?;
    let mut answer = vec![0; 8192];
    let (length, _) = recv(&socket, &mut answer[..], RecvFlags::empty())?;
    let family = attribute(body(&answer[..length])?, CTRL_ATTR_FAMILY_ID).and_then(|value| u16_at(value, 0));
    let family = family.ok_or_else(|| io::Error::new(io::ErrorKind::Unsupported, "no taskstats family"))?;
    Ok((socket, family))
}

impl TaskstatsSocket {
    /// Finds the family and requests one record, so that a missing permission shows at start.
    pub fn open() -> io::Result<TaskstatsSocket> {
        let (socket, family) = open_family()?;
        let answers = vec![0; BATCH * ANSWER_BYTES];
        let mut opened = TaskstatsSocket { socket, family, requests: Vec::new(), answers, sequence: 0 };
        // The recorder's own record: it has certainly run, so that 0 means that nothing is accounted.
        let own = rustix::process::getpid().as_raw_nonzero().get();
        let mut records = Vec::new();
        opened.request(&[own], Of::FirstThread, &mut records)?;
        let usable = matches!(records[..], [Some(record)] if record.run_ns > 0);
        if usable {
            Ok(opened)
        } else {
            Err(io::Error::new(io::ErrorKind::Unsupported, "taskstats are zero here"))
        }
    }

    /// Fills `records` with one for each of `pids`; `None` for a process that has gone.
    pub fn request(&mut self, pids: &[i32], of: Of, records: &mut Vec<Option<Record>>) -> io::Result<()> {
        let kind = match of {
            Of::FirstThread => TASKSTATS_CMD_ATTR_PID,
            Of::Process => TASKSTATS_CMD_ATTR_TGID,
        };
        records.clear();
        records.resize(pids.len(), None);
        for (batch, records) in pids.chunks(BATCH).zip(records.chunks_mut(BATCH)) {
            // Answers need not come in the order of the requests: the sequence says which request is answered. It
            // goes on over all batches and scans, so that an answer which comes late belongs to no later request.
            let first = self.sequence;
            self.sequence = first.wrapping_add(batch.len() as u32);
            self.requests.clear();
            self.requests.reserve(BATCH * REQUEST_BYTES);
            for (at, pid) in batch.iter().enumerate() {
                let attribute = (kind, &pid.to_ne_bytes()[..]);
                put_message(
                    &mut self.requests,
                    self.family,
                    first.wrapping_add(at as u32),
                    TASKSTATS_CMD_GET,
                    attribute,
                );
            }
            send(&self.socket, &self.requests, SendFlags::empty())?;
            self.receive(first, records)?;
        }
        Ok(())
    }

    /// Fills `records` with the answers to the requests from sequence `first` on.
    fn receive(&mut self, first: u32, records: &mut [Option<Record>]) -> io::Result<()> {
        let mut missing = records.len();
        while missing > 0 {
            let lengths = receive_many(&self.socket, &mut self.answers, ANSWER_BYTES, missing, 0)?;
            for (answer, length) in self.answers.chunks(ANSWER_BYTES).zip(lengths) {
                let (sequence, record) = parse_answer(&answer[..length.min(ANSWER_BYTES)])?;
                // An answer to a batch that timed out before is not counted.
                if let Some(place) = records.get_mut(sequence.wrapping_sub(first) as usize) {
                    *place = record;
                    missing -= 1;
                }
            }
        }
        Ok(())
    }
}

/// Lengths of the messages received in one call, each into its own chunk of `buffer` of `chunk` bytes, `count` at
/// most. With `flags` 0 it waits for the first.
pub(super) fn receive_many(
    socket: &OwnedFd,
    buffer: &mut [u8],
    chunk: usize,
    count: usize,
    flags: libc::c_int,
) -> io::Result<Vec<usize>> {
    let mut vectors: Vec<libc::iovec> = buffer
        .chunks_mut(chunk)
        .take(count)
        .map(|chunk| libc::iovec { iov_base: chunk.as_mut_ptr().cast(), iov_len: chunk.len() })
        .collect();
    let headers = vectors.iter_mut().map(|vector| {
        // SAFETY: all-zero is a valid mmsghdr: no name, no control data, no buffers.
        let mut header: libc::mmsghdr = unsafe { std::mem::zeroed() };
        header.msg_hdr.msg_iov = vector;
        header.msg_hdr.msg_iovlen = 1;
        header
    });
    let mut headers: Vec<libc::mmsghdr> = headers.collect();
    loop {
        // SAFETY: every header points to one vector of `vectors`, and that to its own chunk of `buffer`; all of
        // them live, unmoved, until the call returns.
        let received = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                headers.as_mut_ptr(),
                headers.len() as libc::c_uint,
                // Returns with the messages present after the first one, instead of waiting for all.
                (libc::MSG_WAITFORONE | flags) as _,
                std::ptr::null_mut(),
            )
        };
        if received >= 0 {
            return Ok(headers
                .iter()
                .take(received as usize)
                .map(|header| header.msg_len as usize)
                .collect());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::kernel::clock::{Clock, SystemClock};

    /// An answer as the kernel lays it out: two headers, then the record nested in an attribute.
    fn answer(sequence: u32, run_ns: u64, wait_ns: u64, stats_bytes: usize) -> Vec<u8> {
        let mut stats = vec![0; stats_bytes];
        stats[WAIT_OFFSET..WAIT_OFFSET + 8].copy_from_slice(&wait_ns.to_ne_bytes());
        stats[RUN_OFFSET..RUN_OFFSET + 8].copy_from_slice(&run_ns.to_ne_bytes());
        let mut nested = Vec::new();
        put_attribute(&mut nested, TASKSTATS_CMD_ATTR_PID, &7u32.to_ne_bytes());
        put_attribute(&mut nested, TASKSTATS_TYPE_STATS, &stats);
        let mut message = Vec::new();
        put_message(&mut message, 29, sequence, 2, (TASKSTATS_TYPE_AGGR_PID, &nested));
        message
    }

    #[test]
    fn answers_of_all_versions_are_read() {
        // Version 1 was the shortest that has the fields; what later ones add comes behind.
        for bytes in [80, 328, 416, 1000] {
            let (sequence, record) = parse_answer(&answer(9, 123, 45, bytes)).unwrap();
            assert_eq!((sequence, record), (9, Some(Record { run_ns: 123, wait_ns: 45, swap_wait_ns: 0 })));
        }
    }

    #[test]
    fn a_process_that_has_gone_is_no_error_and_a_refusal_is_one() {
        let refusal = |errno: i32| {
            let mut message = answer(3, 0, 0, 80);
            message[4..6].copy_from_slice(&NLMSG_ERROR.to_ne_bytes());
            message[HEADER_BYTES..HEADER_BYTES + 4].copy_from_slice(&(-errno).to_ne_bytes());
            message
        };
        assert_eq!(parse_answer(&refusal(libc::ESRCH)).unwrap(), (3, None));
        let error = parse_answer(&refusal(libc::EPERM)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
    }

    #[test]
    fn this_kernel_answers_or_refuses() {
        match TaskstatsSocket::open() {
            Ok(mut socket) => {
                let own = rustix::process::getpid().as_raw_nonzero().get();
                let mut records = Vec::new();
                // More than a batch, with numbers that no process has.
                let pids: Vec<i32> =
                    (0..150).map(|at| if at % 3 == 0 { own } else { 4_000_000 + at }).collect();
                socket.request(&pids, Of::FirstThread, &mut records).unwrap();
                assert_eq!(records.len(), 150);
                assert!(records.iter().enumerate().all(|(at, record)| record.is_some() == (at % 3 == 0)));
            }
            Err(error) => assert!(
                matches!(
                    error.kind(),
                    io::ErrorKind::PermissionDenied | io::ErrorKind::Unsupported | io::ErrorKind::NotFound
                ) || error.raw_os_error().is_some(),
                "{error}"
            ),
        }
    }

    #[test]
    fn a_record_of_a_process_has_all_its_threads() {
        let Ok(mut socket) = TaskstatsSocket::open() else { return };
        let own = rustix::process::getpid().as_raw_nonzero().get();
        let burn = || {
            let begin = std::time::Instant::now();
            while begin.elapsed().as_millis() < 50 {}
        };
        // One after the other: each has ended when the next begins, and none is the first.
        let mut used_ns = 0u64;
        for _ in 0..3 {
            let thread = std::thread::spawn(move || {
                burn();
                SystemClock.thread_cpu_ns()
            });
            used_ns += thread.join().unwrap();
        }
        let mut records = Vec::new();
        socket.request(&[own, 4_000_000], Of::Process, &mut records).unwrap();
        let [Some(all), None] = records[..] else { panic!("{records:?}") };
        // The clock of a thread was read a moment before its end; nothing else is left out.
        assert!(all.run_ns >= used_ns, "{all:?}, {used_ns} ns");
    }

    #[test]
    fn an_answer_that_comes_late_is_not_taken_for_another_process() {
        let Ok(mut socket) = TaskstatsSocket::open() else { return };
        let own = rustix::process::getpid().as_raw_nonzero().get();
        // A request whose answer nobody waited for, as after a time-out; just before the sequence numbers wrap.
        for sequence in [socket.sequence, u32::MAX] {
            let mut request = Vec::new();
            let attribute = (TASKSTATS_CMD_ATTR_PID, &own.to_ne_bytes()[..]);
            put_message(&mut request, socket.family, sequence, TASKSTATS_CMD_GET, attribute);
            send(&socket.socket, &request, SendFlags::empty()).unwrap();
            socket.sequence = sequence.wrapping_add(1);
            let mut records = Vec::new();
            socket.request(&[4_000_000, own], Of::FirstThread, &mut records).unwrap();
            assert!(matches!(records[..], [None, Some(_)]), "{records:?}");
        }
    }

    proptest! {
        #[test]
        fn noise_never_panics(message in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse_answer(&message);
        }

        #[test]
        fn damaged_answers_never_panic(at in 0usize..140, byte in any::<u8>(), cut in 0usize..140) {
            let mut message = answer(1, 2, 3, 80);
            let at = at % message.len();
            message[at] = byte;
            message.truncate(cut.max(at));
            let _ = parse_answer(&message);
        }
    }
}
