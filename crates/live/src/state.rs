//! Which interval is on the screen, which panel and line, and in which order: what the time changes by itself, the `keys`
//! and the `mouse` for their part.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering as Memory};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::clock::{self, TIMES};
use crate::devices::devices;
use crate::error::LiveError;
use crate::figures::{Figures, commands};
use crate::groups::{self, Details};
use crate::line::Line;
use crate::listing::{Listing, Panel};
use crate::reel::{Position, Reel};
use crate::targets::Targets;

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
    /// The mouse chooses and scrolls from the start, as after the key `M`; the terminal no longer selects text then.
    pub mouse: bool,
}

impl Default for ViewOptions {
    fn default() -> Self {
        ViewOptions { at: None, speed: 10.0, title: None, mouse: false }
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

/// What lies over the view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Overlay {
    None,
    /// The explanations, from this line on.
    Help(usize),
    /// The prompt for a time, with what was typed so far.
    Time(String),
    /// The prompt for a part of names; the filter of the list is what was typed so far.
    Filter,
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
    pub(crate) reel: Reel,
    pub(crate) position: Option<Position>,
    pub(crate) motion: Motion,
    pub(crate) speed: f64,
    pub(crate) panel: Panel,
    /// By [`Panel`].
    listings: [Listing; Panel::ALL.len()],
    pub(crate) people_only: bool,
    /// Control groups without those below them.
    pub(crate) folded: BTreeSet<Arc<str>>,
    pub(crate) overlay: Overlay,
    pub(crate) notice: Option<String>,
    pub(crate) prediction: Option<Result<Prediction, String>>,
    /// `None` where the log has no interval yet.
    pub(crate) figures: Option<Figures>,
    /// What was looked at so far tells the use of a GPU; columns that came stay.
    pub(crate) has_gpu: bool,
    /// Commands of the selected user, in order.
    pub(crate) commands: Vec<Line>,
    /// First command on the screen, and commands for which it has room.
    pub(crate) commands_top: Cell<usize>,
    pub(crate) commands_rows: Cell<usize>,
    /// The commands have the room of the users too.
    pub(crate) is_expanded: bool,
    /// Of the selected control group.
    pub(crate) details: Option<Details>,
    /// Control groups, disks and network interfaces in the interval, as far as the screen shows them.
    groups: Vec<Line>,
    disks: Vec<Line>,
    interfaces: Vec<Line>,
    /// Start of the first interval and of the last one [µs].
    pub(crate) span: Option<(i64, i64)>,
    /// Parts of the screen, for the mouse.
    pub(crate) targets: Targets,
    pub(crate) has_mouse: bool,
    /// Last line from which the explanations have to be shown.
    pub(crate) help_last: Cell<usize>,
    /// The mouse was pressed on the timeline and not released.
    pub(crate) is_dragging: bool,
    pub(crate) cost: Cost,
    /// When the next interval is due in a replay.
    pub(crate) due: Instant,
    place_looked: Instant,
    pub(crate) ended: bool,
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
            panel: Panel::Users,
            listings: Panel::ALL.map(Listing::of),
            people_only: false,
            folded: BTreeSet::new(),
            overlay: Overlay::None,
            notice: None,
            prediction: None,
            figures: None,
            has_gpu: false,
            commands: Vec::new(),
            commands_top: Cell::new(0),
            commands_rows: Cell::new(0),
            is_expanded: false,
            details: None,
            groups: Vec::new(),
            disks: Vec::new(),
            interfaces: Vec::new(),
            span: None,
            targets: Targets::default(),
            has_mouse: options.mouse,
            help_last: Cell::new(usize::MAX),
            is_dragging: false,
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
    pub(crate) fn go(&mut self, position: Option<Position>) -> Result<(), LiveError> {
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
        self.has_gpu |= self.figures.as_ref().is_some_and(|figures| figures.has_gpu);
        self.measure_span();
        self.collect()
    }

    /// Finds out from when to when the log is.
    fn measure_span(&mut self) {
        // What retention has removed has no time any more: then the one that was known stays.
        if let Ok(span) = self.reel.span() {
            self.span = span;
        }
    }

    /// Reads what the panel shows of the interval, and puts it in order.
    pub(crate) fn collect(&mut self) -> Result<(), LiveError> {
        if let Some(position) = self.position {
            // Reading a thousand groups takes longer than everything else: only where they are looked at.
            if self.panel == Panel::Groups {
                self.groups = groups::groups(&mut self.reel, position)?;
            }
            (self.disks, self.interfaces) = devices(&mut self.reel, position)?;
        }
        self.arrange()
    }

    /// Orders the lines, and what belongs to the one that is selected.
    pub(crate) fn arrange(&mut self) -> Result<(), LiveError> {
        self.is_stale = true;
        for panel in [Panel::Disks, Panel::Network] {
            let all = if panel == Panel::Disks { &self.disks } else { &self.interfaces };
            let listing = self.listing_of(panel);
            let mut lines: Vec<Line> = all.iter().filter(|line| listing.keeps(line)).cloned().collect();
            lines.sort_by(|one, other| listing.order.compare(one, other));
            self.listing_mut(panel).show(lines);
        }
        // There may be thousands of users and groups: only those of the panel.
        match self.panel {
            Panel::Users => self.arrange_users(),
            Panel::Groups => self.arrange_groups(),
            Panel::Disks | Panel::Network => Ok(()),
        }
    }

    fn arrange_users(&mut self) -> Result<(), LiveError> {
        let all = self.figures.as_ref().map_or(&[][..], |figures| &figures.lines);
        let listing = self.listing();
        let order = listing.order;
        let wanted = |line: &&Line| (line.is_person || !self.people_only) && listing.keeps(line);
        let mut users: Vec<Line> = all.iter().filter(wanted).cloned().collect();
        users.sort_by(|one, other| order.compare(one, other));
        self.listing_mut(Panel::Users).show(users);
        self.commands = match (self.position, self.listing().selected_key()) {
            (Some(position), Some(user)) => commands(&mut self.reel, position, &user)?,
            _ => Vec::new(),
        };
        self.commands.sort_by(|one, other| order.compare(one, other));
        Ok(())
    }

    fn arrange_groups(&mut self) -> Result<(), LiveError> {
        let listing = self.listing();
        let lines = groups::arranged(&self.groups, listing.order, &self.folded, |line| listing.keeps(line));
        self.listing_mut(Panel::Groups).show(lines);
        self.details = match (self.position, self.listing().selected_key()) {
            (Some(position), Some(key)) => groups::details(&mut self.reel, position, &key)?,
            _ => None,
        };
        Ok(())
    }

    /// The list of the panel on the screen.
    pub(crate) fn listing(&self) -> &Listing {
        self.listing_of(self.panel)
    }

    pub(crate) fn listing_of(&self, panel: Panel) -> &Listing {
        &self.listings[panel as usize]
    }

    pub(crate) fn listing_mut(&mut self, panel: Panel) -> &mut Listing {
        &mut self.listings[panel as usize]
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

    /// Name of the selected user: from the interval if the user is in it.
    pub(crate) fn selected_name(&self) -> Option<&str> {
        let listing = self.listing_of(Panel::Users);
        listing.selected_line().map(|line| &*line.name).or(listing.selected.as_deref())
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

    /// Whether the log has what `panel` shows.
    pub(crate) fn has(&self, panel: Panel) -> bool {
        self.reel.has(panel.table())
    }

    /// Who wrote the log, on which machine, since when, and what went wrong, in sentences.
    pub(crate) fn provenance(&self) -> Vec<String> {
        let manifest = self.reel.manifest();
        let mut said = vec![format!("{}", self.dir.display())];
        if let Some(session) = manifest.sessions.last() {
            let host = self.host().map_or(String::new(), |host| format!(" of {host}"));
            let source = &session.source;
            said.push(format!("source {source}{host}, since {}", clock::shown(session.start_us)));
        }
        for incident in &manifest.incidents {
            said.push(format!("{} times {}: {}", incident.count, incident.kind, incident.detail));
        }
        said
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
            self.measure_span();
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
}

/// Wall-clock time [µs since 1970-01-01 UTC].
fn now_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}
