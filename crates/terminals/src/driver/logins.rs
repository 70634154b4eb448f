//! Who plays: users log in by the schedule, again after a reply that never came, and are lost where their process ends.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use rustix::event::epoll;

use super::listener::Listener;
use super::seat::{Before, Phase, Seat, to_ns};
use super::{Driver, terminal};
use crate::accounts::Accounts;
use crate::error::{Context, TerminalsError};

impl Driver<'_> {
    /// Users who play: those being started count, those whose process ended do not.
    pub(super) fn population(&self, now_ns: u64) -> u32 {
        (self.scheduled(now_ns) as u32).saturating_sub(self.outcome.lost)
    }

    /// Users that the schedule has at `now_ns`.
    pub(super) fn scheduled(&self, now_ns: u64) -> usize {
        let elapsed_s = (now_ns - self.start_ns) as f64 * 1e-9;
        let steps = &self.play.schedule.steps;
        let begun = steps.partition_point(|step| step.at_s <= elapsed_s);
        // The largest, not the last: a user who has begun plays to the end.
        steps[..begun].iter().map(|step| step.users as usize).max().unwrap_or(0)
    }

    /// Starts one user if the schedule has more; true if it has still more. One at a time, because a fork takes
    /// long and the users who play already must not wait for all of them.
    pub(super) fn admit(&mut self, now_ns: u64) -> Result<bool, TerminalsError> {
        let scheduled = self.scheduled(now_ns);
        if self.seats.len() >= scheduled {
            return Ok(false);
        }
        let starting = self.seats.iter().rev().filter(|seat| matches!(seat.phase, Phase::Starting)).count();
        if starting >= self.play.work.logins_at_once() {
            return Ok(false);
        }
        self.seats.push(Seat {
            user: self.seats.len() as u32 + 1,
            logins: 0,
            terminal: None,
            listener: Listener::new(self.play.work.marker()),
            phase: Phase::Starting,
            next_index: 0,
            input: None,
            typed: 0,
            due_ns: now_ns,
            ready_ns: now_ns,
            reply: None,
            output_ns: now_ns,
            has_prompt: false,
            unreported: BTreeMap::new(),
            accounts: None,
            before: Before::Unread,
            settling: None,
            early: None,
        });
        self.log_in(self.seats.len() - 1, now_ns)?;
        // The mean that is shown is that of the present population.
        self.recent = (0.0, 0);
        Ok(self.seats.len() < scheduled)
    }

    /// Starts the process of a user on a new terminal.
    fn log_in(&mut self, seat_index: usize, now_ns: u64) -> Result<(), TerminalsError> {
        let work = self.play.work;
        let seat = &mut self.seats[seat_index];
        // The driver's copy of the user's end closes with this function: while it were open, reading the terminal of
        // a process that has ended would not fail.
        let (master, slave) = terminal::open()?;
        let session = work.start(self.nursery, seat.user, seat.logins, std::os::fd::AsFd::as_fd(&slave))?;
        let token = epoll::EventData::new_u64(seat_index as u64);
        epoll::add(&self.epoll, &master, token, epoll::EventFlags::IN)
            .doing("poll a terminal", "play fewer users")?;
        if work.is_measured() {
            if let (Some(ends), Some(accounts)) = (&mut self.ends, &seat.accounts) {
                ends.forget(accounts.shell());
            }
            seat.accounts = Some(Accounts::of(session, work.group(seat.user, seat.logins)));
            if let Some(ends) = &mut self.ends {
                ends.watch(session);
            }
        }
        seat.logins += 1;
        seat.terminal = Some(master);
        seat.listener = Listener::new(work.marker());
        seat.phase = Phase::Starting;
        if !work.reports() {
            self.outcome.sessions.insert(seat.user, session);
            let until_ns = now_ns.saturating_add(to_ns(work.login_timeout_s()));
            self.timers.push(Reverse((until_ns, seat_index, seat.logins, seat.next_index)));
        }
        Ok(())
    }

    /// A reply was waited for in vain: its interaction stays unfinished, and the user hangs up and logs in again.
    pub(super) fn time_out(&mut self, seat_index: usize, now_ns: u64) -> Result<(), TerminalsError> {
        let seat = &mut self.seats[seat_index];
        self.outcome.timed_out += 1;
        self.finished.extend(seat.reply.take().map(|reply| reply.interaction));
        seat.before = Before::Unread;
        seat.next_index = self.play.work.next_pass(seat.next_index);
        seat.input = None;
        seat.terminal = None;
        self.log_in(seat_index, now_ns)
    }

    /// The user's process has ended. Its current interaction stays in the log, unfinished.
    pub(super) fn lose(&mut self, seat_index: usize) -> Result<(), TerminalsError> {
        // A report of the reason may be waiting to be read: it becomes the error.
        self.read_reports()?;
        let seat = &mut self.seats[seat_index];
        if matches!(seat.phase, Phase::Starting) && !self.play.work.reports() {
            let (host, shown) = (self.play.work.host(), seat.listener.shown());
            let problem = format!("the login on {host} ended before the first prompt; {shown}");
            return Err(TerminalsError::User { user: seat.user, problem });
        }
        seat.terminal = None;
        seat.phase = Phase::Gone;
        self.outcome.lost += 1;
        self.settle(seat_index);
        Ok(())
    }
}
