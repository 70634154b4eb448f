//! What the parameters mean together: a checked configuration.

use serde_json::Value;
use thinktime_engine::drum::{DrumPlan, Organisation};
use thinktime_engine::{Distribution, Span, Time};

use super::events::{EVENTS, Event, Paths};
use super::pool::Lifetime;
use super::processors::{Locking, Section, Slowness};
use super::traffic::{Eligibility, Order};
use super::users::{Line, Role};
use super::versions::{Version, version};
use crate::parameter::{ParameterError, Settings};

/// Part of a page fault's path before the process waits; the rest follows when its page has come.
const BEFORE_PAGE: f64 = 0.7;
/// Core comes in boxes of so many Kwords; path lengths are known of machines with two and three.
const BOX_KWORDS: f64 = 128.0;
const PATHS_KNOWN_AT_KWORDS: f64 = 256.0;
/// Places at which the headways are given.
const PAGES_OF_HEADWAY: f64 = 32.0;
const SEGMENTS_OF_HEADWAY: f64 = 8.0;

/// A machine that can run.
#[derive(Clone, Debug)]
pub(super) struct Config {
    pub cpus: usize,
    pub core_kwords: u64,
    /// Pages of core that are not wired.
    pub pageable: u32,
    pub active_segments: u32,
    pub page_lifetime: Lifetime,
    pub segment_lifetime: Lifetime,
    pub gate_headway_ns: f64,
    pub modified: f64,
    pub kept: f64,
    pub examine: Span,
    pub paths: Paths,
    pub locks: Locking,
    pub segment_lock_share: f64,
    pub traffic_lock_share: f64,
    pub hold_through_getwork: bool,
    pub interrupts_to_one: bool,
    pub slowness: Slowness,
    pub eligibility: Eligibility,
    pub order: Order,
    pub levels: usize,
    quantum: Span,
    pub preempt: bool,
    pub drum: DrumPlan,
    pub disk_share: f64,
    pub disk_arms: u32,
    pub disk_access: Span,
    pub roles: Vec<Role>,
    /// Whether users that play the script take its lines at random instead of one after another.
    pub shuffled: bool,
    /// The script's, and one more for housekeeping.
    pub lines: Vec<Line>,
    pub script_lines: usize,
    pub waiting_lines: usize,
    pub normal_think: Distribution,
    pub demand: f64,
    pub normal_demand: f64,
    pub line_time: Span,
    clock: Span,
    pub terminal_delay: Span,
}

impl Config {
    pub fn read(settings: &Settings) -> Result<Config, ParameterError> {
        let version = version(settings.word("version"));
        let of_version = |name: &str, own: f64| of_version(settings, name, own);
        let mut lines = lines(settings)?;
        let script_lines = lines.len();
        let waiting_lines = lines.iter().filter(|line| line.waits.is_some()).count();
        lines.push(housekeeping(settings));
        let core = settings.integer("core");
        let exponent = settings.number("lifetime_exponent");
        let milliseconds = |value: f64| Span::from_nanoseconds(value * 1e6);
        let lifetime = |mean_ms: f64, places| Lifetime { mean: milliseconds(mean_ms), places, exponent };
        let segments = of_version("active_segments", version.active_segments as f64)?;
        Ok(Config {
            cpus: settings.integer("cpus") as usize,
            core_kwords: core,
            pageable: pageable(settings, core)?,
            active_segments: segments.round().max(1.0) as u32,
            page_lifetime: lifetime(of_version("headway", version.headway_ms)?, PAGES_OF_HEADWAY),
            segment_lifetime: lifetime(
                of_version("segment_headway", version.segment_headway_ms)?,
                SEGMENTS_OF_HEADWAY,
            ),
            gate_headway_ns: of_version("gate_headway", version.gate_headway_ms)? * 1e6,
            modified: settings.number("modified"),
            kept: settings.number("kept"),
            examine: milliseconds(of_version("examine", version.examine_ms)?),
            paths: paths(settings, version, core)?,
            locks: match settings.word("locks") {
                "none" => Locking::None,
                "global" => Locking::Global,
                _ => Locking::ByDataBase,
            },
            segment_lock_share: settings.number("segment_lock_share"),
            traffic_lock_share: settings.number("traffic_lock_share"),
            hold_through_getwork: settings.flag("hold_through_getwork"),
            interrupts_to_one: settings.word("interrupts") == "one_processor",
            slowness: slowness(settings, core),
            order: match settings.word("priority") {
                "of_version" => version.order,
                "first_eligible" => Order::FirstEligible,
                _ => Order::LastReady,
            },
            eligibility: match settings.word("eligibility") {
                "working_sets" => Eligibility::WorkingSets(f64::from(pageable(settings, core)?)),
                _ => Eligibility::Number(of_version("max_eligible", version.max_eligible)?.max(1.0)),
            },
            levels: settings.integer("levels") as usize,
            quantum: Span::from_seconds(of_version("quantum", version.quantum_s)?),
            preempt: settings.flag("preempt"),
            drum: drum(settings),
            disk_share: settings.number("disk_share"),
            disk_arms: settings.integer("disk_arms") as u32,
            disk_access: milliseconds(settings.number("disk_access")),
            roles: roles(settings)?,
            shuffled: chosen_or(settings, "order", "random", version.shuffled),
            lines,
            script_lines,
            waiting_lines,
            normal_think: settings.distribution("normal_think").clone(),
            demand: of_version("demand", version.demand)?,
            normal_demand: settings.number("normal_demand"),
            line_time: settings.span("line_time"),
            clock: settings.span("clock_resolution"),
            terminal_delay: Span::from_seconds(of_version("terminal_delay", version.terminal_delay_s)?),
        })
    }

    pub fn before_page(&self, whole: Span) -> Span {
        Span::from_nanoseconds(whole.0 as f64 * BEFORE_PAGE)
    }

    pub fn after_page(&self, whole: Span) -> Span {
        Span::from_nanoseconds(whole.0 as f64 * (1.0 - BEFORE_PAGE))
    }

    /// A path of which `share` is under its lock: that part, and the rest. One lock for everything is held to the end.
    pub fn in_part_locked(&self, whole: Section, share: f64) -> (Section, Option<Section>) {
        let share = if self.locks == Locking::Global { 1.0 } else { share };
        let locked = Span::from_nanoseconds(whole.length.0 as f64 * share);
        let rest = Section { lock: None, length: Span(whole.length.0 - locked.0) };
        if whole.lock.is_none() || locked == Span::ZERO {
            return (Section { lock: None, length: whole.length }, None);
        }
        (Section { length: locked, ..whole }, (rest.length > Span::ZERO).then_some(rest))
    }

    /// Processor time that a process has at `level` while it is eligible.
    pub fn quantum_of(&self, level: usize) -> Span {
        Span(self.quantum.0 << level.min(self.levels - 1))
    }

    /// From `from` to `to` as the user at the terminal sees it, by a clock that moves only now and then.
    pub fn by_the_users_clock(&self, from: Time, to: Time) -> Span {
        let to = to + self.terminal_delay;
        if self.clock == Span::ZERO {
            return to.since(from);
        }
        let read = |time: Time| time.0 / self.clock.0 * self.clock.0;
        Span(read(to) - read(from))
    }
}

/// The number of parameter `name`, or the version's `own`.
fn of_version(settings: &Settings, name: &str, own: f64) -> Result<f64, ParameterError> {
    match settings.value(name) {
        Value::String(word) if word == "of_version" => Ok(own),
        value => match value.as_f64() {
            Some(number) if number >= 0.0 && number.is_finite() => Ok(number),
            _ => Err(settings.refuse(name, "give a number of at least 0, or of_version")),
        },
    }
}

fn pageable(settings: &Settings, core: u64) -> Result<u32, ParameterError> {
    let wired = settings.integer("wired");
    // The faulting process needs a page, and so does the one whose page is taken.
    let least = wired + 2;
    if core < least {
        let remedy = format!(
            "{wired} Kwords of it are the supervisor's, wired down: give at least {least}, or a smaller wired"
        );
        return Err(settings.refuse("core", &remedy));
    }
    Ok((core - wired) as u32)
}

fn paths(settings: &Settings, version: &Version, core: u64) -> Result<Paths, ParameterError> {
    let boxes = (core as f64 - PATHS_KNOWN_AT_KWORDS) / BOX_KWORDS;
    let grows = settings.flag("path_growth");
    let mut mean = [Span::ZERO; EVENTS];
    for event in Event::ALL {
        let at = event as usize;
        let more = if grows { boxes * version.growth_ms[at] } else { 0.0 };
        // A core smaller than those measured does not make a path shorter than half.
        let own = (version.paths_ms[at] + more).max(0.5 * version.paths_ms[at]);
        let path_ms = of_version(settings, &format!("{}_path", event.name()), own)?;
        mean[at] = Span::from_nanoseconds(path_ms * 1e6);
    }
    Ok(Paths::new(mean, settings.number("path_cv")))
}

fn slowness(settings: &Settings, core: u64) -> Slowness {
    let active = 1.0 + settings.number("interference") / (core as f64 / BOX_KWORDS).max(1.0);
    Slowness { active, spinning: active + settings.number("spin_interference") }
}

fn drum(settings: &Settings) -> DrumPlan {
    DrumPlan {
        organisation: match settings.word("drum_organisation") {
            "first_come" => Organisation::Fcfs,
            _ => Organisation::SectorQueued,
        },
        revolution: Span::from_nanoseconds(settings.number("drum_rotation") * 1e6),
        pages: settings.integer("drum_sectors") as f64,
        start: Span::ZERO,
    }
}

fn roles(settings: &Settings) -> Result<Vec<Role>, ParameterError> {
    let (users, normal) = (settings.integer("users"), settings.integer("normal_users"));
    if normal > users {
        let remedy = format!("they are some of the {users} users: give at most {users}");
        return Err(settings.refuse("normal_users", &remedy));
    }
    let housekeeping = settings.integer("housekeeping");
    let of = |role, number: u64| std::iter::repeat_n(role, number as usize);
    Ok(of(Role::Scripted, users - normal)
        .chain(of(Role::Normal, normal))
        .chain(of(Role::Housekeeping, housekeeping))
        .collect())
}

/// Whether the word of parameter `name` is `yes`, or the version's `own` answer.
fn chosen_or(settings: &Settings, name: &str, yes: &str, own: bool) -> bool {
    match settings.word(name) {
        "of_version" => own,
        word => word == yes,
    }
}

fn lines(settings: &Settings) -> Result<Vec<Line>, ParameterError> {
    let names = ["cpu", "pages", "segments", "lines", "first_output"];
    let demands = settings.demands("script", &names);
    let think = match settings.value("think") {
        Value::String(word) if word == "of_script" => None,
        value => Some(Distribution::parse(value).map_err(|error| {
            let remedy = format!("{}: {}; give of_script, or {}", error.given, error.problem, error.allowed);
            settings.refuse("think", &remedy)
        })?),
    };
    let mut waiting = 0..;
    let mut lines = Vec::new();
    for (step, mut demand) in settings.script("script").interactions.iter().zip(demands) {
        let mut next = || demand.remove(0);
        lines.push(Line {
            command: step.command.as_str().into(),
            waits: if step.wait_for.is_some() { waiting.next() } else { None },
            heavy: step.heavy,
            think: think.clone().unwrap_or_else(|| step.think.clone()),
            cpu: next(),
            pages: next(),
            segments: next(),
            lines: next(),
            first_output: next(),
        });
    }
    Ok(lines)
}

/// What a process of the system itself does.
fn housekeeping(settings: &Settings) -> Line {
    let always = Distribution::deterministic;
    Line {
        command: "housekeeping".into(),
        waits: Some(u32::MAX),
        heavy: false,
        think: settings.distribution("housekeeping_think").clone(),
        cpu: settings.distribution("housekeeping_cpu").clone(),
        pages: always(settings.integer("housekeeping_pages") as f64),
        segments: always(SEGMENTS_OF_HEADWAY),
        lines: always(0.0),
        first_output: always(1.0),
    }
}
