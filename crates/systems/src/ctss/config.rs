//! What the parameters mean together: a checked configuration.

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
    pub users: u32,
    pub normal_users: u32,
    pub script_name: String,
    pub steps: Vec<Step>,
    /// How many interactions of the script are waited for.
    pub waiting: usize,
    pub normal_think: Distribution,
    pub normal_demand: f64,
    pub line_time: Span,
    pub clock_resolution: Span,
    pub core: u32,
    pub partial_swap: bool,
    pub scheduler: Scheduler,
    pub background: bool,
    pub background_words: u32,
    pub line_overhead: Span,
    /// Where programs are swapped to.
    pub swapper: Device,
    /// Where commands come from.
    pub disk: Device,
    /// The disk as a running program has it, whose files lie under the arm.
    pub files: Device,
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
            files: Device { seek_s: 0.0, ..disk },
            record_words: parameters.disk_record_words as u32,
        })
    }

    /// Whether `user` plays the script.
    pub fn is_scripted(&self, user: u32) -> bool {
        user < self.users - self.normal_users
    }
}

fn scheduler(parameters: &Parameters, swapper: &Device) -> Scheduler {
    let quantum = parameters.quantum;
    Scheduler {
        levels: parameters.levels as u32,
        quantum: Span::from_seconds(parameters.quantum),
        words_per_quantum: quantum / (2.0 * swapper.word_s),
        preempt: parameters.preempt,
    }
}

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
        let place = this.wait_for.as_ref().map(|_| waiting);
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
