//! Control of a recording from another thread or by a signal: end it, or start a new part of the log.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use serde::Serialize;

use crate::error::RecorderError;
use crate::kernel::clock::Clock;

/// State of a recording, reported when it has begun and after every sample.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Progress {
    /// Intervals written so far.
    pub samples: u64,
    /// Time since the first sample, by the monotonic clock [s].
    pub elapsed_s: f64,
    /// Share of the machine's CPU time used in the last interval, 0 to 1; `None` before the first.
    pub busy: Option<f64>,
    /// Active users in the last interval; `None` when processes are only counted.
    pub active_users: Option<u64>,
    /// Bytes written to the log so far.
    pub written_bytes: u64,
}

type Listener = Box<dyn FnMut(&Progress) + Send>;
type NoticeListener = Box<dyn FnMut(&str) + Send>;

/// Flags shared by the clones of a handle. `wake` is readable while a flag may have changed.
struct Shared {
    stop: AtomicBool,
    new_part: AtomicBool,
    begun: AtomicBool,
    wake: OwnedFd,
    listener: Mutex<Option<Listener>>,
    notice_listener: Mutex<Option<NoticeListener>>,
}

/// Handle of a recording; clones control the same one.
#[derive(Clone)]
pub struct Control(Arc<Shared>);

impl Control {
    /// A handle for a recording that has not begun.
    pub fn new() -> Result<Control, RecorderError> {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(|errno| {
            RecorderError::System { action: "make an event counter", source: errno.into() }
        })?;
        Ok(Control(Arc::new(Shared {
            stop: AtomicBool::new(false),
            new_part: AtomicBool::new(false),
            begun: AtomicBool::new(false),
            wake,
            listener: Mutex::new(None),
            notice_listener: Mutex::new(None),
        })))
    }

    /// Calls `listener` when recording has begun and after every sample, in the recording's thread.
    pub fn on_progress(&self, listener: impl FnMut(&Progress) + Send + 'static) {
        if let Ok(mut place) = self.0.listener.lock() {
            *place = Some(Box::new(listener));
        }
    }

    /// Calls `listener` with a sentence for the user as soon as the log is in trouble, in the recording's thread.
    pub fn on_notice(&self, listener: impl FnMut(&str) + Send + 'static) {
        if let Ok(mut place) = self.0.notice_listener.lock() {
            *place = Some(Box::new(listener));
        }
    }

    pub(crate) fn notice(&self, text: &str) {
        if let Ok(mut listener) = self.0.notice_listener.lock() {
            if let Some(listener) = listener.as_mut() {
                listener(text);
            }
        }
    }

    /// Ends the recording at once, or after the sample in progress. Everything recorded is flushed.
    pub fn stop(&self) {
        self.0.stop.store(true, Ordering::SeqCst);
        self.wake();
    }

    /// Ends the open part of the log and starts a new one.
    pub fn new_part(&self) {
        self.0.new_part.store(true, Ordering::SeqCst);
        self.wake();
    }

    /// True if the first sample has been taken.
    pub fn has_begun(&self) -> bool {
        self.0.begun.load(Ordering::SeqCst)
    }

    pub(crate) fn begin(&self) {
        self.0.begun.store(true, Ordering::SeqCst);
    }

    fn wake(&self) {
        // The write fails only if the counter is full, and then the recording has been woken already.
        let _ = rustix::io::write(&self.0.wake, &1u64.to_ne_bytes());
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.take_signals();
        self.0.stop.load(Ordering::SeqCst)
    }

    pub(crate) fn takes_new_part(&self) -> bool {
        self.take_signals();
        self.0.new_part.swap(false, Ordering::SeqCst)
    }

    fn take_signals(&self) {
        // Signals are for the guarded recording alone, though the flags belong to the process.
        if WAKE.load(Ordering::SeqCst) != self.0.wake.as_raw_fd() {
            return;
        }
        if STOPPED.swap(false, Ordering::SeqCst) {
            self.0.stop.store(true, Ordering::SeqCst);
        }
        if HUNG_UP.swap(false, Ordering::SeqCst) {
            self.0.new_part.store(true, Ordering::SeqCst);
        }
    }

    pub(crate) fn report(&self, progress: &Progress) {
        if let Ok(mut listener) = self.0.listener.lock() {
            if let Some(listener) = listener.as_mut() {
                listener(progress);
            }
        }
    }

    /// Waits until the monotonic clock reads `deadline_ns`; sooner when woken or signalled.
    pub(crate) fn sleep_until(&self, deadline_ns: i64, clock: &mut impl Clock) {
        let left_ns = deadline_ns - clock.now().monotonic_ns;
        if left_ns <= 0 {
            return;
        }
        let timeout = Timespec { tv_sec: left_ns / 1_000_000_000, tv_nsec: left_ns % 1_000_000_000 };
        let mut waits = [PollFd::new(&self.0.wake, PollFlags::IN)];
        // A signal ends the wait too (EINTR): the caller then reads the flags.
        if poll(&mut waits, Some(&timeout)).is_ok_and(|ready| ready > 0) {
            let mut count = [0u8; 8];
            let _ = rustix::io::read(&self.0.wake, &mut count);
        }
    }
}

/// Set by the signal handler, taken by the recording.
static STOPPED: AtomicBool = AtomicBool::new(false);
static HUNG_UP: AtomicBool = AtomicBool::new(false);
/// Event counter of the guarded recording; negative for none.
static WAKE: AtomicI32 = AtomicI32::new(-1);

/// Signals that control a recording.
const SIGNALS: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

extern "C" fn on_signal(signal: libc::c_int) {
    let flag = if signal == libc::SIGHUP { &HUNG_UP } else { &STOPPED };
    flag.store(true, Ordering::SeqCst);
    let one = 1u64.to_ne_bytes();
    // SAFETY: write(2) may be called in a signal handler; the buffer lives for the call. The
    // descriptor is that of a Control which the guard keeps alive; errno is put back below.
    unsafe {
        let place = libc::__errno_location();
        // A handler runs between any two instructions: the interrupted code may be about to read errno.
        let errno = *place;
        libc::write(WAKE.load(Ordering::SeqCst), one.as_ptr().cast(), one.len());
        *place = errno;
    }
}

/// While it exists, SIGINT and SIGTERM end the recording and SIGHUP starts a new part.
///
/// The handlers installed before are restored when it is dropped. A process may have one at a time.
pub struct SignalGuard {
    before: Vec<(i32, libc::sigaction)>,
    _control: Control,
}

impl SignalGuard {
    /// Sends this process's signals to `control`.
    pub fn install(control: &Control) -> Result<SignalGuard, RecorderError> {
        let wake = control.0.wake.as_raw_fd();
        // Handlers belong to the process and have one place for the descriptor: a second guard would take it.
        if WAKE.compare_exchange(-1, wake, Ordering::SeqCst, Ordering::SeqCst).is_err() {
            let source = std::io::Error::from(std::io::ErrorKind::ResourceBusy);
            return Err(RecorderError::System {
                action: "handle signals: another recording in this process does",
                source,
            });
        }
        STOPPED.store(false, Ordering::SeqCst);
        // A signal sent to an earlier recording must not end this one.
        HUNG_UP.store(false, Ordering::SeqCst);
        let mut guard = SignalGuard { before: Vec::new(), _control: control.clone() };
        for signal in SIGNALS {
            // SAFETY: all-zero is a valid sigaction; both pointers are to live locals; the handler
            // only does what is allowed in one.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                let mut before: libc::sigaction = std::mem::zeroed();
                let handler: extern "C" fn(libc::c_int) = on_signal;
                action.sa_sigaction = handler as libc::sighandler_t;
                if libc::sigaction(signal, &raw const action, &raw mut before) == 0 {
                    guard.before.push((signal, before));
                }
            }
        }
        Ok(guard)
    }
}

impl Drop for SignalGuard {
    fn drop(&mut self) {
        for (signal, before) in &self.before {
            // SAFETY: `before` is what sigaction(2) gave for this signal.
            unsafe {
                libc::sigaction(*signal, std::ptr::from_ref(before), std::ptr::null_mut());
            }
        }
        WAKE.store(-1, Ordering::SeqCst);
    }
}
