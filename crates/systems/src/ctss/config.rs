//! What the parameters mean together: a checked configuration.

use std::sync::Arc;

use thinktime_engine::{Distribution, Span};

use super::levels::{Preempt, Scheduler};
use super::store::Device;
use super::users::Step;
use crate::parameter::{ParameterError, Settings};

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
    pub fn read(settings: &Settings) -> Result<Config, ParameterError> {
        let (users, normal_users) = (settings.integer("users"), settings.integer("normal_users"));
        if normal_users > users {
            let remedy = format!("give at most as many normal users as there are users, {users}");
            return Err(settings.refuse("normal_users", &remedy));
        }
        let core = settings.integer("core") as u32;
        let background_words = settings.integer("background_words") as u32;
        if background_words > core {
            let remedy = format!("give a background program that fits into core, {core} words");
            return Err(settings.refuse("background_words", &remedy));
        }
        let steps = steps(settings);
        let disk = Device {
            seek_s: settings.number("disk_seek"),
            revolution_s: settings.number("disk_revolution"),
            word_s: settings.number("disk_word_time"),
        };
        let swapper = match settings.word("swap_device") {
            "disk" => disk,
            _ => Device {
                seek_s: 0.0,
                revolution_s: settings.number("drum_revolution"),
                word_s: settings.number("drum_word_time"),
            },
        };
        Ok(Config {
            users: users as u32,
            normal_users: normal_users as u32,
            script_name: settings.script("script").name.clone(),
            waiting: steps.iter().filter(|step| step.waiting.is_some()).count(),
            steps,
            normal_think: settings.distribution("normal_think").clone(),
            normal_demand: settings.number("normal_demand"),
            line_time: settings.span("line_time"),
            clock_resolution: settings.span("clock_resolution"),
            core,
            partial_swap: settings.flag("partial_swap"),
            scheduler: scheduler(settings, &swapper),
            background: settings.flag("background"),
            background_words,
            line_overhead: settings.span("line_overhead"),
            swapper,
            disk,
            files: Device { seek_s: 0.0, ..disk },
            record_words: settings.integer("disk_record_words") as u32,
        })
    }

    /// Whether `user` plays the script.
    pub fn is_scripted(&self, user: u32) -> bool {
        user < self.users - self.normal_users
    }
}

fn scheduler(settings: &Settings, swapper: &Device) -> Scheduler {
    let quantum = settings.number("quantum");
    Scheduler {
        levels: settings.integer("levels") as u32,
        quantum: settings.span("quantum"),
        words_per_quantum: quantum / (2.0 * swapper.word_s),
        preempt: match settings.word("preempt") {
            "at_once" => Preempt::AtOnce,
            "never" => Preempt::Never,
            _ => Preempt::NewcomersTurn,
        },
    }
}

fn steps(settings: &Settings) -> Vec<Step> {
    let demands = settings.demands("script", &DEMANDS);
    let all = &settings.script("script").interactions;
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
    demands.into_iter().enumerate().map(step).collect()
}
