//! A play of a script: the floor of its channel, the play, and a look at both beforehand.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use thinktime_log::SharedWriter;
use thinktime_quantities::Distribution;
use thinktime_script::Script;

use super::host::Host;
use super::{LOGIN_TIMEOUT_S, Planned, Typed};
use crate::driver::{Observer, Outcome, Play};
use crate::error::TerminalsError;
use crate::load::population::{Schedule, Users};
use crate::nursery::Nursery;
use crate::play::{Baseline, Played, add_outcome, check_common, into_log, summary};

/// Users who play the floor, and their mean think time [s]: some hundred interactions in a few seconds, and a machine
/// that is idle between them.
const FLOOR_USERS: u32 = 4;
const FLOOR_THINK_S: f64 = 0.1;

/// Options of a play of a script.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptOptions {
    /// The script, in the form of `Script::to_json`.
    pub script: Json,
    /// Numbers of users, one after the other.
    pub users: Users,
    /// Time for which each number of users plays [s].
    pub step_s: f64,
    /// Time over which users start evenly spaced, instead of in steps [s].
    #[serde(default)]
    pub ramp_s: Option<f64>,
    /// Think time in place of those of the script [s].
    #[serde(default)]
    pub think: Option<Distribution>,
    /// True for an open-loop play, in which inputs are due whatever the system does.
    #[serde(default)]
    pub open_loop: bool,
    /// Seed of think times and typing.
    pub seed: u64,
    /// Folder of the users' homes on this machine.
    pub scratch: PathBuf,
    /// Time for which the floor is measured before [s]; 0 leaves it out.
    pub baseline_s: f64,
    /// Host on which the users log in, `ssh://[user@]host[:port]`; `None` for this machine.
    #[serde(default)]
    pub on: Option<String>,
    /// Longest time from the start of a login to its first prompt [s].
    #[serde(default = "login_timeout")]
    pub login_timeout_s: f64,
}

fn login_timeout() -> f64 {
    LOGIN_TIMEOUT_S
}

impl ScriptOptions {
    /// Schedule of the play, and the script as it is typed, once all options are in their ranges.
    ///
    /// # Errors
    /// The first option that is not, with the remedy.
    pub fn check(&self) -> Result<(Schedule, Typed), TerminalsError> {
        let script = Script::from_json(&self.script).map_err(|error| {
            let item = format!("{}: {}", error.place(), error.item);
            TerminalsError::input(item, error.problem, error.remedy)
        })?;
        let thinks = script.interactions.iter().map(|step| step.think.mean());
        let mean_s = match &self.think {
            Some(think) => think.mean(),
            None => thinks.sum::<f64>() / script.interactions.len() as f64,
        };
        check_common(self.open_loop, mean_s, self.baseline_s, &self.scratch)?;
        if !(0.1..=3600.0).contains(&self.login_timeout_s) {
            let problem = format!("{} s is not between 0.1 s and 1 h", self.login_timeout_s);
            return Err(TerminalsError::input("--login-timeout", problem, "give a time such as 60s"));
        }
        let host = self.on.as_deref().map_or(Ok(Host::Here), str::parse)?;
        let schedule = Schedule::new(self.users, self.step_s, self.ramp_s)?;
        let typed = Typed::new(script, self.seed, self.think.clone(), host, &self.scratch)?;
        Ok((schedule, typed.with_login_timeout(self.login_timeout_s)))
    }
}

/// One pass of `user` through the script.
///
/// # Errors
/// An option is out of its range.
pub fn plan(options: &ScriptOptions, user: u32) -> Result<Vec<Planned>, TerminalsError> {
    Ok(options.check()?.1.plan(user))
}

/// Programs that the script needs and the host does not have.
///
/// # Errors
/// An option is out of its range, or the host cannot be reached.
pub fn missing(options: &ScriptOptions) -> Result<Vec<String>, TerminalsError> {
    let (_, typed) = options.check()?;
    typed.host.missing(&typed.needs(), options.login_timeout_s)
}

/// Times of an empty command at the prompt, on the channel of the play: what the instrument itself takes. `None` if it
/// was left out, or nothing was completed.
///
/// # Errors
/// An option is out of its range, the host has not what the script needs, a login fails, or the observer ends it.
pub fn floor(
    nursery: &Nursery,
    options: &ScriptOptions,
    observe: &mut Observer<'_>,
) -> Result<Option<Baseline>, TerminalsError> {
    let (_, typed) = options.check()?;
    if options.baseline_s <= 0.0 {
        return Ok(None);
    }
    let users = Users { from: FLOOR_USERS, to: FLOOR_USERS, by: 1 };
    let schedule = Schedule::new(users, options.baseline_s, None)?;
    let work = typed.empty(Distribution::exponential(FLOOR_THINK_S));
    summary(nursery, &Play { work: &work, schedule: &schedule, open_loop: false }, FLOOR_USERS, observe)
}

/// Plays into the log: rows of `interactions`, one event for each change of the population, and the key `terminals` of
/// the session.
///
/// # Errors
/// An option is out of its range, the play fails, or the log cannot be written.
pub fn play(
    nursery: &Nursery,
    options: &ScriptOptions,
    floor: Option<&Baseline>,
    writer: &SharedWriter,
    observe: &mut Observer<'_>,
) -> Result<Played, TerminalsError> {
    let (schedule, typed) = options.check()?;
    let play = Play { work: &typed, schedule: &schedule, open_loop: options.open_loop };
    into_log(nursery, &play, writer, observe, &|outcome| facts(options, &typed, floor, &schedule, outcome))
}

/// Description of the play for the manifest; with `outcome` once it is over.
fn facts(
    options: &ScriptOptions,
    typed: &Typed,
    floor: Option<&Baseline>,
    schedule: &Schedule,
    outcome: Option<&Outcome>,
) -> Json {
    let mut facts = json!({
        "workload": typed.script.to_json(),
        "seed": options.seed,
        "users": options.users,
        "course": schedule,
        "think": options.think,
        "open": options.open_loop,
        "on": options.on,
        "floor": floor,
    });
    add_outcome(&mut facts, outcome);
    facts
}
