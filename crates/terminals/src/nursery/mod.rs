//! The nursery: a process that starts the users' processes on request.
//!
//! Forking a process that runs threads is delicate: the child has copies of locks whose owners do not exist
//! in it. And the cost of a fork grows with the image copied. The users are therefore not forked from the
//! driver, but from a small process with one thread, which is either executed ([`Nursery::spawn`]) or forked
//! early ([`Nursery::open`]). Everything in it and below it is Rust that calls the allocator (which glibc
//! and musl make safe in the child of a threaded process) and the kernel, and takes no other lock. It has
//! default signal handling, and no descriptor of its parent but two sockets.
//!
//! Nothing outlives the parent. When the parent ends, even by SIGKILL, the request socket closes; the
//! nursery then kills its children, waits for them and ends. The children ask the kernel to be killed if
//! the nursery goes first (PR_SET_PDEATHSIG), and lose their terminals (SIGHUP) when the driver closes them.

pub(crate) mod message;
pub(crate) mod process;

use std::collections::BTreeSet;
use std::ffi::CString;
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recv, recvmsg, send, sendmsg, socketpair,
};
use rustix::process::{
    Pid, Signal, getpid, getppid, kill_process, set_parent_process_death_signal, setsid, waitpid,
};

use self::message::{Answer, Command as UserCommand, MESSAGE_BYTES_MAX, Program, Report, Request};
use self::process::{exit_now, retry, to_standard_streams};
use crate::accounts;
use crate::error::{Context, TerminalsError};
use crate::user::direct;
use crate::user::prototype;

const PROCESS_REMEDY: &str = "raise the limit of processes (ulimit -u), or play fewer users";
const DESCRIPTOR_REMEDY: &str = "raise the limit of open files (ulimit -n), or play fewer users";

/// The driver's end of a nursery. Dropping it ends the nursery and every process it has started.
#[derive(Debug)]
pub struct Nursery {
    /// `None` once the nursery has to end.
    requests: Option<OwnedFd>,
    reports: OwnedFd,
    pid: Pid,
    /// The process that made this value; a fork of it must not wait for the nursery.
    owner: Pid,
}

impl Nursery {
    /// Executes `command`, which must call [`serve`] at once, as the nursery.
    ///
    /// # Errors
    /// The command cannot be executed, or there are no descriptors or processes left.
    pub fn spawn(mut command: Command) -> Result<Nursery, TerminalsError> {
        let (requests, nursery_end) = packets()?;
        let (reports, report) = packets()?;
        // A group of its own: a Ctrl-C at the terminal is for the driver. Its standard error becomes the
        // null device once it serves; before that, it can print why it cannot start.
        let child = command.stdin(nursery_end).stdout(report).process_group(0).spawn();
        let child = child.doing("start the nursery", PROCESS_REMEDY)?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| TerminalsError::nursery("has no process id"))?;
        Ok(Nursery { requests: Some(requests), reports, pid, owner: getpid() })
    }

    /// Forks the nursery from this process: for programs that are small and have one thread.
    ///
    /// # Errors
    /// There are no descriptors or processes left.
    pub fn open() -> Result<Nursery, TerminalsError> {
        let (requests, nursery_end) = packets()?;
        let (reports, report) = packets()?;
        let owner = getpid();
        // SAFETY: the child runs only `nursery_main`, which never returns to the caller's stack frames:
        // it ends by _exit in every case, a panic included. The head of this module states what is safe in
        // the child of a threaded process.
        match unsafe { libc::fork() } {
            0 => {
                let _ = catch_unwind(AssertUnwindSafe(|| nursery_main(nursery_end, report)));
                exit_now(0)
            }
            pid => match Pid::from_raw(pid).filter(|_| pid > 0) {
                Some(pid) => Ok(Nursery { requests: Some(requests), reports, pid, owner }),
                None => Err(std::io::Error::last_os_error()).doing("fork the nursery", PROCESS_REMEDY),
            },
        }
    }

    /// Process number of the nursery.
    pub fn pid(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    /// Starts the process of `user` on `terminal`, and returns its number, which is its session's too.
    pub fn start(
        &self,
        user: u32,
        terminal: BorrowedFd<'_>,
        program: &Program,
    ) -> Result<i32, TerminalsError> {
        self.request(&Request::Start { user, program: Box::new(program.clone()) }, &[terminal])
    }

    /// Starts the program of `user` on `terminal`, and returns its number, which is its session's too.
    pub(crate) fn execute(
        &self,
        user: u32,
        terminal: BorrowedFd<'_>,
        command: &UserCommand,
    ) -> Result<i32, TerminalsError> {
        self.request(&Request::Execute { user, command: Box::new(command.clone()) }, &[terminal])
    }

    /// Starts a process that measures the costs of single requests; [`Nursery::report`] delivers them.
    pub(crate) fn measure(&self, array_bytes: u64) -> Result<i32, TerminalsError> {
        self.request(&Request::Measure { array_bytes }, &[])
    }

    /// The socket on which the reports arrive, for polling.
    pub(crate) fn reports(&self) -> BorrowedFd<'_> {
        self.reports.as_fd()
    }

    /// The next report that has arrived; `None` if there is none now.
    pub(crate) fn report(&self) -> Result<Option<Report>, TerminalsError> {
        // Longer than any report: the longest carries the text of an error or a few measured costs.
        let mut buffer = [0u8; 16 * 1024];
        match recv(&self.reports, &mut buffer, RecvFlags::DONTWAIT) {
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(None),
            Err(error) => Err(TerminalsError::nursery(format!("cannot be read from: {error}"))),
            Ok((0, _)) => Err(TerminalsError::nursery("has ended")),
            Ok((length, _)) => serde_json::from_slice(&buffer[..length])
                .map(Some)
                .map_err(|error| TerminalsError::nursery(format!("sent an unreadable report: {error}"))),
        }
    }

    /// Sends a request and waits for its answer: the number of the process started.
    fn request(&self, request: &Request, descriptors: &[BorrowedFd<'_>]) -> Result<i32, TerminalsError> {
        let socket = self.requests.as_ref().ok_or_else(|| TerminalsError::nursery("is closed"))?;
        let bytes =
            serde_json::to_vec(request).map_err(|error| TerminalsError::nursery(error.to_string()))?;
        if bytes.len() > MESSAGE_BYTES_MAX {
            let problem = format!("takes {} bytes of at most {MESSAGE_BYTES_MAX}", bytes.len());
            let remedy = "use fewer classes in a workload, or shorter files in a script";
            return Err(TerminalsError::input("what a user starts with", problem, remedy));
        }
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() {
            ancillary.push(SendAncillaryMessage::ScmRights(descriptors));
        }
        retry(|| sendmsg(socket, &[IoSlice::new(&bytes)], &mut ancillary, SendFlags::NOSIGNAL))
            .map_err(|error| TerminalsError::nursery(format!("cannot be written to: {error}")))?;
        // Waits: the number of the process belongs to this request, and a fork takes well below a millisecond.
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

    /// Ends the nursery with all its processes, and waits until they have ended.
    pub fn close(mut self) {
        self.end();
    }

    /// Closes the request socket and waits for the nursery; does nothing the second time.
    fn end(&mut self) {
        // In a process that was forked from the owner, the nursery is not a child and must live on.
        // Taking the socket closes it, which is the nursery's signal to end.
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

/// A pair of connected sockets that keep the limits of messages.
fn packets() -> Result<(OwnedFd, OwnedFd), TerminalsError> {
    socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
        .doing("make a pair of sockets", DESCRIPTOR_REMEDY)
}

/// Serves as the nursery whose sockets are the standard input and output, until the driver has ended; then ends
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

/// Serves requests until the driver has ended, and then ends all children.
fn nursery_main(requests: OwnedFd, report: OwnedFd) {
    let Ok((requests, report)) = isolate(requests, report) else { return };
    let mut children = Vec::new();
    let mut folders = Folders::default();
    let mut buffer = vec![0u8; MESSAGE_BYTES_MAX];
    while let Some((length, terminal)) = next_request(&requests, &mut buffer) {
        let answer = match serde_json::from_slice(&buffer[..length]) {
            Err(error) => Answer::Refused { problem: format!("unreadable request: {error}") },
            Ok(request) => match spawn(request, terminal, &requests, &report, &mut folders) {
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
    // Children are waited for only here, so that no number in the list can belong to another process.
    // All are killed before the first is waited for: they end side by side, not one after the other.
    for &child in &children {
        let _ = kill_process(child, Signal::KILL);
    }
    for &child in &children {
        let _ = retry(|| waitpid(Some(child), rustix::process::WaitOptions::empty()));
    }
    end_adopted();
    for folder in &folders.homes {
        let _ = std::fs::remove_dir_all(folder);
    }
    for folder in &folders.groups {
        accounts::remove(folder);
    }
}

/// Ends what users' programs have left in the background: the kernel has made such processes children of the nursery.
fn end_adopted() {
    // Each round ends a generation: the children of those that it kills are adopted next.
    for _ in 0..1000 {
        for child in process::children() {
            let _ = kill_process(child, Signal::KILL);
        }
        if !matches!(retry(|| rustix::process::wait(rustix::process::WaitOptions::empty())), Ok(Some(_))) {
            return;
        }
    }
}

/// Detaches the nursery from its parent: default signals, no descriptor but the two sockets, and a session of its own
/// where it was forked. An executed nursery leads a group of its own already, so that setsid(2) fails; that group is
/// enough to keep a Ctrl-C away.
fn isolate(requests: OwnedFd, report: OwnedFd) -> std::io::Result<(OwnedFd, OwnedFd)> {
    let _ = setsid();
    reset_signals();
    let _ = rustix::thread::set_name(c"tt-nursery");
    let requests = above_standard(requests)?;
    let report = above_standard(report)?;
    let null = rustix::fs::open("/dev/null", rustix::fs::OFlags::RDWR, rustix::fs::Mode::empty())?;
    let null = above_standard(null)?;
    to_standard_streams(&null)?;
    drop(null);
    // A descriptor of the parent kept open here would keep its files, pipes and terminals open as long as users play.
    close_all_but(&[requests.as_raw_fd(), report.as_raw_fd()]);
    Ok((requests, report))
}

/// The same file under a number of at least 3: the caller's standard streams may have been closed.
fn above_standard(descriptor: OwnedFd) -> rustix::io::Result<OwnedFd> {
    rustix::io::fcntl_dupfd_cloexec(&descriptor, 3)
}

/// Default handling of all signals, none blocked: what the parent ignores or blocks is inherited otherwise.
fn reset_signals() {
    for signal in 1..=64 {
        // SAFETY: SIG_DFL is a valid disposition; for numbers that are not changeable signals the call fails
        // with EINVAL and changes nothing.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    let mut none = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigemptyset initialises the set that sigprocmask then reads; there is one thread here.
    unsafe {
        libc::sigemptyset(none.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut());
    }
}

/// Closes every descriptor from 3 on except those in `keep`.
fn close_all_but(keep: &[RawFd]) {
    // The gaps between them, in ascending order: three system calls, whatever the limit of open files.
    let mut keep = keep.to_vec();
    keep.sort_unstable();
    let mut from = 3;
    for &kept in &keep {
        close_range(from, kept - 1);
        from = kept + 1;
    }
    close_range(from, RawFd::MAX);
}

/// Closes the descriptors from `first` to `last`.
fn close_range(first: RawFd, last: RawFd) {
    if first > last {
        return;
    }
    // SAFETY: the call only closes descriptors. In the freshly forked child no live object of this code
    // owns one in the range (see `isolate`), and the parent's table is its own.
    let done = unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) } == 0;
    if !done {
        // Kernels before 5.9 have no close_range(2).
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(65_536);
        for descriptor in first..=last.min(limit as RawFd) {
            // SAFETY: as above.
            unsafe { libc::close(descriptor) };
        }
    }
}

/// Length of the next request and the terminal sent with it; `None` when the parent has ended.
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

/// Folders that are removed when the nursery ends.
#[derive(Debug, Default)]
struct Folders {
    homes: BTreeSet<PathBuf>,
    /// Each with the control groups of the logins of a play.
    groups: BTreeSet<PathBuf>,
}

/// Forks a process for `request`.
fn spawn(
    request: Request,
    terminal: Option<OwnedFd>,
    requests: &OwnedFd,
    report: &OwnedFd,
    folders: &mut Folders,
) -> std::io::Result<Pid> {
    let nursery = getpid();
    if let Request::Execute { command, .. } = &request {
        // Whatever the program leaves in the background comes back to the nursery, which ends it at the end.
        rustix::process::set_child_subreaper(Some(nursery))?;
        folders.homes.extend(command.homes.clone());
        folders.groups.extend(command.group.as_deref().and_then(Path::parent).map(Path::to_path_buf));
    }
    // SAFETY: the nursery has one thread, so its child may do anything; it ends by _exit in every case.
    match unsafe { libc::fork() } {
        0 => {
            // The parent's socket must not be held open here, or the nursery's end would not be seen.
            // SAFETY: the child owns its copy of the descriptor and does not use `requests` again.
            drop(unsafe { OwnedFd::from_raw_fd(requests.as_raw_fd()) });
            // The signal comes when the thread ends that forked (prctl(2)): the nursery has one. It may have ended
            // before the request took effect; then the parent is another process already.
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

/// The work of a forked process; a failure becomes a report, the only way to the driver.
fn child_main(request: Request, terminal: Option<OwnedFd>, report: &OwnedFd) {
    match request {
        Request::Start { user, program } => {
            if let Ok(name) = CString::new(format!("tt-user-{user}")) {
                let _ = rustix::thread::set_name(&name);
            }
            let ended = match terminal {
                None => Err("the request came without a terminal".to_owned()),
                Some(terminal) => prototype::run(user, &program, terminal, report.as_fd()),
            };
            if let Err(problem) = ended {
                let _ = Report::Failed { user, problem }.send(report.as_fd());
            }
        }
        Request::Execute { user, command } => {
            let problem = match terminal {
                None => "the request came without a terminal".to_owned(),
                Some(terminal) => process::execute(&command, &terminal).to_string(),
            };
            let _ = Report::Failed { user, problem }.send(report.as_fd());
        }
        Request::Measure { array_bytes } => {
            let _ = rustix::thread::set_name(c"tt-measure");
            let result = match direct::measure(array_bytes) {
                Ok(costs) => Report::Measured { costs },
                Err(error) => Report::Failed { user: 0, problem: format!("cannot measure: {error}") },
            };
            let _ = result.send(report.as_fd());
        }
    }
}
