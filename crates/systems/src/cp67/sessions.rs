//! Sessions: start-up and shutdown, log-on and log-off, actions at the terminals; the readings of DUSETIMR; and the
//! work of CP by the clock.

use std::sync::Arc;

use thinktime_engine::{Calendar, Component, Priority, Span, Time};

use super::dusetimr::SystemState;
use super::machine::{ACTIVITY, LOG_ON, Machine, PIECE, PRINTER, READING, RESTART, SECOND, START_STOP};
use super::printer::Printer;
use super::queues::Queue;
use super::schedule::{DAY, Day, HOUR};
use super::services::Kind;
use super::users::{GUEST, OPERATOR, State};
use crate::kernel::{Interaction, Monitor};

/// Mean time within which users log on after a start-up [s].
const COMING_S: f64 = 300.0;
/// Time the operator needs to start the system again [s].
const RESTART_S: f64 = 300.0;
/// Time from the start of the system to that of DUSETIMR [s].
const FIRST_READING_S: f64 = 1.0;
/// Period of CP's base work [s].
const SECOND_S: f64 = 1.0;
/// Largest factor of a day on the number of users: log-ons are drawn at this rate and thinned.
const BUSIEST: f64 = 4.0;
const DAY_S: f64 = 86_400.0;

fn after(seconds: f64) -> Span {
    Span::from_seconds(seconds)
}

impl<M: Monitor> Machine<'_, M> {
    /// Number of the operator's class, after the others.
    fn operator_class(&self) -> usize {
        self.config.classes.len()
    }

    /// Goes on to the next stretch; the run is over if there is none.
    pub(super) fn next_stretch(&mut self, calendar: &mut Calendar) {
        self.stretch = self.stretches.next();
        match self.stretch {
            Some(stretch) => calendar.set(START_STOP, stretch.from.max(calendar.now()), Priority::Arrival),
            None => self.over = true,
        }
    }

    /// The begin or the end of a stretch.
    pub(super) fn starts_or_stops(&mut self, calendar: &mut Calendar) {
        let Some(stretch) = self.stretch else { return };
        if calendar.now() >= stretch.to {
            if self.is_up {
                self.stops(calendar);
            }
            self.next_stretch(calendar);
        } else {
            self.starts_up(calendar);
            calendar.set(START_STOP, stretch.to, Priority::Completion);
        }
    }

    /// The system is started; those who want to work log on one after the other.
    fn starts_up(&mut self, calendar: &mut Calendar) {
        let now = calendar.now();
        self.new_free_fret = self.config.is_new(now.0 / DAY);
        self.processor_starts(now);
        let class = self.operator_class();
        self.signs_on(OPERATOR, class, now);
        self.users[OPERATOR as usize].task.vsio_rate = 1e-9 / self.config.operator.vsio_gap_s;
        let wanted = self.wanted(now);
        let mut coming = 0u64;
        let mut sum = self.population.exponential();
        // A Poisson number: how many unit exponential times fit below the mean.
        while sum < wanted {
            coming += 1;
            sum += self.population.exponential();
        }
        for _ in 0..coming {
            let wait = after(COMING_S * self.population.exponential());
            self.arrives(wait, calendar);
        }
        let clocks = [(SECOND, SECOND_S), (READING, FIRST_READING_S)];
        for (slot, seconds) in clocks {
            calendar.set(slot, now + after(seconds), Priority::Arrival);
        }
        self.next_log_on(calendar);
        self.next_activity(calendar);
        if self.config.restarts_per_day > 0.0 {
            let wait = self.population.exponential() * DAY_S / self.config.restarts_per_day;
            // Crashes are a Poisson process: the time to the next does not depend on how long the system has
            // been up.
            calendar.set(RESTART, now + after(wait), Priority::Completion);
        }
        self.dispatch(calendar);
    }

    /// The system crashes, and is started again by the operator.
    pub(super) fn crashes(&mut self, calendar: &mut Calendar) {
        self.stops(calendar);
        self.measures.restarts += 1;
        if self.readings.restart() && M::LISTENS {
            self.monitor.incident(calendar.now(), "reboot", "the interval in which CP was started again");
        }
        let again = calendar.now() + after(RESTART_S);
        // Otherwise the stretch's own end stays due, and begins the next one.
        if self.stretch.is_some_and(|stretch| again < stretch.to) {
            calendar.set(START_STOP, again, Priority::Arrival);
        }
    }

    /// Everybody is signed off; what they had asked for is lost.
    fn stops(&mut self, calendar: &mut Calendar) {
        let now = calendar.now();
        for user in 0..self.config.users {
            // Whoever thinks, or was about to log on, does neither.
            calendar.clear(calendar.far(user));
            if !self.users[user as usize].is_signed_on() {
                self.users[user as usize].state = State::SignedOff;
                continue;
            }
            if self.users[user as usize].state != State::AtTerminal {
                self.measures.interactions.leave(now, self.users[user as usize].arrived);
                self.report(user, None);
            }
            self.users[user as usize].state = State::SignedOff;
            self.measures.signed_on.subtract(now, 1);
        }
        for slot in [RESTART, SECOND, READING, LOG_ON, PRINTER, ACTIVITY, PIECE] {
            calendar.clear(slot);
        }
        self.reading_due = false;
        self.printer = Printer::default();
        self.pieces.clear();
        self.processor_stops(calendar);
        if self.stretch.is_none_or(|stretch| now >= stretch.to) {
            self.readings.restart();
        }
    }

    /// Users wanted now, the day's factor included.
    fn wanted(&mut self, now: Time) -> f64 {
        let day = now.0 / DAY;
        if self.day.number != day {
            // A stream for each day: it has the same factor however many users came before.
            let mut stream = self.streams.stream(Component("cp67 days"), day);
            // Log-normal with mean 1: sigma changes the spread of days and not their average.
            let mut factor = |sigma: f64| (sigma * stream.normal() - 0.5 * sigma * sigma).exp();
            let users = factor(self.config.day_sigma).min(BUSIEST);
            self.day = Day { number: day, users, guests: factor(self.config.day_guest_sigma) };
        }
        self.config.population.wanted(&self.config.schedule, now) * self.day.users
    }

    /// Draws the next possible log-on.
    fn next_log_on(&mut self, calendar: &mut Calendar) {
        let most = self.config.population.most() * BUSIEST;
        if most > 0.0 {
            let wait = self.population.exponential() * self.config.variety.session_s / most;
            calendar.set(LOG_ON, calendar.now() + after(wait), Priority::Arrival);
        }
    }

    /// Log-ons come at random, at the rate that keeps as many users on as are wanted.
    pub(super) fn user_arrives(&mut self, calendar: &mut Calendar) {
        let most = self.config.population.most() * BUSIEST;
        let chance = self.wanted(calendar.now()) / most;
        // Thinning (Lewis and Shedler 1979): the rate follows the hour and the day without being integrated.
        if self.population.uniform() < chance {
            self.arrives(Span::ZERO, calendar);
        }
        self.next_log_on(calendar);
    }

    /// Somebody who is not there logs on after `wait`; nobody does when all are there.
    fn arrives(&mut self, wait: Span, calendar: &mut Calendar) {
        let users = u64::from(self.config.users);
        // The operator, user 0, is always there.
        // From a random place on, so that nobody is drawn in vain.
        let first = 1 + self.population.below(users - 1);
        let free = (0..users - 1)
            .map(|step| 1 + (first - 1 + step) % (users - 1))
            .find(|user| self.users[*user as usize].state == State::SignedOff);
        if let Some(user) = free {
            self.users[user as usize].state = State::Coming;
            calendar.set(calendar.far(user as u32), calendar.now() + wait, Priority::Arrival);
        }
    }

    /// Begins a session of `user`.
    fn signs_on(&mut self, user: u32, class: usize, now: Time) {
        let spindles = self.disks.spindles();
        let variety = &self.config.variety;
        let coming = &mut self.users[user as usize];
        coming.sign_on(class, spindles, variety, now);
        let asks = self.config.classes.get(class).unwrap_or(&self.config.operator);
        coming.take_up_task(asks, variety, now);
        coming.state = State::AtTerminal;
        self.measures.signed_on.add(now, 1);
        if M::LISTENS {
            self.monitor.event(now, "log_on", Some(user), None);
        }
    }

    /// Class of a session, drawn from `mix`; guests are more on some days than on others.
    fn class_of(&mut self, mix: &[f64]) -> usize {
        let weight = |class: usize| if class == GUEST { mix[class] * self.day.guests } else { mix[class] };
        let sum: f64 = (0..mix.len()).map(weight).sum();
        let mut left = self.population.uniform() * sum;
        (0..mix.len() - 1)
            .find(|class| {
                left -= weight(*class);
                left < 0.0
            })
            .unwrap_or(mix.len() - 1)
    }

    /// A user whose time has come logs on.
    fn logs_on(&mut self, user: u32, calendar: &mut Calendar) {
        let now = calendar.now();
        let hour = now.0 % DAY / HOUR;
        let mix = match hour {
            _ if self.config.schedule.is_weekend(now) => &self.config.mix_night,
            8..17 => &self.config.mix_day,
            17.. => &self.config.mix_evening,
            _ => &self.config.mix_night,
        };
        let class = self.class_of(mix);
        self.signs_on(user, class, now);
        // Half of a gamma variate of mean 2 has mean 1: the parameter is the mean.
        let cp = after(self.config.unmeasured.log_on_s * 0.5 * self.gamma());
        self.unmeasured(cp);
        self.thinks(user, Span::ZERO, calendar);
        self.dispatch(calendar);
    }

    /// A gamma variate of shape 2, mean 2.
    fn gamma(&mut self) -> f64 {
        self.chance.exponential() + self.chance.exponential()
    }

    /// A session ends.
    fn logs_off(&mut self, user: u32, now: Time) {
        self.users[user as usize].state = State::SignedOff;
        self.storage.gives_up(user);
        self.forget(user);
        let cp = after(self.config.unmeasured.log_off_s * 0.5 * self.gamma());
        self.unmeasured(cp);
        self.measures.signed_on.subtract(now, 1);
        if M::LISTENS {
            self.monitor.event(now, "log_off", Some(user), None);
        }
    }

    /// The user's line is typed after thinking, and after the answer has been typed in `typing`; a break and another
    /// task may come before, and the user may leave.
    fn thinks(&mut self, user: u32, typing: Span, calendar: &mut Calendar) {
        let now = calendar.now();
        let variety = &self.config.variety;
        let resting = &mut self.users[user as usize];
        resting.state = State::AtTerminal;
        // Looked at between interactions only: nobody leaves in the middle of one.
        if now >= resting.session_ends {
            return self.logs_off(user, now);
        }
        let class = &self.config.classes[resting.class];
        let mut think = typing + class.think.sample(resting.work());
        if now >= resting.task.ends {
            resting.take_up_task(class, variety, now);
            if resting.work().uniform() < variety.break_share {
                // A break between tasks, which the log shows as a long think time.
                think += resting.wait(variety.break_s);
            }
        }
        resting.think = think;
        calendar.set(calendar.far(user), now + think, Priority::Arrival);
    }

    /// An action at a terminal is due: a log-on, or a typed line.
    pub(super) fn at_terminal(&mut self, user: u32, calendar: &mut Calendar) {
        if self.users[user as usize].state == State::Coming {
            return self.logs_on(user, calendar);
        }
        self.chore(Kind::Vmio, Some(user));
        // CP takes the line from the terminal before the virtual machine can see it.
        self.asks(user, calendar.now());
        self.dispatch(calendar);
    }

    /// A line has been typed: its interaction begins.
    fn asks(&mut self, user: u32, now: Time) {
        let asking = &mut self.users[user as usize];
        let class = self.config.classes.get(asking.class).unwrap_or(&self.config.operator);
        asking.ask(class, now);
        self.measures.interactions.enter(now);
        self.becomes_eligible(user, Queue::Interactive);
    }

    /// The last line of the answer has been typed to the user.
    pub(super) fn interaction_ends(&mut self, user: u32, calendar: &mut Calendar) {
        let now = calendar.now();
        self.leaves_queue(user);
        // Its place is free before anybody is admitted, below.
        let done = &self.users[user as usize];
        let typing = self.config.line_time.times(done.answer_lines);
        let response = now.since(done.arrived);
        self.measures.interactions.leave(now, done.arrived);
        self.measures.responses.record(response);
        self.measures.batches.record(now, response);
        self.report(user, Some(now));
        // A file ends with the interaction that printed it.
        self.file_is_closed(user, now);
        if user == OPERATOR {
            self.users[user as usize].state = State::AtTerminal;
        } else {
            self.thinks(user, typing, calendar);
        }
        self.admit();
    }

    /// Reports the interaction of `user`; without `completion`, one that was cut short.
    fn report(&mut self, user: u32, completion: Option<Time>) {
        if M::LISTENS {
            let reported = &self.users[user as usize];
            self.monitor.interaction(&Interaction {
                user,
                class: Arc::clone(&self.classes[reported.class]),
                think: reported.think,
                arrival: reported.arrived,
                first_service: reported.first_service,
                first_output: completion,
                completion,
                service: reported.service,
                waited: true,
            });
        }
    }

    /// A line went to the virtual printer; full blocks go to the disk.
    pub(super) fn line_is_printed(&mut self, user: u32) {
        let printing = &mut self.users[user as usize];
        printing.print_lines -= 1;
        printing.unspooled += 1;
        if printing.unspooled >= printing.task.lines_per_block {
            printing.unspooled = 0;
            printing.spooled += 1;
            self.chore(Kind::SpoolIo, Some(user));
        }
    }

    /// A printed file is complete: it is printed some time later.
    fn file_is_closed(&mut self, user: u32, now: Time) {
        let blocks = std::mem::take(&mut self.users[user as usize].spooled);
        if blocks > 0 {
            let held = after(self.config.print_delay_s * self.chance.exponential());
            self.printer.hold(now + held, blocks);
        }
    }

    /// The printer has had time for a block: it takes the next one.
    pub(super) fn block_is_printed(&mut self, calendar: &mut Calendar) {
        if self.printer.take() {
            self.chore(Kind::SpoolIo, None);
            calendar.set(PRINTER, calendar.now() + self.config.printer_block, Priority::Arrival);
            self.dispatch(calendar);
        }
    }

    /// CP's base work, once a second.
    pub(super) fn second(&mut self, calendar: &mut Calendar) {
        // Looked at once a second: changes are geometric, which is exponential with this mean for long states.
        if self.chance.uniform() * self.config.state_s < SECOND_S {
            self.paths.change(self.config.state_spread, &mut self.chance);
        }
        self.chore(Kind::Base, None);
        calendar.set(SECOND, calendar.now() + after(SECOND_S), Priority::Arrival);
        let now = calendar.now();
        // Once a second is often enough for a printer.
        if self.printer.release(now) && !calendar.is_set(PRINTER) {
            calendar.set(PRINTER, now, Priority::Arrival);
        }
        self.dispatch(calendar);
    }

    /// Draws the next large activity.
    fn next_activity(&mut self, calendar: &mut Calendar) {
        if self.config.unmeasured.per_day > 0.0 {
            let wait = self.population.exponential() * DAY_S / self.config.unmeasured.per_day;
            calendar.set(ACTIVITY, calendar.now() + after(wait), Priority::Arrival);
        }
    }

    /// Directory maintenance, accounting and the like.
    pub(super) fn large_activity(&mut self, calendar: &mut Calendar) {
        let cp = after(self.config.unmeasured.each_s * self.chance.exponential());
        self.pieces.push_back(cp.0);
        if !calendar.is_set(PIECE) {
            calendar.set(PIECE, calendar.now(), Priority::Arrival);
        }
        self.next_activity(calendar);
    }

    /// A piece of the first large activity.
    pub(super) fn next_piece(&mut self, calendar: &mut Calendar) {
        let Some(left) = self.pieces.front_mut() else { return };
        let piece = Span(self.config.unmeasured.piece.0.min(*left));
        *left -= piece.0;
        if *left == 0 {
            self.pieces.pop_front();
        }
        self.unmeasured(piece);
        if !self.pieces.is_empty() {
            let pause = after(self.config.unmeasured.pause_s * self.chance.exponential());
            // In pieces, so that an activity of minutes does not keep everybody from the processor.
            calendar.set(PIECE, calendar.now() + piece + pause, Priority::Arrival);
        }
        self.dispatch(calendar);
    }

    /// DUSETIMR is started by the clock; it reads when it comes to run.
    pub(super) fn reading_is_due(&mut self, calendar: &mut Calendar) {
        calendar.set(READING, calendar.now() + self.interval, Priority::Observation);
        // A reading that is still under way takes the place of this one.
        if self.users[OPERATOR as usize].state == State::AtTerminal {
            self.reading_due = true;
            self.asks(OPERATOR, calendar.now());
            // DUSETIMR reads the accounts of every signed-on user.
            let more = self.config.reading_user_s * self.measures.signed_on.value() as f64;
            self.users[OPERATOR as usize].compute += after(more);
            self.dispatch(calendar);
        }
    }

    /// DUSETIMR has the processor: reads the counters.
    pub(super) fn take_reading(&mut self, now: Time) {
        self.reading_due = false;
        let counters = self.counters_at(now);
        let observation = self.readings.read(now, counters);
        let mut active = 0;
        for user in 0..self.users.len() {
            let read = &mut self.users[user];
            if !read.is_signed_on() {
                continue;
            }
            let (total, problem) = read.read.replace((read.total, read.problem)).unwrap_or((0, 0));
            active += u64::from(read.problem > problem);
            if let (true, Some(observation)) = (M::LISTENS, &observation) {
                let problem_s = Span(read.problem - problem);
                let cp_s = Span(read.total - total - problem_s.0);
                self.monitor.user(observation.start, &self.labels[user], problem_s, cp_s);
            }
        }
        let Some(observation) = observation else { return };
        self.measures.observations += 1;
        self.measures.active_sum += active;
        if M::LISTENS {
            let state = SystemState {
                signed_on: self.measures.signed_on.value(),
                active,
                new_free_fret: self.new_free_fret,
            };
            self.monitor.sample(observation.start, observation.length, observation.row(state));
        }
        let enough = self.config.observations;
        self.over = enough > 0 && self.readings.observations >= enough;
    }
}
