//! The driver: one thread and one poll loop that plays all users.
//!
//! *Closed* (the default): a user's next input is due one think time after the prompt of the last. *Open*:
//! inputs are due at intervals whatever the system does; an input whose predecessor is not yet answered
//! waits and is sent late. Its response time counts from its due time, so that slow responses do not hide
//! the inputs they delay ("coordinated omission": Tene, How NOT to Measure Latency, 2013; Schroeder, Wierman and
//! Harchol-Balter, NSDI 2006, on open and closed loads).
//!
//! What is typed, and what ends the wait for its reply, comes from a [`Work`]: synthetic interactions whose process
//! reports what it did, or the lines of a script typed to a shell.
//!
//! One thread, because a driver of many would compete for the CPUs with the users that it measures, and because the
//! order of its observations is then that of one clock.

mod books;
pub mod interaction;
pub mod listener;
mod logins;
mod seat;
pub mod terminal;
pub mod work;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::num::NonZeroU64;
use std::os::fd::OwnedFd;

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::thread::set_current_timer_slack;
use rustix::time::ClockId;

use self::interaction::Interaction;
use self::listener::{Ending, Heard};
use self::seat::{Phase, Reply, Seat, to_ns};
use self::work::Work;
use crate::accounts::{Ends, Sources};
use crate::error::{Context, TerminalsError};
use crate::load::population::Schedule;
use crate::nursery::Nursery;
use crate::user::compute::{nanoseconds, thread_cpu_ns};

/// Period at which the observer is called, and so the longest delay before a play ends [ns].
const TICK_NS: u64 = 200_000_000;
/// Epoll token of the report socket; the tokens of terminals are the numbers of their seats.
const REPORTS: u64 = u64::MAX;
/// Delay above which an input counts as late [ns]: many times the wake-up of an idle machine, and below the times that
/// a user notices.
const LATE_NS: u64 = 1_000_000;
/// Time after which a terminal that takes no more input is tried again [ns].
const FULL_NS: u64 = 10_000_000;
/// Time that it takes to wake up, about [ns]: the driver is woken as much earlier, and looks at the clock until then.
const WAKE_NS: u64 = 50_000;
/// Time before the key that begins an interaction at which its accounts are opened [ns]. To read them takes some tenths of a
/// millisecond, which would be part of every response.
const AHEAD_NS: u64 = 2_000_000;

/// Progress of a play.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Progress {
    /// Time since the beginning [s].
    pub elapsed_s: f64,
    /// Length of the whole play [s].
    pub end_s: f64,
    /// Users playing.
    pub users: u32,
    /// Inputs sent so far.
    pub started: u64,
    /// Interactions completed so far.
    pub completed: u64,
    /// Mean response time of the interactions completed since the last change of the population [s].
    pub response_s: Option<f64>,
}

/// Decision of the observer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Continue the play.
    Continue,
    /// End the play now.
    Stop,
}

/// Parameters of a play.
#[derive(Clone)]
pub struct Play<'a> {
    /// What the users type.
    pub work: &'a dyn Work,
    /// Number of users over time.
    pub schedule: &'a Schedule,
    /// True if inputs are due at intervals of the think time, whatever the system does.
    pub open_loop: bool,
}

/// Totals of a play.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Outcome {
    /// Length of the play [s].
    pub elapsed_s: f64,
    /// Interactions completed.
    pub completed: u64,
    /// Inputs sent, but not answered when the play ended.
    pub unfinished: u64,
    /// Inputs due, but not even sent when the play ended (open-loop play only).
    pub dropped: u64,
    /// Inputs sent more than a millisecond after they were due.
    pub late: u64,
    /// Inputs typed without waiting for a reply.
    pub without_wait: u64,
    /// Replies that were waited for in vain: the user logged in again.
    pub timed_out: u64,
    /// Prompts of a shell that no input was waiting for.
    pub unexpected_prompts: u64,
    /// Mean time from the instant at which the driver could have sent an input to that at which it did [s].
    pub lateness_mean_s: f64,
    /// Longest such time [s].
    pub lateness_max_s: f64,
    /// Users whose process died before the end.
    pub lost: u32,
    /// CPU time of the driver itself [s].
    pub driver_cpu_s: f64,
    /// True if the observer ended the play before its time.
    pub stopped: bool,
    /// Sources of what interactions took, where they were read from outside; `None` where they were not.
    pub accounts: Option<Sources>,
    /// Session number of each user's process, by the number of the user.
    pub sessions: BTreeMap<u32, i32>,
}

/// Receives finished (and, at the end, unfinished) interactions.
pub type Sink<'a> = dyn FnMut(Vec<Interaction>) -> Result<(), TerminalsError> + 'a;
/// Called with the progress five times per second.
pub type Observer<'a> = dyn FnMut(&Progress) -> Verdict + 'a;

struct Driver<'a> {
    nursery: &'a Nursery,
    play: &'a Play<'a>,
    epoll: OwnedFd,
    start_ns: u64,
    seats: Vec<Seat>,
    /// Inputs to be sent: (due, number of the seat).
    // A user whose process has died stays in it: `send` skips the seat, which costs less than a search here.
    due: BinaryHeap<Reverse<(u64, usize)>>,
    /// Instants at which a wait may end by time: (instant, number of the seat, login, number of the interaction).
    timers: BinaryHeap<Reverse<(u64, usize, u32, u64)>>,
    /// Instants at which it is looked again whether a shell sleeps: (instant, number of the seat).
    settles: BinaryHeap<Reverse<(u64, usize)>>,
    /// Messages of the ends of processes, where there are any.
    ends: Option<Ends>,
    /// Sum of the lateness of inputs [ns].
    lateness_ns: u64,
    finished: Vec<Interaction>,
    started: u64,
    /// Response times since the population last changed: sum and number.
    recent: (f64, u64),
    outcome: Outcome,
}

/// Plays the schedule to its end, or until the observer ends it; returns the totals.
///
/// # Errors
/// The kernel refuses a terminal or process, a user's process reports that it cannot work, or `sink` fails. Processes
/// that run then end with their terminals.
pub fn drive(
    nursery: &Nursery,
    play: &Play<'_>,
    sink: &mut Sink<'_>,
    observe: &mut Observer<'_>,
) -> Result<Outcome, TerminalsError> {
    raise_descriptor_limit();
    let remedy = "raise the limit of open files (ulimit -n)";
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).doing("make an epoll set", remedy)?;
    let token = epoll::EventData::new_u64(REPORTS);
    epoll::add(&epoll, nursery.reports(), token, epoll::EventFlags::IN).doing("poll the nursery", remedy)?;
    let driver = Driver {
        nursery,
        play,
        epoll,
        start_ns: nanoseconds(ClockId::Monotonic),
        seats: Vec::new(),
        due: BinaryHeap::new(),
        timers: BinaryHeap::new(),
        settles: BinaryHeap::new(),
        // Without the permission, what ended processes waited is unknown, and the rest is measured all the same.
        ends: if play.work.is_measured() { Ends::open().ok() } else { None },
        lateness_ns: 0,
        finished: Vec::new(),
        started: 0,
        recent: (0.0, 0),
        outcome: Outcome::default(),
    };
    // A timer may otherwise wake the driver 50 us after a key is due.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    let outcome = driver.run(sink, observe);
    let _ = set_current_timer_slack(None);
    outcome
}

/// Raises the soft limit of open files, often 1024, because each user needs one. If it cannot be raised,
/// opening a terminal fails later and names the remedy.
fn raise_descriptor_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}

impl Driver<'_> {
    /// The poll loop. Inputs are sent before waiting, so that a busy system delays no user who is due.
    fn run(mut self, sink: &mut Sink<'_>, observe: &mut Observer<'_>) -> Result<Outcome, TerminalsError> {
        let cpu_before_ns = thread_cpu_ns();
        let end_ns = self.start_ns + to_ns(self.play.schedule.end_s);
        let mut tick_ns = self.start_ns;
        // Used again for every wait; what does not fit stays ready, and the next wait returns it.
        let mut events = Vec::with_capacity(64);
        loop {
            let now_ns = nanoseconds(ClockId::Monotonic);
            if now_ns >= tick_ns {
                tick_ns = now_ns + TICK_NS;
                sink(std::mem::take(&mut self.finished))?;
                self.outcome.stopped = observe(&self.progress(now_ns)) == Verdict::Stop;
            }
            if now_ns >= end_ns || self.outcome.stopped {
                break;
            }
            let waiting_to_start = self.admit(now_ns)?;
            self.send_due(nanoseconds(ClockId::Monotonic))?;
            self.expire(nanoseconds(ClockId::Monotonic))?;
            self.settle_due(nanoseconds(ClockId::Monotonic));
            let until_ns = if waiting_to_start { 0 } else { self.next_action_ns(tick_ns.min(end_ns)) };
            self.wait(until_ns, &mut events)?;
            self.read_events(&mut events)?;
        }
        // Not later than the planned end, though the loop may have noticed it late: rates are over the planned time.
        self.end(nanoseconds(ClockId::Monotonic).min(end_ns))?;
        sink(std::mem::take(&mut self.finished))?;
        self.outcome.driver_cpu_s = (thread_cpu_ns() - cpu_before_ns) as f64 * 1e-9;
        Ok(self.outcome)
    }

    /// Progress for the observer.
    fn progress(&self, now_ns: u64) -> Progress {
        Progress {
            elapsed_s: (now_ns - self.start_ns) as f64 * 1e-9,
            end_s: self.play.schedule.end_s,
            users: self.population(now_ns),
            started: self.started,
            completed: self.outcome.completed,
            response_s: (self.recent.1 > 0).then(|| self.recent.0 / self.recent.1 as f64),
        }
    }

    /// Instant at which the driver has to act even if no output arrives.
    fn next_action_ns(&self, latest_ns: u64) -> u64 {
        let due_ns = self.due.peek().map_or(u64::MAX, |Reverse((due_ns, _))| *due_ns);
        let due_ns = due_ns.min(self.timers.peek().map_or(u64::MAX, |Reverse(timer)| timer.0));
        let due_ns = due_ns.min(self.settles.peek().map_or(u64::MAX, |Reverse(settle)| settle.0));
        let elapsed_steps = self.play.schedule.steps.iter().map(|step| self.start_ns + to_ns(step.at_s));
        let now_ns = nanoseconds(ClockId::Monotonic);
        let step_ns = elapsed_steps.filter(|&at_ns| at_ns > now_ns).min().unwrap_or(u64::MAX);
        latest_ns.min(due_ns).min(step_ns)
    }

    /// Waits until `until_ns` or until a terminal or the nursery has something to read.
    fn wait(&self, until_ns: u64, events: &mut Vec<epoll::Event>) -> Result<(), TerminalsError> {
        let remedy = "start the play again";
        let left_ns = until_ns.saturating_sub(nanoseconds(ClockId::Monotonic)).saturating_sub(WAKE_NS);
        // epoll_wait has a resolution of milliseconds; poll on the set itself has one of nanoseconds.
        let timeout =
            Timespec { tv_sec: (left_ns / 1_000_000_000) as i64, tv_nsec: (left_ns % 1_000_000_000) as i64 };
        match poll(&mut [PollFd::new(&self.epoll, PollFlags::IN)], Some(&timeout)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(()),
            result => result.doing("wait for the terminals", remedy)?,
        };
        let none = Timespec { tv_sec: 0, tv_nsec: 0 };
        match epoll::wait(&self.epoll, spare_capacity(events), Some(&none)) {
            Err(rustix::io::Errno::INTR) => Ok(()),
            result => result.doing("wait for the terminals", remedy).map(|_| ()),
        }
    }

    /// Reads everything that has arrived, on terminals and the report socket.
    fn read_events(&mut self, events: &mut Vec<epoll::Event>) -> Result<(), TerminalsError> {
        for event in events.drain(..) {
            match event.data.u64() {
                REPORTS => self.read_reports()?,
                seat => self.read_terminal(seat as usize)?,
            }
        }
        Ok(())
    }

    /// Reads output, and completes the interaction when it contains the prompt.
    fn read_terminal(&mut self, seat_index: usize) -> Result<(), TerminalsError> {
        let mut chunk = [0u8; 4096];
        loop {
            let seat = &mut self.seats[seat_index];
            let Some(terminal) = &seat.terminal else { return Ok(()) };
            match rustix::io::read(terminal, &mut chunk) {
                Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => return Ok(()),
                // EIO: no process has the other end open any more (the read of a pseudo-terminal has no end of file
                // on Linux).
                Ok(0) | Err(_) => return self.lose(seat_index),
                Ok(length) => {
                    let now_ns = nanoseconds(ClockId::Monotonic);
                    let heard = seat.listener.hear(&chunk[..length]);
                    if heard.output_bytes > 0 {
                        seat.output_ns = now_ns;
                        if let Some(Reply { interaction: current, ending, .. }) = seat.reply.as_mut() {
                            current.output_bytes += heard.output_bytes;
                            let first = current.first_output_ns.is_none();
                            current.first_output_ns.get_or_insert(now_ns);
                            if let (Ending::Silence(silence_ns), true) = (ending, first) {
                                let index = current.index;
                                self.timers.push(Reverse((
                                    now_ns + *silence_ns,
                                    seat_index,
                                    seat.logins,
                                    index,
                                )));
                            }
                        }
                    }
                    self.heard(seat_index, heard, now_ns);
                    // A short read has most likely emptied the terminal; if not, poll returns at once.
                    if length < chunk.len() {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Acts on what has been heard: the first prompt begins the first think time, the end of a reply the next.
    fn heard(&mut self, seat_index: usize, heard: Heard, now_ns: u64) {
        let seat = &mut self.seats[seat_index];
        if matches!(seat.phase, Phase::Starting) {
            if heard.prompt {
                seat.has_prompt = true;
                // There is no earlier due time to count from.
                self.think(seat_index, now_ns, now_ns);
            }
        } else if matches!(seat.phase, Phase::Busy) && heard.ended {
            self.completed(seat_index, now_ns, now_ns, heard.prompt);
        } else if heard.prompt {
            self.outcome.unexpected_prompts += u64::from(seat.has_prompt);
        }
    }

    /// Draws the next input, and queues its first key.
    fn think(&mut self, seat_index: usize, from_ns: u64, now_ns: u64) {
        let seat = &mut self.seats[seat_index];
        seat.think(self.play, from_ns);
        // Of an input that was due before the user could type it, the time before is not the driver's.
        seat.ready_ns = now_ns;
        let first_ns = seat.key_ns();
        self.queue_key(seat_index, first_ns);
    }

    /// Queues the next key of a user, or before it the opening of accounts.
    fn queue_key(&mut self, seat_index: usize, at_ns: u64) {
        let ahead_ns = if self.seats[seat_index].opens(at_ns) { AHEAD_NS } else { 0 };
        self.due.push(Reverse((at_ns.saturating_sub(ahead_ns), seat_index)));
    }

    /// Sends every input that is due.
    fn send_due(&mut self, now_ns: u64) -> Result<(), TerminalsError> {
        while let Some(&Reverse((due_ns, seat_index))) = self.due.peek() {
            if due_ns > now_ns {
                break;
            }
            self.due.pop();
            self.send(seat_index)?;
        }
        Ok(())
    }

    /// Types the keys of a user that are due; with the last one the interaction begins.
    fn send(&mut self, seat_index: usize) -> Result<(), TerminalsError> {
        let population = self.population(nanoseconds(ClockId::Monotonic));
        let seat = &self.seats[seat_index];
        if seat.terminal.is_none() || !matches!(seat.phase, Phase::Thinking) {
            return Ok(());
        }
        let key_ns = seat.key_ns();
        // Before the key that begins the interaction: the shell may be at work before the write returns.
        if seat.opens(key_ns.max(nanoseconds(ClockId::Monotonic))) {
            self.open_accounts(seat_index);
            if key_ns > nanoseconds(ClockId::Monotonic) {
                self.due.push(Reverse((key_ns, seat_index)));
                return Ok(());
            }
        }
        let seat = &mut self.seats[seat_index];
        let (Some(terminal), Some(input)) = (&seat.terminal, &seat.input) else { return Ok(()) };
        let sent_ns = nanoseconds(ClockId::Monotonic);
        let keys = &input.line[seat.typed..input.typed_at(seat.due_ns, sent_ns).max(seat.typed)];
        let wanted = keys.len();
        if seat.typed == 0 {
            seat.listener.expect(&input.line, input.ending.clone());
        }
        // Before the write: the process may answer before the write returns.
        let written = match rustix::io::write(terminal, keys) {
            Ok(length) => length,
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => 0,
            Err(_) => return self.lose(seat_index),
        };
        let length = input.line.len();
        seat.typed += written;
        if seat.typed < length {
            // The next key; or the same, where the terminal is full.
            let next_ns = if written < wanted { sent_ns + FULL_NS } else { seat.key_ns() };
            self.queue_key(seat_index, next_ns);
            return Ok(());
        }
        self.sent(seat_index, sent_ns, population);
        Ok(())
    }

    /// The last key of an input was typed at `sent_ns`.
    fn sent(&mut self, seat_index: usize, sent_ns: u64, population: u32) {
        let seat = &mut self.seats[seat_index];
        let Some(mut reply) = seat.arrive(population) else { return };
        let interaction = &mut reply.interaction;
        interaction.sent_ns = Some(sent_ns);
        self.started += 1;
        let late_ns = sent_ns.saturating_sub(interaction.arrival_ns.max(seat.ready_ns));
        self.lateness_ns += late_ns;
        self.outcome.lateness_max_s = self.outcome.lateness_max_s.max(late_ns as f64 * 1e-9);
        self.outcome.late += u64::from(sent_ns > interaction.arrival_ns + LATE_NS);
        if !interaction.waited {
            self.outcome.without_wait += 1;
            seat.has_prompt = false;
            let from_ns = if self.play.open_loop { seat.due_ns } else { sent_ns };
            self.finished.push(reply.interaction);
            self.think(seat_index, from_ns, sent_ns);
            return;
        }
        if let Some(time_out_ns) = reply.time_out_ns {
            let at_ns = sent_ns.saturating_add(time_out_ns);
            self.timers.push(Reverse((at_ns, seat_index, seat.logins, interaction.index)));
        }
        seat.reply = Some(reply);
        seat.phase = Phase::Busy;
    }

    /// Ends the waits that end by time: of a reply that has been silent, of one that takes too long, and of a shell
    /// that shows no prompt.
    fn expire(&mut self, now_ns: u64) -> Result<(), TerminalsError> {
        while let Some(&Reverse((at_ns, seat_index, login, index))) = self.timers.peek() {
            if at_ns > now_ns {
                break;
            }
            self.timers.pop();
            let seat = &mut self.seats[seat_index];
            if seat.logins != login || seat.terminal.is_none() {
                continue;
            }
            if matches!(seat.phase, Phase::Starting) {
                let work = self.play.work;
                let problem = format!(
                    "logged in on {}, and there was no prompt in {} s; {}; find out what the login waits for, or give \
                     it longer with --login-timeout",
                    work.host(),
                    work.login_timeout_s(),
                    seat.listener.shown()
                );
                return Err(TerminalsError::User { user: seat.user, problem });
            }
            let Some(reply) = seat.reply.as_ref().filter(|reply| reply.interaction.index == index) else {
                continue;
            };
            let current = &reply.interaction;
            let silence_ns = match reply.ending {
                Ending::Silence(silence_ns) if current.first_output_ns.is_some() => Some(silence_ns),
                _ => None,
            };
            let time_out_ns =
                current.sent_ns.zip(reply.time_out_ns).map(|(sent_ns, ns)| sent_ns.saturating_add(ns));
            if silence_ns.is_some_and(|silence_ns| seat.output_ns + silence_ns <= now_ns) {
                let end_ns = seat.output_ns;
                self.completed(seat_index, end_ns, now_ns, false);
            } else if time_out_ns.is_some_and(|at_ns| at_ns <= now_ns) {
                self.time_out(seat_index, now_ns)?;
            } else if let Some(silence_ns) = silence_ns {
                let at_ns = seat.output_ns + silence_ns;
                self.timers.push(Reverse((at_ns, seat_index, login, index)));
            }
        }
        Ok(())
    }
}
