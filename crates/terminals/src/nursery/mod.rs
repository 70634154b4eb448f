//! The nursery: a process that starts the users' processes on request.
//!
//! Forking a process that runs threads is delicate: the child holds copies of locks whose owners are not
//! there. And the cost of a fork grows with the image that is copied. So the users are not forked from the
//! driver, but from a small process of one thread, which is either executed ([`Nursery::spawn`]) or forked
//! early ([`Nursery::open`]). Everything in it and below it is Rust that calls the allocator (which glibc
//! and musl make safe in the child of a threaded process) and the kernel, and takes no other lock. It has
//! default signal handling, and no descriptor of its parent but two sockets.
//!
//! Nothing outlives the parent. When the parent ends, even by SIGKILL, the request socket closes; the
//! nursery then kills its children, waits for them and ends. The children ask the kernel to be killed if
//! the nursery goes first (PR_SET_PDEATHSIG), and lose their terminals (SIGHUP) when the driver closes them.

pub(crate) mod message;
pub(crate) mod process;

use std::ffi::CString;
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recv, recvmsg, send, sendmsg, socketpair,
};
use rustix::process::{
    Pid, Signal, getpid, getppid, kill_process, set_parent_process_death_signal, setsid, waitpid,
};

use self::message::{Answer, MESSAGE_BYTES_MAX, Program, Report, Request};
use self::process::{exit_now, retry};
use crate::error::{Doing, TerminalsError};
use crate::user::direct;
use crate::user::prototype;

const PROCESS_REMEDY: &str = "raise the limit of processes (ulimit -u), or play fewer users";
const DESCRIPTOR_REMEDY: &str = "raise the limit of open files (ulimit -n), or play fewer users";

/// The driver's end of a nursery. Dropping it ends the nursery and every process it has started.
#[derive(Debug)]
pub struct Nursery {
    requests: Option<OwnedFd>,
    reports: OwnedFd,
    pid: Pid,
    owner: Pid,
}

impl Nursery {
    /// Executes `command`, which must call [`serve`] at once, as the nursery.
    pub fn spawn(mut command: Command) -> Result<Nursery, TerminalsError> {
        let (requests, theirs) = packets()?;
        let (reports, report) = packets()?;
        // A group of its own: a Ctrl-C at the terminal is for the driver. Its standard error becomes the
        // null device once it serves; before that, it may say why it cannot start.
        let child = command.stdin(theirs).stdout(report).process_group(0).spawn();
        let child = child.doing("start the nursery", PROCESS_REMEDY)?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| TerminalsError::nursery("has no process id"))?;
        Ok(Nursery { requests: Some(requests), reports, pid, owner: getpid() })
    }

    /// Forks the nursery from this process: for programs that are small and have one thread.
    pub fn open() -> Result<Nursery, TerminalsError> {
        let (requests, theirs) = packets()?;
        let (reports, report) = packets()?;
        let owner = getpid();
        // SAFETY: the child runs only `nursery_main`, which never returns to the caller's stack frames:
        // it ends by _exit in every case, a panic included. What it may and may not do in the child of a
        // threaded process is said at the head of this module.
        match unsafe { libc::fork() } {
            0 => {
                let _ = catch_unwind(AssertUnwindSafe(|| nursery_main(theirs, report)));
                exit_now(0)
            }
            pid => match Pid::from_raw(pid).filter(|_| pid > 0) {
                Some(pid) => Ok(Nursery { requests: Some(requests), reports, pid, owner }),
                None => Err(std::io::Error::last_os_error()).doing("fork the nursery", PROCESS_REMEDY),
            },
        }
    }

    /// Process id of the nursery.
    pub fn pid(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    /// Starts the process of `user` on `terminal`; returns its process id, which is its session id too.
    pub fn start(
        &self,
        user: u32,
        terminal: BorrowedFd<'_>,
        program: &Program,
    ) -> Result<i32, TerminalsError> {
        self.ask(&Request::Start { user, program: Box::new(program.clone()) }, &[terminal])
    }

    /// Starts a process that measures the cost of single requests; its report comes by `report`.
    pub(crate) fn measure(&self, array_bytes: u64) -> Result<i32, TerminalsError> {
        self.ask(&Request::Measure { array_bytes }, &[])
    }

    /// The socket on which the reports arrive, for polling.
    pub(crate) fn reports(&self) -> BorrowedFd<'_> {
        self.reports.as_fd()
    }

    /// The next report that has arrived, if any.
    pub(crate) fn report(&self) -> Result<Option<Report>, TerminalsError> {
        let mut buffer = [0u8; 16 * 1024];
        match recv(&self.reports, &mut buffer, RecvFlags::DONTWAIT) {
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(None),
            Err(error) => Err(TerminalsError::nursery(format!("cannot be heard: {error}"))),
            Ok((0, _)) => Err(TerminalsError::nursery("has ended")),
            Ok((length, _)) => serde_json::from_slice(&buffer[..length])
                .map(Some)
                .map_err(|error| TerminalsError::nursery(format!("sent an unreadable report: {error}"))),
        }
    }

    fn ask(&self, request: &Request, descriptors: &[BorrowedFd<'_>]) -> Result<i32, TerminalsError> {
        let socket = self.requests.as_ref().ok_or_else(|| TerminalsError::nursery("is closed"))?;
        let bytes =
            serde_json::to_vec(request).map_err(|error| TerminalsError::nursery(error.to_string()))?;
        if bytes.len() > MESSAGE_BYTES_MAX {
            let problem = format!("takes {} bytes of at most {MESSAGE_BYTES_MAX}", bytes.len());
            return Err(TerminalsError::input("workload", problem, "use fewer classes"));
        }
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() {
            ancillary.push(SendAncillaryMessage::ScmRights(descriptors));
        }
        retry(|| sendmsg(socket, &[IoSlice::new(&bytes)], &mut ancillary, SendFlags::NOSIGNAL))
            .map_err(|error| TerminalsError::nursery(format!("does not listen: {error}")))?;
        let mut answer = [0u8; 4096];
        let (length, _) = retry(|| recv(socket, &mut answer, RecvFlags::empty()))
            .map_err(|error| TerminalsError::nursery(format!("does not answer: {error}")))?;
        if length == 0 {
            return Err(TerminalsError::nursery("has ended"));
        }
        match serde_json::from_slice(&answer[..length]) {
            Ok(Answer::Started { pid }) => Ok(pid),
            Ok(Answer::Refused { problem }) => {
                Err(TerminalsError::nursery(format!("cannot start a user: {problem}")))
            }
            Err(error) => Err(TerminalsError::nursery(format!("gave an unreadable answer: {error}"))),
        }
    }

    /// Ends the nursery with all its processes, and waits until they are gone.
    pub fn close(mut self) {
        self.end();
    }

    fn end(&mut self) {
        // In a process that was forked from the owner, the nursery is not a child and must live on.
        if self.requests.take().is_some() && getpid() == self.owner {
            let _ = retry(|| waitpid(Some(self.pid), rustix::process::WaitOptions::empty()));
        }
    }
}

impl Drop for Nursery {
    fn drop(&mut self) {
        self.end();
    }
}

fn packets() -> Result<(OwnedFd, OwnedFd), TerminalsError> {
    socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
        .doing("make a pair of sockets", DESCRIPTOR_REMEDY)
}

/// Serves as the nursery whose sockets are the standard input and output, until the driver is gone, and ends
/// this process.
pub fn serve() -> ! {
    let standard = |descriptor: BorrowedFd<'_>| descriptor.try_clone_to_owned();
    if let (Ok(requests), Ok(report)) =
        (standard(std::io::stdin().as_fd()), standard(std::io::stdout().as_fd()))
    {
        let _ = catch_unwind(AssertUnwindSafe(|| nursery_main(requests, report)));
    }
    exit_now(0)
}

fn nursery_main(requests: OwnedFd, report: OwnedFd) {
    let Ok((requests, report)) = settle(requests, report) else { return };
    let mut children = Vec::new();
    let mut buffer = vec![0u8; MESSAGE_BYTES_MAX];
    while let Some((length, terminal)) = next_request(&requests, &mut buffer) {
        let answer = match serde_json::from_slice(&buffer[..length]) {
            Err(error) => Answer::Refused { problem: format!("unreadable request: {error}") },
            Ok(request) => match spawn(request, terminal, &requests, &report) {
                Err(error) => Answer::Refused { problem: error.to_string() },
                Ok(pid) => {
                    children.push(pid);
                    Answer::Started { pid: pid.as_raw_nonzero().get() }
                }
            },
        };
        let bytes = serde_json::to_vec(&answer).unwrap_or_default();
        if retry(|| send(&requests, &bytes, SendFlags::NOSIGNAL)).is_err() {
            break;
        }
    }
    // Children are awaited only here, so no pid in the list can have been given to another process.
    for &child in &children {
        let _ = kill_process(child, Signal::KILL);
    }
    for &child in &children {
        let _ = retry(|| waitpid(Some(child), rustix::process::WaitOptions::empty()));
    }
}

/// Own session, default signals, no descriptor but the two sockets.
fn settle(requests: OwnedFd, report: OwnedFd) -> std::io::Result<(OwnedFd, OwnedFd)> {
    let _ = setsid();
    reset_signals();
    let _ = rustix::thread::set_name(c"tt-nursery");
    let requests = above_standard(requests)?;
    let report = above_standard(report)?;
    let null = rustix::fs::open("/dev/null", rustix::fs::OFlags::RDWR, rustix::fs::Mode::empty())?;
    let null = above_standard(null)?;
    to_standard_streams(&null)?;
    drop(null);
    close_all_but(&[requests.as_raw_fd(), report.as_raw_fd()]);
    Ok((requests, report))
}

/// The same file under a number from 3 up: the caller may have had its standard streams closed.
fn above_standard(descriptor: OwnedFd) -> rustix::io::Result<OwnedFd> {
    rustix::io::fcntl_dupfd_cloexec(&descriptor, 3)
}

pub(crate) fn to_standard_streams(descriptor: &OwnedFd) -> rustix::io::Result<()> {
    rustix::stdio::dup2_stdin(descriptor)?;
    rustix::stdio::dup2_stdout(descriptor)?;
    rustix::stdio::dup2_stderr(descriptor)
}

fn reset_signals() {
    for signal in 1..=64 {
        // SAFETY: SIG_DFL is a valid disposition; numbers that are no changeable signal are refused with
        // EINVAL, which is what is wanted.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    let mut none = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigemptyset initialises the set that sigprocmask then reads; there is one thread here.
    unsafe {
        libc::sigemptyset(none.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut());
    }
}

/// Closes every descriptor from 3 up but those of `keep`.
fn close_all_but(keep: &[RawFd]) {
    let mut keep = keep.to_vec();
    keep.sort_unstable();
    let mut from = 3;
    for &kept in &keep {
        close_range(from, kept - 1);
        from = kept + 1;
    }
    close_range(from, RawFd::MAX);
}

fn close_range(first: RawFd, last: RawFd) {
    if first > last {
        return;
    }
    // SAFETY: the call only closes descriptors. In the freshly forked child no live object of this code
    // owns one in the range (see `settle`), and the parent's table is its own.
    let done = unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) } == 0;
    if !done {
        // Kernels before 5.9.
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(65_536);
        for descriptor in first..=last.min(limit as RawFd) {
            // SAFETY: as above.
            unsafe { libc::close(descriptor) };
        }
    }
}

/// The next request and the terminal that came with it; None when the parent is gone.
fn next_request(requests: &OwnedFd, buffer: &mut [u8]) -> Option<(usize, Option<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let message =
        retry(|| recvmsg(requests, &mut [IoSliceMut::new(buffer)], &mut ancillary, RecvFlags::CMSG_CLOEXEC))
            .ok()?;
    let mut terminal = None;
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            terminal = descriptors.last();
        }
    }
    (message.bytes > 0).then_some((message.bytes, terminal))
}

fn spawn(
    request: Request,
    terminal: Option<OwnedFd>,
    requests: &OwnedFd,
    report: &OwnedFd,
) -> std::io::Result<Pid> {
    let nursery = getpid();
    // SAFETY: the nursery has one thread, so its child may do anything; it ends by _exit in every case.
    match unsafe { libc::fork() } {
        0 => {
            // The parent's socket must not be held open here, or the nursery's end would not be seen.
            // SAFETY: the child owns its copy of the descriptor and does not use `requests` again.
            drop(unsafe { OwnedFd::from_raw_fd(requests.as_raw_fd()) });
            let _ = set_parent_process_death_signal(Some(Signal::KILL));
            if getppid() != Some(nursery) {
                exit_now(0);
            }
            let _ = catch_unwind(AssertUnwindSafe(|| child_main(request, terminal, report)));
            exit_now(0)
        }
        pid => Pid::from_raw(pid).filter(|_| pid > 0).ok_or_else(std::io::Error::last_os_error),
    }
}

fn child_main(request: Request, terminal: Option<OwnedFd>, report: &OwnedFd) {
    match request {
        Request::Start { user, program } => {
            if let Ok(name) = CString::new(format!("tt-user-{user}")) {
                let _ = rustix::thread::set_name(&name);
            }
            let ended = match terminal {
                None => Err("no terminal came with the request".to_owned()),
                Some(terminal) => prototype::run(user, &program, terminal, report.as_fd()),
            };
            if let Err(problem) = ended {
                let _ = tell(report.as_fd(), &Report::Failed { user, problem });
            }
        }
        Request::Measure { array_bytes } => {
            let _ = rustix::thread::set_name(c"tt-measure");
            let said = match direct::measure(array_bytes) {
                Ok(costs) => Report::Measured { costs },
                Err(error) => Report::Failed { user: 0, problem: format!("cannot measure: {error}") },
            };
            let _ = tell(report.as_fd(), &said);
        }
    }
}

/// Sends a report to the driver.
pub(crate) fn tell(report: BorrowedFd<'_>, what: &Report) -> rustix::io::Result<()> {
    let bytes = serde_json::to_vec(what).unwrap_or_default();
    retry(|| send(report, &bytes, SendFlags::NOSIGNAL)).map(|_| ())
}
