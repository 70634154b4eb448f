//! Which interval is on the screen, which user, and in which order: what the keys and the time change.

use std::cell::Cell;
use std::cmp::Ordering;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering as Memory};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::clock;
use crate::error::LiveError;
use crate::figures::{Figures, Line, commands};
use crate::reel::{Position, Reel};

/// Factors at which a log is replayed.
const SPEEDS: [f64; 11] = [1.0, 2.0, 5.0, 10.0, 20.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0];
/// Longest time between two looks at a log that is being written.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Looks in one round: a log that grows faster than it is read must not keep the keys waiting.
const LOOKS_MAX: usize = 8;
/// Time between two looks at the place of the log.
const PLACE_EVERY: Duration = Duration::from_secs(1);
/// A log whose last interval ended longer ago is replayed rather than followed, unless its intervals are long.
const FRESH_US: i64 = 60_000_000;

/// Users by which a prediction counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Users who are playing or working with recorded interactions.
    Population,
    /// People who have a process.
    People,
}

/// How many users fit, as `thinktime size` says.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// Users who meet the goals; `None` where more do than were looked at.
    pub fits: Option<u64>,
    /// Its interval.
    pub low: Option<u64>,
    pub high: Option<u64>,
    /// Interval of the knee; `None` where the log does not tell.
    pub knee: Option<(u64, u64)>,
    /// What runs short beyond that, in words: `memory`.
    pub limit: String,
    /// The goal that fails beyond that, in words.
    pub goal: String,
    /// Which users these are.
    pub counted: Counted,
}

#[derive(Default)]
struct Said {
    prediction: Option<Result<Prediction, String>>,
    notices: Vec<String>,
}

/// What other threads tell a view; clones tell the same one.
#[derive(Clone, Default)]
pub struct Shared(Arc<(Mutex<Said>, AtomicBool)>);

impl Shared {
    /// Hands over how many users fit, or why that is not known.
    pub fn predict(&self, prediction: Result<Prediction, String>) {
        self.said().prediction = Some(prediction);
    }

    /// Shows a sentence, such as that the disk is full.
    pub fn notice(&self, text: &str) {
        self.said().notices.push(text.into());
    }

    /// Ends the view.
    pub fn stop(&self) {
        self.0.1.store(true, Memory::SeqCst);
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.0.1.load(Memory::SeqCst)
    }

    fn said(&self) -> MutexGuard<'_, Said> {
        // What a thread that panicked has said is whole.
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How a view begins.
#[derive(Clone, Debug)]
pub struct ViewOptions {
    /// Time to begin at, as in the prompt of the key `t`; `None` for the end of a log that is being written, and the
    /// beginning of another.
    pub at: Option<String>,
    /// Factor at which a log is replayed.
    pub speed: f64,
    /// What is shown as the name of the log; `None` for its folder.
    pub title: Option<String>,
}

impl Default for ViewOptions {
    fn default() -> Self {
        ViewOptions { at: None, speed: 10.0, title: None }
    }
}

/// How the interval on the screen changes with time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Motion {
    /// It is the last one.
    Following,
    /// It stays.
    Paused,
    /// It goes on to the next one as fast as the speed says.
    Replaying,
}

/// Order of the users and commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    Cpu,
    CpuWait,
    DiskWait,
    Memory,
    /// Bytes read and written.
    Io,
    Name,
}

/// What lies over the view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Overlay {
    None,
    /// The explanations, from this line on.
    Help(usize),
    /// The prompt for a time, with what was typed so far.
    Time(String),
}

/// What the view itself costs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Cost {
    pub(crate) cpu_s: f64,
    pub(crate) refreshes: u64,
    pub(crate) elapsed_s: f64,
}

/// The state of a view.
pub(crate) struct State {
    dir: PathBuf,
    pub(crate) title: String,
    reel: Reel,
    position: Option<Position>,
    pub(crate) motion: Motion,
    pub(crate) speed: f64,
    pub(crate) sort: Sort,
    pub(crate) people_only: bool,
    /// Key of the selected user; `None` for whoever is first.
    selected: Option<Arc<str>>,
    pub(crate) overlay: Overlay,
    pub(crate) notice: Option<String>,
    pub(crate) prediction: Option<Result<Prediction, String>>,
    /// `None` where the log has no interval yet.
    pub(crate) figures: Option<Figures>,
    /// Users in order, as far as they are to be shown.
    pub(crate) users: Vec<Line>,
    /// Commands of the selected user, in order.
    pub(crate) commands: Vec<Line>,
    /// First user on the screen; the drawing keeps the selected one in sight.
    pub(crate) top: Cell<usize>,
    /// Most users that were on the screen: the room for them does not shrink, so that nothing jumps.
    pub(crate) most: Cell<usize>,
    pub(crate) cost: Cost,
    /// When the next interval is due in a replay.
    due: Instant,
    place_looked: Instant,
    ended: bool,
    /// The log can no longer be read on.
    lost: bool,
    /// Something on the screen may have changed.
    pub(crate) is_stale: bool,
}

impl State {
    pub(crate) fn open(dir: &Path, options: &ViewOptions) -> Result<State, LiveError> {
        if !(options.speed > 0.0 && options.speed <= 1e6) {
            let problem = "give a factor above 0, such as 10".into();
            return Err(LiveError::Option { option: "speed", given: options.speed.to_string(), problem });
        }
        let reel = Reel::open(dir)?;
        let now = Instant::now();
        let mut state = State {
            dir: dir.into(),
            title: options.title.clone().unwrap_or_else(|| dir.to_string_lossy().into_owned()),
            position: None,
            motion: Motion::Paused,
            speed: options.speed,
            sort: Sort::Cpu,
            people_only: false,
            selected: None,
            overlay: Overlay::None,
            notice: None,
            prediction: None,
            figures: None,
            users: Vec::new(),
            commands: Vec::new(),
            top: Cell::new(0),
            most: Cell::new(0),
            cost: Cost::default(),
            due: now,
            place_looked: now,
            ended: !reel.is_open(),
            lost: false,
            is_stale: true,
            reel,
        };
        state.begin(options.at.as_deref())?;
        Ok(state)
    }

    /// Puts the first interval on the screen.
    fn begin(&mut self, at: Option<&str>) -> Result<(), LiveError> {
        let Some(last) = self.reel.last() else {
            self.motion = if self.ended { Motion::Paused } else { Motion::Following };
            return Ok(());
        };
        let sample = self.reel.sample(last)?;
        let end_us = sample.as_ref().map_or(0, crate::rows::Sample::end_us);
        if let Some(text) = at {
            let time_us = clock::parsed(text, end_us).ok_or_else(|| LiveError::Option {
                option: "at",
                given: text.into(),
                problem: TIMES.into(),
            })?;
            let position = self.reel.at(time_us)?;
            return self.go(position);
        }
        let length_us = sample.map_or(0, |sample| (10.0 * sample.length_s * 1e6) as i64);
        let is_fresh = now_us().saturating_sub(end_us) <= FRESH_US.max(length_us);
        if self.ended || !is_fresh {
            self.ended = true;
            self.motion = Motion::Replaying;
            let first = self.reel.first();
            return self.go(first);
        }
        self.motion = Motion::Following;
        self.go(Some(last))
    }

    /// Shows the interval at `position`.
    fn go(&mut self, position: Option<Position>) -> Result<(), LiveError> {
        self.position = position.or(self.position);
        self.due = Instant::now();
        self.update()
    }

    /// Computes what the screen shows of the interval.
    fn update(&mut self) -> Result<(), LiveError> {
        self.is_stale = true;
        let Some(position) = self.position else { return Ok(()) };
        let cpus = self.cpus();
        match Figures::of(&mut self.reel, position, cpus) {
            Ok(figures) => self.figures = figures,
            Err(error) => {
                // Retention has removed the part, or it is damaged: whatever is still there is shown.
                let time_us = self.figures.as_ref().map_or(0, |figures| figures.sample.start_us);
                self.notice = Some(error.to_string());
                let mut reel = Reel::open(&self.dir)?;
                let position = reel.at(time_us)?;
                self.reel = reel;
                self.position = position;
                self.motion = Motion::Paused;
                self.figures = match position {
                    Some(position) => Figures::of(&mut self.reel, position, cpus)?,
                    None => None,
                };
            }
        }
        self.arrange()
    }

    /// Orders the users, and the commands of the one that is selected.
    fn arrange(&mut self) -> Result<(), LiveError> {
        self.is_stale = true;
        let lines = self.figures.as_ref().map_or(&[][..], |figures| &figures.lines);
        self.users = lines.iter().filter(|line| line.is_person || !self.people_only).cloned().collect();
        self.users.sort_by(|one, other| compare(self.sort, one, other));
        let key = self.selected_line().map(|line| Arc::clone(&line.user)).or_else(|| self.selected.clone());
        self.commands = match (self.position, key) {
            (Some(position), Some(user)) => commands(&mut self.reel, position, &user)?,
            _ => Vec::new(),
        };
        self.commands.sort_by(|one, other| compare(self.sort, one, other));
        Ok(())
    }

    /// CPUs of the machine of the last session.
    fn cpus(&self) -> Option<f64> {
        let machine = self.reel.manifest().sessions.last().map(|session| &session.machine);
        machine.and_then(|machine| machine.get("cpus")?.as_f64()).filter(|cpus| *cpus > 0.0)
    }

    /// Host name of the machine, or what stands for it.
    pub(crate) fn host(&self) -> Option<&str> {
        let machine = self.reel.manifest().sessions.last().map(|session| &session.machine)?;
        ["hostname", "name"].into_iter().find_map(|key| machine.get(key)?.as_str())
    }

    /// Index of the selected user among those that are shown.
    pub(crate) fn selected_index(&self) -> Option<usize> {
        match &self.selected {
            None => (!self.users.is_empty()).then_some(0),
            Some(key) => self.users.iter().position(|line| line.user == *key),
        }
    }

    fn selected_line(&self) -> Option<&Line> {
        self.selected_index().and_then(|at| self.users.get(at))
    }

    /// Name of the selected user: from the interval if the user is in it.
    pub(crate) fn selected_name(&self) -> Option<&str> {
        self.selected_line().map(|line| &*line.name).or(self.selected.as_deref())
    }

    /// Number of the interval on the screen and of all intervals.
    pub(crate) fn ordinal(&self) -> Option<(usize, usize)> {
        self.position.map(|position| self.reel.ordinal(position))
    }

    pub(crate) fn has_interactions(&self) -> bool {
        self.reel.has("interactions")
    }

    /// Whether the interval says how many users were active: processes may have been counted only.
    pub(crate) fn counts_users(&self) -> bool {
        self.figures.as_ref().is_some_and(|figures| figures.sample.active_users.is_some())
    }

    pub(crate) fn has_users(&self) -> bool {
        self.reel.has("users")
    }

    /// Whether the log may still grow.
    pub(crate) fn is_growing(&self) -> bool {
        !self.ended
    }

    /// How long the next interval is overdue, where that is so long that something is wrong [s].
    pub(crate) fn overdue_s(&self) -> Option<f64> {
        let sample = self.figures.as_ref().filter(|_| self.motion == Motion::Following && !self.ended);
        let sample = &sample?.sample;
        let since_s = now_us().saturating_sub(sample.end_us()) as f64 * 1e-6;
        (since_s > 3.0 * sample.length_s + 2.0).then_some(since_s)
    }

    /// Whether the interval on the screen is the last one.
    pub(crate) fn is_at_end(&self) -> bool {
        self.position == self.reel.last()
    }

    /// Reads what others have said and what the log has, and goes on where time says so.
    pub(crate) fn tick(&mut self, shared: &Shared) -> Result<(), LiveError> {
        let mut said = shared.said();
        if let Some(prediction) = said.prediction.take() {
            self.prediction = Some(prediction);
            self.is_stale = true;
        }
        if let Some(notice) = said.notices.drain(..).next_back() {
            self.notice = Some(notice);
            self.is_stale = true;
        }
        drop(said);
        self.look()?;
        if self.motion == Motion::Replaying && Instant::now() >= self.due {
            self.replay()?;
        }
        Ok(())
    }

    fn look(&mut self) -> Result<(), LiveError> {
        if self.place_looked.elapsed() >= PLACE_EVERY {
            self.place_looked = Instant::now();
            if !self.reel.is_in_place() && self.notice.is_none() {
                self.notice =
                    Some("the log was moved, removed or replaced; this is what was read of it".into());
                self.is_stale = true;
            }
            // Said once more, with the time that it is now.
            self.is_stale |= self.overdue_s().is_some();
        }
        for _ in 0..LOOKS_MAX {
            if self.lost {
                return Ok(());
            }
            let change = match self.reel.look() {
                Ok(change) => change,
                Err(error) => {
                    // What was read of it can still be looked at.
                    self.notice = Some(error.to_string());
                    (self.lost, self.ended, self.is_stale) = (true, true, true);
                    return Ok(());
                }
            };
            if change.ended {
                self.ended = true;
                self.is_stale = true;
            } else if change.grown && self.reel.is_open() {
                // Somebody goes on with a log that had ended.
                self.ended = false;
            }
            if !change.grown {
                return Ok(());
            }
            if self.motion == Motion::Following {
                let last = self.reel.last();
                self.go(last)?;
            }
            self.is_stale = true;
        }
        Ok(())
    }

    /// Goes on by the intervals that are due.
    fn replay(&mut self) -> Result<(), LiveError> {
        let Some(position) = self.position else { return Ok(()) };
        let length_s = self.figures.as_ref().map_or(1.0, |figures| figures.sample.length_s);
        let each_s = (length_s / self.speed).max(1e-6);
        if self.is_at_end() {
            self.motion = if self.ended { Motion::Paused } else { Motion::Following };
            self.is_stale = true;
            return Ok(());
        }
        // At most ten screens a second: several intervals in one step where they are short.
        let steps = (0.1 / each_s).ceil().clamp(1.0, 1e6);
        let next = self.reel.stepped(position, steps as i64);
        self.position = Some(next);
        self.due = Instant::now() + Duration::from_secs_f64((each_s * steps).min(86_400.0));
        self.update()
    }

    /// Time until there may be something to do without a key.
    pub(crate) fn patience(&self) -> Duration {
        let replay = match self.motion {
            Motion::Replaying => self.due.saturating_duration_since(Instant::now()),
            _ => LOOK_EVERY,
        };
        replay.min(LOOK_EVERY)
    }

    /// Does what a key asks for; true if the view is to end.
    pub(crate) fn key(&mut self, key: KeyEvent) -> Result<bool, LiveError> {
        self.is_stale = true;
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if control && matches!(key.code, KeyCode::Char('c' | 'C')) {
            return Ok(true);
        }
        if control {
            return Ok(false);
        }
        match std::mem::replace(&mut self.overlay, Overlay::None) {
            Overlay::Time(typed) => self.key_of_prompt(key.code, typed).map(|()| false),
            Overlay::Help(line) => {
                match key.code {
                    KeyCode::Down | KeyCode::Char('j') => self.overlay = Overlay::Help(line + 1),
                    KeyCode::Up | KeyCode::Char('k') => self.overlay = Overlay::Help(line.saturating_sub(1)),
                    // Any other key closes it, and q all of it.
                    _ => {}
                }
                Ok(key.code == KeyCode::Char('q'))
            }
            Overlay::None => self.key_of_view(key.code),
        }
    }

    fn key_of_view(&mut self, code: KeyCode) -> Result<bool, LiveError> {
        self.notice = None;
        match code {
            KeyCode::Char('q') => return Ok(true),
            KeyCode::Char('?' | 'h') | KeyCode::F(1) => self.overlay = Overlay::Help(0),
            KeyCode::Char('t') => self.overlay = Overlay::Time(String::new()),
            KeyCode::Char(' ') => self.toggle(),
            KeyCode::Left => self.step(-1)?,
            KeyCode::Right => self.step(1)?,
            KeyCode::Char('[') => self.jump(-60)?,
            KeyCode::Char(']') => self.jump(60)?,
            KeyCode::Char('{') => self.jump(-3600)?,
            KeyCode::Char('}') => self.jump(3600)?,
            KeyCode::Home | KeyCode::Char('g') => {
                self.motion = Motion::Paused;
                let first = self.reel.first();
                self.go(first)?;
            }
            KeyCode::End | KeyCode::Char('G') => {
                self.motion = if self.ended { Motion::Paused } else { Motion::Following };
                let last = self.reel.last();
                self.go(last)?;
            }
            KeyCode::Char('+' | '=') => self.change_speed(1),
            KeyCode::Char('-') => self.change_speed(-1),
            KeyCode::Down | KeyCode::Char('j') => self.select(1)?,
            KeyCode::Up | KeyCode::Char('k') => self.select(-1)?,
            KeyCode::PageDown => self.select(10)?,
            KeyCode::PageUp => self.select(-10)?,
            KeyCode::Esc => self.select_first()?,
            KeyCode::Char('p') => {
                self.people_only = !self.people_only;
                self.arrange()?;
            }
            KeyCode::Char(letter) => self.sort_by(letter)?,
            _ => {}
        }
        Ok(false)
    }

    fn sort_by(&mut self, letter: char) -> Result<(), LiveError> {
        self.sort = match letter {
            'c' => Sort::Cpu,
            'w' => Sort::CpuWait,
            'd' => Sort::DiskWait,
            'm' => Sort::Memory,
            'i' => Sort::Io,
            'n' => Sort::Name,
            _ => return Ok(()),
        };
        self.top.set(0);
        self.arrange()
    }

    fn key_of_prompt(&mut self, code: KeyCode, mut typed: String) -> Result<(), LiveError> {
        match code {
            KeyCode::Esc => return Ok(()),
            KeyCode::Enter => return self.go_to(&typed),
            KeyCode::Backspace => drop(typed.pop()),
            KeyCode::Char(letter) if typed.len() < 30 && (letter.is_ascii_graphic() || letter == ' ') => {
                typed.push(letter);
            }
            _ => {}
        }
        self.overlay = Overlay::Time(typed);
        Ok(())
    }

    /// Goes to the time that was typed.
    fn go_to(&mut self, typed: &str) -> Result<(), LiveError> {
        let now_us = self.figures.as_ref().map_or(0, |figures| figures.sample.start_us);
        let Some(time_us) = clock::parsed(typed, now_us) else {
            self.notice = Some(format!("{typed}: {TIMES}"));
            return Ok(());
        };
        self.motion = Motion::Paused;
        let position = self.reel.at(time_us)?;
        self.go(position)
    }

    /// Stops, or goes on.
    fn toggle(&mut self) {
        self.motion = match self.motion {
            Motion::Following | Motion::Replaying => Motion::Paused,
            Motion::Paused if self.is_at_end() && !self.ended => Motion::Following,
            Motion::Paused => Motion::Replaying,
        };
        self.due = Instant::now();
    }

    fn step(&mut self, steps: i64) -> Result<(), LiveError> {
        self.motion = Motion::Paused;
        let next = self.position.map(|position| self.reel.stepped(position, steps));
        self.go(next)
    }

    fn jump(&mut self, seconds: i64) -> Result<(), LiveError> {
        let Some(figures) = &self.figures else { return Ok(()) };
        self.motion = Motion::Paused;
        let time_us = figures.sample.start_us.saturating_add(seconds * 1_000_000);
        let position = self.reel.at(time_us)?;
        // An interval that is longer than the jump must not hold it up.
        if position == self.position { self.step(seconds.signum()) } else { self.go(position) }
    }

    fn change_speed(&mut self, by: i32) {
        let faster = SPEEDS.iter().find(|speed| **speed > self.speed);
        let slower = SPEEDS.iter().rev().find(|speed| **speed < self.speed);
        if let Some(speed) = if by > 0 { faster } else { slower } {
            self.speed = *speed;
        }
    }

    fn select(&mut self, by: isize) -> Result<(), LiveError> {
        let Some(last) = self.users.len().checked_sub(1) else { return Ok(()) };
        let at = self.selected_index().unwrap_or(0).saturating_add_signed(by).min(last);
        self.selected = Some(Arc::clone(&self.users[at].user));
        self.arrange()
    }

    fn select_first(&mut self) -> Result<(), LiveError> {
        self.selected = None;
        self.top.set(0);
        self.arrange()
    }
}

/// Times that can be given.
const TIMES: &str = "give a time such as 14:30, 2026-11-24 14:30, +5m or -1h";

/// Wall-clock time [µs since 1970-01-01 UTC].
fn now_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// Order of two lines: the largest first, those without a figure last, equal ones by name.
fn compare(sort: Sort, one: &Line, other: &Line) -> Ordering {
    let io = |line: &Line| match (line.read, line.write) {
        (None, None) => None,
        (read, write) => Some(read.unwrap_or(0.0) + write.unwrap_or(0.0)),
    };
    let amount = |line: &Line| match sort {
        Sort::Cpu => line.cpu,
        Sort::CpuWait => line.cpu_wait,
        Sort::DiskWait => line.disk_wait,
        Sort::Memory => line.memory.map(|memory| memory.bytes),
        Sort::Io => io(line),
        Sort::Name => None,
    };
    let [one_amount, other_amount] = [one, other].map(|line| amount(line).unwrap_or(-1.0));
    other_amount
        .total_cmp(&one_amount)
        .then_with(|| other.is_active.cmp(&one.is_active))
        .then_with(|| one.name.cmp(&other.name))
}
