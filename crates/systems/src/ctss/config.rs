//! The checked configuration: values derived from the parameters together.

use std::sync::Arc;

use thinktime_engine::{Distribution, Span};

use super::levels::Scheduler;
use super::parameters::{Parameters, SwapDevice};
use super::store::Device;
use super::users::Step;
use crate::kernel::{ParameterError, Settings, refuse};

/// A checked configuration.
#[derive(Clone, Debug)]
pub(super) struct Config {
    /// Users at their terminals.
    pub users: u32,
    /// Those of them who type interactions at random; they come last.
    pub normal_users: u32,
    /// Name of the script, for the log.
    pub script_name: String,
    /// Interactions of the script.
    pub steps: Vec<Step>,
    /// Number of interactions of the script that are waited for.
    pub waiting: usize,
    /// Think time of normal users.
    pub normal_think: Distribution,
    /// Their processor time as a multiple of that in the script.
    pub normal_demand: f64,
    /// Time a terminal takes to type a line.
    pub line_time: Span,
    /// Resolution of the scripted users' clock; zero: exact.
    pub clock_resolution: Span,
    /// Core for users' programs [word].
    pub core: u32,
    /// Whether only the words needed by the next program are written.
    pub partial_swap: bool,
    /// Rules of the levels.
    pub scheduler: Scheduler,
    /// Whether a background program uses idle time.
    pub background: bool,
    /// Its size [word].
    pub background_words: u32,
    /// Supervisor time per line, typed or printed.
    pub line_overhead: Span,
    /// Device that programs are swapped to.
    pub swapper: Device,
    /// Device that commands come from.
    pub disk: Device,
    /// The disk as a running program has it: its files lie under the arm.
    pub files: Device,
    /// Words per transfer between files and core.
    pub record_words: u32,
}

/// Demands on this machine, as scripts name them.
const DEMANDS: [&str; 4] = ["cpu", "words", "disk", "lines"];

impl Config {
    pub fn new(parameters: &Parameters, settings: &Settings) -> Result<Config, ParameterError> {
        let (users, normal_users) = (parameters.users, parameters.normal_users);
        if normal_users > users {
            let remedy = format!("give at most as many normal users as there are users, {users}");
            return Err(refuse!(settings, parameters.normal_users, &remedy));
        }
        let core = parameters.core as u32;
        let background_words = parameters.background_words as u32;
        if background_words > core {
            let remedy = format!("give a background program that fits into core, {core} words");
            return Err(refuse!(settings, parameters.background_words, &remedy));
        }
        let steps = steps(parameters, settings)?;
        let disk = Device {
            seek_s: parameters.disk_seek,
            revolution_s: parameters.disk_revolution,
            word_s: parameters.disk_word_time,
        };
        let swapper = match parameters.swap_device {
            SwapDevice::Disk => disk,
            SwapDevice::Drum => Device {
                seek_s: 0.0,
                revolution_s: parameters.drum_revolution,
                word_s: parameters.drum_word_time,
            },
        };
        Ok(Config {
            users: users as u32,
            normal_users: normal_users as u32,
            script_name: parameters.script.name.clone(),
            waiting: steps.iter().filter(|step| step.waiting.is_some()).count(),
            steps,
            normal_think: parameters.normal_think.clone(),
            normal_demand: parameters.normal_demand,
            line_time: parameters.line_time,
            clock_resolution: parameters.clock_resolution,
            core,
            partial_swap: parameters.partial_swap,
            scheduler: scheduler(parameters, &swapper),
            background: parameters.background,
            background_words,
            line_overhead: parameters.line_overhead,
            swapper,
            disk,
            // The files of a running program lie under the arm: its transfers wait for the rotation only.
            files: Device { seek_s: 0.0, ..disk },
            record_words: parameters.disk_record_words as u32,
        })
    }

    /// True if `user` plays the script; normal users come after those who do.
    pub fn is_scripted(&self, user: u32) -> bool {
        user < self.users - self.normal_users
    }
}

/// Rules of the levels with this swap device.
fn scheduler(parameters: &Parameters, swapper: &Device) -> Scheduler {
    let quantum = parameters.quantum;
    Scheduler {
        levels: parameters.levels as u32,
        quantum: Span::from_seconds(parameters.quantum),
        // Twice: one program goes out for each that comes in.
        words_per_quantum: quantum / (2.0 * swapper.word_s),
        entry: parameters.entry,
        preempt: parameters.preempt,
    }
}

/// Interactions of the script, with their demands and their order.
fn steps(parameters: &Parameters, settings: &Settings) -> Result<Vec<Step>, ParameterError> {
    let demands = settings.demands(&parameters.script, &DEMANDS)?;
    let all = &parameters.script.interactions;
    let mut waiting = 0;
    let step = |(number, demands): (usize, Vec<Distribution>)| {
        let this = &all[number];
        let same = |other: Option<usize>| {
            other.and_then(|other| all.get(other)).is_some_and(|other| other.command == this.command)
        };
        let [cpu, words, disk, lines] = demands.try_into().unwrap_or_else(|_| unreachable!("one by name"));
        let place = this.waits().then_some(waiting);
        // Counted here, as responses are numbered by interactions that are waited for.
        waiting += usize::from(place.is_some());
        Step {
            command: Arc::from(this.command.as_str()),
            think: this.think.clone(),
            cpu,
            words,
            disk,
            lines,
            heavy: this.heavy,
            waiting: place,
            goes_on: same(number.checked_sub(1)),
            stays: same(Some(number + 1)),
        }
    };
    Ok(demands.into_iter().enumerate().map(step).collect())
}
