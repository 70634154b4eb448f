//! The checked configuration: values derived from the parameters together.

use serde_json::Value;
use thinktime_engine::drum::DrumPlan;
use thinktime_engine::{Distribution, Span, Time};

use super::events::{EVENTS, Event, Paths};
use super::locks::{Locking, Section, Slowness};
use super::parameters::{EligibilityRule, InterruptRouting, LineOrder, Parameters, PriorityName};
use super::pool::Lifetime;
use super::traffic::{Eligibility, Order};
use super::users::{Line, Role};
use crate::kernel::{ParameterError, Settings, refuse};

/// Share of a page fault's path before the process waits; the rest follows when its page has come.
const BEFORE_PAGE: f64 = 0.7;
/// Size of a box of core [Kword]; path lengths are known for machines with two and three.
const BOX_KWORDS: f64 = 128.0;
/// Core for which the lengths of the paths are given [Kword].
const PATHS_KNOWN_AT_KWORDS: f64 = 256.0;
/// Pages in core for which the headway of page faults is given.
const PAGES_OF_HEADWAY: f64 = 32.0;
/// Active segments for which the headway of segment faults is given.
const SEGMENTS_OF_HEADWAY: f64 = 8.0;

/// A checked configuration.
#[derive(Clone, Debug)]
pub(super) struct Config {
    /// Processors, one or two.
    pub cpus: usize,
    /// Core [Kword].
    pub core_kwords: u64,
    /// Pages of core that are not wired.
    pub pageable: u32,
    /// Entries of the table of active segments.
    pub active_segments: u32,
    /// Useful time between page faults, by pages in core.
    pub page_lifetime: Lifetime,
    /// Useful time between segment faults, by active segments.
    pub segment_lifetime: Lifetime,
    /// Mean useful time between gate faults [ns].
    pub gate_headway_ns: f64,
    /// Share of the replaced pages that are written to the drum.
    pub modified: f64,
    /// Share of a process's pages and segments still used by its next command.
    pub kept: f64,
    /// Share of a page fault's path per examined place of core.
    pub examine: Span,
    /// Lengths of the supervisor's paths.
    pub paths: Paths,
    /// Locks of the supervisor's tables.
    pub locks: Locking,
    /// Share of a segment fault's path under its lock.
    pub segment_lock_share: f64,
    /// Share of getwork's path under its lock.
    pub traffic_lock_share: f64,
    /// Whether page control stays locked until another process is selected.
    pub hold_through_getwork: bool,
    /// Whether the first processor takes interrupts while none is idle.
    pub interrupts_to_one: bool,
    /// Interference of two processors.
    pub slowness: Slowness,
    /// Limit on eligible processes.
    pub eligibility: Eligibility,
    /// Order of the eligible processes of a level.
    pub order: Order,
    /// Queues of the traffic controller.
    pub levels: usize,
    /// Processor time while a process is eligible, at level 0.
    quantum: Span,
    /// Whether a process that becomes ready takes the processor from one of lower priority.
    pub preempt: bool,
    /// The paging drum.
    pub drum: DrumPlan,
    /// Share of the pages read that come from a disk.
    pub disk_share: f64,
    /// Disk arms.
    pub disk_arms: u32,
    /// Mean access time of a disk.
    pub disk_access: Span,
    /// Of each user and of each process of the system.
    pub roles: Vec<Role>,
    /// Whether users that play the script take its lines at random instead of in sequence.
    pub shuffled: bool,
    /// Lines of the script, and one more for housekeeping.
    pub lines: Vec<Line>,
    /// Number of lines of the script.
    pub script_lines: usize,
    /// Those of them that a user waits for.
    pub waiting_lines: usize,
    /// Think time of users who do not play the script.
    pub normal_think: Distribution,
    /// Factor on the script's processor time.
    pub demand: f64,
    /// A further factor for users who do not play the script.
    pub normal_demand: f64,
    /// Time to type a line of a reply.
    pub line_time: Span,
    /// Resolution of the users' clock; zero: exact.
    clock: Span,
    /// Time between a response and its appearance at the terminal.
    pub terminal_delay: Span,
}

impl Config {
    pub fn new(parameters: &Parameters, settings: &Settings) -> Result<Config, ParameterError> {
        let version = parameters.version;
        let mut lines = lines(parameters, settings)?;
        let script_lines = lines.len();
        let waiting_lines = lines.iter().filter(|line| line.waits.is_some()).count();
        // Last, so that the lines of the script keep their indices.
        lines.push(housekeeping(parameters));
        let core = parameters.core;
        let pageable = pageable(parameters, settings)?;
        let exponent = parameters.lifetime_exponent;
        let milliseconds = |value: f64| Span::from_nanoseconds(value * 1e6);
        let lifetime = |mean_ms: f64, places| Lifetime { mean: milliseconds(mean_ms), places, exponent };
        let segments = parameters.active_segments.or(version.active_segments as f64);
        Ok(Config {
            cpus: parameters.cpus as usize,
            core_kwords: core,
            pageable,
            active_segments: segments.round().max(1.0) as u32,
            page_lifetime: lifetime(parameters.headway.or(version.headway_ms), PAGES_OF_HEADWAY),
            segment_lifetime: lifetime(
                parameters.segment_headway.or(version.segment_headway_ms),
                SEGMENTS_OF_HEADWAY,
            ),
            gate_headway_ns: parameters.gate_headway.or(version.gate_headway_ms) * 1e6,
            modified: parameters.modified,
            kept: parameters.kept,
            examine: milliseconds(parameters.examine.or(version.examine_ms)),
            paths: paths(parameters),
            locks: parameters.locks,
            segment_lock_share: parameters.segment_lock_share,
            traffic_lock_share: parameters.traffic_lock_share,
            hold_through_getwork: parameters.hold_through_getwork,
            interrupts_to_one: parameters.interrupts == InterruptRouting::OneProcessor,
            slowness: slowness(parameters),
            order: match parameters.priority {
                PriorityName::OfVersion => version.order,
                PriorityName::FirstEligible => Order::FirstEligible,
                PriorityName::LastPage => Order::LastReady,
            },
            eligibility: match parameters.eligibility {
                EligibilityRule::WorkingSets => Eligibility::WorkingSets(f64::from(pageable)),
                EligibilityRule::Number => {
                    Eligibility::Number(parameters.max_eligible.or(version.max_eligible).max(1.0))
                }
            },
            levels: parameters.levels as usize,
            quantum: Span::from_seconds(parameters.quantum.or(version.quantum_s)),
            preempt: parameters.preempt,
            drum: drum(parameters),
            disk_share: parameters.disk_share,
            disk_arms: parameters.disk_arms as u32,
            disk_access: milliseconds(parameters.disk_access),
            roles: roles(parameters, settings)?,
            shuffled: match parameters.order {
                LineOrder::OfVersion => version.shuffled,
                order => order == LineOrder::Random,
            },
            lines,
            script_lines,
            waiting_lines,
            normal_think: parameters.normal_think.clone(),
            demand: parameters.demand.or(version.demand),
            normal_demand: parameters.normal_demand,
            line_time: parameters.line_time,
            clock: parameters.clock_resolution,
            terminal_delay: Span::from_seconds(parameters.terminal_delay.or(version.terminal_delay_s)),
        })
    }

    /// Part of a page fault's path before the wait for the page.
    pub fn before_page(&self, whole: Span) -> Span {
        Span::from_nanoseconds(whole.0 as f64 * BEFORE_PAGE)
    }

    /// Part of a page fault's path after the wait for the page.
    pub fn after_page(&self, whole: Span) -> Span {
        Span::from_nanoseconds(whole.0 as f64 * (1.0 - BEFORE_PAGE))
    }

    /// A path of which `share` is under its lock, as the locked part and the rest. One global lock is held to the
    /// end.
    pub fn in_part_locked(&self, whole: Section, share: f64) -> (Section, Option<Section>) {
        // The single lock covers every table, so that no part of a path can do without it.
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
        self.quantum.times(1 << level.min(self.levels - 1))
    }

    /// Time from `from` to `to` by the clock of the user at the terminal, which moves in steps.
    pub fn by_the_users_clock(&self, from: Time, to: Time) -> Span {
        // The user sees the reply later than the system has it.
        let to = to + self.terminal_delay;
        if self.clock == Span::ZERO {
            return to.since(from);
        }
        let read = |time: Time| time.0 / self.clock.0 * self.clock.0;
        Span(read(to) - read(from))
    }
}

/// Pages of core that are not wired.
fn pageable(parameters: &Parameters, settings: &Settings) -> Result<u32, ParameterError> {
    let (core, wired) = (parameters.core, parameters.wired);
    // The faulting process needs a page, and so does the one whose page is taken.
    let least = wired + 2;
    if core < least {
        let remedy = format!(
            "{wired} Kwords of it are the supervisor's, wired down: give at least {least}, or a smaller wired"
        );
        return Err(refuse!(settings, parameters.core, &remedy));
    }
    Ok((core - wired) as u32)
}

/// Mean lengths of the paths with the core of this machine.
fn paths(parameters: &Parameters) -> Paths {
    let version = parameters.version;
    let given = [
        parameters.page_fault_path,
        parameters.getwork_path,
        parameters.drum_interrupt_path,
        parameters.interrupt_path,
        parameters.segment_fault_path,
        parameters.gate_fault_path,
    ];
    let boxes = (parameters.core as f64 - PATHS_KNOWN_AT_KWORDS) / BOX_KWORDS;
    let grows = parameters.path_growth;
    let mut mean = [Span::ZERO; EVENTS];
    for (event, given) in Event::ALL.into_iter().zip(given) {
        let index = event as usize;
        let more = if grows { boxes * version.growth_ms[index] } else { 0.0 };
        // A core smaller than those measured does not make a path shorter than half.
        let of_version = (version.paths_ms[index] + more).max(0.5 * version.paths_ms[index]);
        mean[index] = Span::from_nanoseconds(given.or(of_version) * 1e6);
    }
    Paths::new(mean, parameters.path_cv)
}

/// Interference with the boxes of this machine: with b boxes two processors meet for 1/b of the time.
fn slowness(parameters: &Parameters) -> Slowness {
    let active = 1.0 + parameters.interference / (parameters.core as f64 / BOX_KWORDS).max(1.0);
    Slowness { active, spinning: active + parameters.spin_interference }
}

fn drum(parameters: &Parameters) -> DrumPlan {
    DrumPlan {
        organisation: parameters.drum_organisation,
        revolution: Span::from_nanoseconds(parameters.drum_rotation * 1e6),
        pages: parameters.drum_sectors as f64,
        start: Span::ZERO,
    }
}

/// Users who play the script, the other users, and the processes of the system.
fn roles(parameters: &Parameters, settings: &Settings) -> Result<Vec<Role>, ParameterError> {
    let (users, normal) = (parameters.users, parameters.normal_users);
    if normal > users {
        let remedy = format!("they are some of the {users} users: give at most {users}");
        return Err(refuse!(settings, parameters.normal_users, &remedy));
    }
    let housekeeping = parameters.housekeeping;
    let of = |role, number: u64| std::iter::repeat_n(role, number as usize);
    Ok(of(Role::Scripted, users - normal)
        .chain(of(Role::Normal, normal))
        .chain(of(Role::Housekeeping, housekeeping))
        .collect())
}

/// Lines of the script, with their demands on this machine.
fn lines(parameters: &Parameters, settings: &Settings) -> Result<Vec<Line>, ParameterError> {
    let names = ["cpu", "pages", "segments", "lines", "first_output"];
    let demands = settings.demands(&parameters.script, &names)?;
    let think = match &parameters.think {
        Value::String(word) if word == "of_script" => None,
        value => Some(Distribution::parse(value).map_err(|error| {
            let remedy = format!("{}: {}; give of_script, or {}", error.given, error.problem, error.allowed);
            refuse!(settings, parameters.think, &remedy)
        })?),
    };
    let mut waiting = 0..;
    let mut lines = Vec::new();
    for (step, mut demand) in parameters.script.interactions.iter().zip(demands) {
        let mut next = || demand.remove(0);
        lines.push(Line {
            command: step.command.as_str().into(),
            // Numbered in order: responses by line are those of the lines that are waited for.
            waits: if step.waits() { waiting.next() } else { None },
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

/// Work of a process of the system, as a line of its own.
fn housekeeping(parameters: &Parameters) -> Line {
    let always = Distribution::deterministic;
    Line {
        command: "housekeeping".into(),
        waits: Some(u32::MAX),
        heavy: false,
        think: parameters.housekeeping_think.clone(),
        cpu: parameters.housekeeping_cpu.clone(),
        pages: always(parameters.housekeeping_pages as f64),
        segments: always(SEGMENTS_OF_HEADWAY),
        lines: always(0.0),
        first_output: always(1.0),
    }
}
