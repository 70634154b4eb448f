//! A complete play: calibrate, measure the baseline, play, and write everything to the log.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use thinktime_log::SharedWriter;
use thinktime_quantities::Distribution;

use crate::driver::interaction::{Interaction, user_label, wall_offset_us};
use crate::driver::work::Synthetic;
use crate::driver::{Observer, Outcome, Play, Progress, Verdict, drive};
use crate::error::{Context, TerminalsError};
use crate::interval::{MedianInterval, median_interval};
use crate::load::population::{Schedule, Users};
use crate::load::workload::Workload;
use crate::nursery::Nursery;
use crate::nursery::message::{Program, Report};
use crate::register::{Register, StepSummary, writer_of};
use crate::user::compute::{Calibration, calibrate};
use crate::user::direct::DirectCost;
use crate::user::prototype;

/// Options of a play.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlayOptions {
    /// Work of the users.
    pub workload: Workload,
    /// Numbers of users, one after the other.
    pub users: Users,
    /// Time for which each number of users plays [s].
    pub step_s: f64,
    /// Time over which users start evenly spaced, instead of in steps [s].
    #[serde(default)]
    pub ramp_s: Option<f64>,
    /// Think time; in an open-loop play, time between two inputs of a user [s].
    pub think: Distribution,
    /// True for an open-loop play, in which inputs are due whatever the system does.
    #[serde(default)]
    pub open_loop: bool,
    /// Seed: the same one gives the same think times and amounts of work.
    pub seed: u64,
    /// Folder for the scratch files, or a block device: its blocks are of 4096 bytes, and pass no cache.
    pub scratch: PathBuf,
    /// Control groups that are there already, and that the users' processes enter before they take memory.
    #[serde(default)]
    pub groups: Vec<PathBuf>,
    /// Time for which empty interactions are played before, to measure the baseline [s]; 0 leaves it out.
    pub baseline_s: f64,
}

impl PlayOptions {
    /// Schedule of the play, once all options are in their ranges.
    ///
    /// # Errors
    /// The first option that is not, with the remedy.
    pub fn check(&self) -> Result<Schedule, TerminalsError> {
        self.workload.check()?;
        check_common(self.open_loop, self.think.mean(), self.baseline_s, &self.scratch)?;
        Schedule::new(self.users, self.step_s, self.ramp_s)
    }

    /// Parameters of the users' processes.
    fn program(&self, calibration: &Calibration) -> Program {
        Program {
            seed: self.seed,
            workload: self.workload.clone(),
            steps_per_s: calibration.steps_per_s,
            scratch: self.scratch.clone(),
            groups: self.groups.clone(),
        }
    }
}

/// Checks the options that every play has.
pub(crate) fn check_common(
    open_loop: bool,
    think_mean_s: f64,
    baseline_s: f64,
    scratch: &Path,
) -> Result<(), TerminalsError> {
    if open_loop && think_mean_s < 0.001 {
        // With a mean of 0 an open-loop play would have infinitely many inputs.
        let problem = format!("a mean of {think_mean_s} s between inputs is too short");
        return Err(TerminalsError::input(
            "--think",
            problem,
            "give a mean of at least 1 ms for an open-loop play",
        ));
    }
    if !(0.0..=3600.0).contains(&baseline_s) {
        let problem = format!("{baseline_s} s is not between 0 and 3600 s");
        return Err(TerminalsError::input("--baseline", problem, "give a time such as 5s, or 0s for none"));
    }
    if !scratch.is_dir() && !prototype::is_device(scratch) {
        let item = format!("--scratch {}", scratch.display());
        return Err(TerminalsError::input(item, "is not a folder", "name a folder that you may write to"));
    }
    Ok(())
}

/// Times of an empty interaction: a lower bound of every response time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Baseline {
    /// Number of interactions.
    pub n: usize,
    /// Users who played them, with the think time of the play.
    pub users: u32,
    /// Time from due input to prompt [s].
    pub response_s: MedianInterval,
    /// Longest response time [s].
    pub response_max_s: f64,
    /// Time from due input to the first slice of service [s]; `None` where the user's process does not report it.
    pub reaction_s: Option<MedianInterval>,
    /// CPU time of the user's process [s]; `None` likewise.
    pub service_s: Option<MedianInterval>,
    /// CPU time of the driver per interaction [s].
    pub driver_cpu_s: f64,
}

/// Measurements before a play.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Prepared {
    /// Speed of the compute loop on this machine.
    pub calibration: Calibration,
    /// Time that the driver itself adds; `None` if it was left out, or too short for the think time.
    pub baseline: Option<Baseline>,
}

/// Speed of the compute loop and baseline, measured; takes `baseline_s` and a quarter of a second.
///
/// # Errors
/// An option is out of its range, the play of the baseline fails, or the observer ends it.
pub fn prepare(
    nursery: &Nursery,
    options: &PlayOptions,
    observe: &mut Observer<'_>,
) -> Result<Prepared, TerminalsError> {
    options.check()?;
    let calibration = calibrate();
    let baseline = match options.baseline_s > 0.0 {
        true => baseline(nursery, options, &calibration, observe)?,
        false => None,
    };
    Ok(Prepared { calibration, baseline })
}

/// Users who play the baseline: enough interactions in a few seconds, and a machine idle between them, as the
/// think time itself doubles the baseline (cold caches, CPUs that must wake up).
const BASELINE_USERS: u32 = 20;

/// Plays empty interactions and summarises their times; `None` if users think so long that none was completed.
fn baseline(
    nursery: &Nursery,
    options: &PlayOptions,
    calibration: &Calibration,
    observe: &mut Observer<'_>,
) -> Result<Option<Baseline>, TerminalsError> {
    let mut program = options.program(calibration);
    // The same memory in each process as in the play: its size changes the cost of a switch.
    program.workload = Workload { array_bytes: options.workload.array_bytes, ..Workload::named("empty")? };
    let users = Users { from: BASELINE_USERS, to: BASELINE_USERS, by: 1 };
    let schedule = Schedule::new(users, options.baseline_s, None)?;
    // Closed even before an open-loop play: inputs that queue would not measure the baseline.
    let work = Synthetic { program: &program, think: &options.think };
    summary(nursery, &Play { work: &work, schedule: &schedule, open_loop: false }, BASELINE_USERS, observe)
}

/// Plays interactions that request nothing, and summarises their times; `None` if none was completed.
pub(crate) fn summary(
    nursery: &Nursery,
    play: &Play<'_>,
    users: u32,
    observe: &mut Observer<'_>,
) -> Result<Option<Baseline>, TerminalsError> {
    let mut done = Vec::new();
    let outcome = drive(
        nursery,
        play,
        &mut |interactions| {
            done.extend(interactions.into_iter().filter(|interaction| interaction.completion_ns.is_some()));
            Ok(())
        },
        observe,
    )?;
    if outcome.stopped {
        return Err(TerminalsError::Stopped);
    }
    if done.is_empty() {
        return Ok(None);
    }
    let of = |value: fn(&Interaction) -> Option<f64>| {
        let values: Vec<f64> = done.iter().filter_map(value).collect();
        (!values.is_empty()).then(|| median_interval(values))
    };
    Ok(of(Interaction::response_s).map(|response_s| Baseline {
        n: done.len(),
        users,
        response_s,
        response_max_s: done.iter().filter_map(Interaction::response_s).fold(0.0, f64::max),
        reaction_s: of(Interaction::reaction_s),
        service_s: of(Interaction::service_s),
        driver_cpu_s: outcome.driver_cpu_s / done.len() as f64,
    }))
}

/// Demand of an interaction of a workload on this machine.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Demand {
    /// Number of interactions.
    pub n: usize,
    /// Mean CPU time of an interaction [s].
    pub service_s: f64,
    /// Lower end of its 95 % confidence interval, by the normal approximation [s].
    pub low_s: f64,
    /// Upper end of the interval [s].
    pub high_s: f64,
    /// Mean response time in the rehearsal [s].
    pub response_s: f64,
}

/// Plays without a log, to estimate the demand.
///
/// Compute loops vary most by far, and their expected demand is known: the estimate is the mean of CPU time
/// less the drawn demand of the loop, plus the loop's expected CPU time. This control variate needs a tenth of
/// the interactions that a plain mean needs (control variates: Law, Simulation Modeling and Analysis, section 11.4).
///
/// # Errors
/// As [`prepare`]; or fewer than two interactions were completed.
pub fn rehearse(
    nursery: &Nursery,
    options: &PlayOptions,
    prepared: &Prepared,
    observe: &mut Observer<'_>,
) -> Result<Demand, TerminalsError> {
    let schedule = options.check()?;
    let program = options.program(&prepared.calibration);
    let work = Synthetic { program: &program, think: &options.think };
    let play = Play { work: &work, schedule: &schedule, open_loop: options.open_loop };
    let workload = &options.workload;
    let (mut beyond_loop_s, mut responses_s) = (Vec::new(), Vec::new());
    let outcome = drive(
        nursery,
        &play,
        &mut |interactions| {
            for interaction in &interactions {
                let (Some(service_s), Some(response_s)) = (interaction.service_s(), interaction.response_s())
                else {
                    continue;
                };
                // Drawn again from its address, so that the user's process need not report it.
                let Interaction { user, index, .. } = *interaction;
                let class = workload.class_of(options.seed, user, index);
                let drawn = class.amounts(options.seed, user, index).compute_iterations;
                beyond_loop_s.push(service_s - drawn as f64 * workload.iteration_s);
                responses_s.push(response_s);
            }
            Ok(())
        },
        observe,
    )?;
    if outcome.stopped {
        return Err(TerminalsError::Stopped);
    }
    let n = beyond_loop_s.len();
    if n < 2 {
        let problem = format!("only {n} interactions were completed in {} s", schedule.end_s);
        return Err(TerminalsError::input(
            "rehearsal",
            problem,
            "rehearse longer, or with a shorter think time",
        ));
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / n as f64;
    let beyond_s = mean(&beyond_loop_s);
    let variance = beyond_loop_s.iter().map(|x| (x - beyond_s).powi(2)).sum::<f64>() / (n - 1) as f64;
    // The variance of the loops is not in it: their expected demand is added as a constant.
    let half_s = 1.96 * (variance / n as f64).sqrt();
    let service_s = beyond_s + workload.iteration_s * workload.mean(|class| class.compute_iterations.mean());
    Ok(Demand {
        n,
        service_s,
        low_s: service_s - half_s,
        high_s: service_s + half_s,
        response_s: mean(&responses_s),
    })
}

/// Result of a play.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Played {
    /// Totals of the play.
    pub outcome: Outcome,
    /// Summaries by the number of users, ascending.
    pub steps: Vec<StepSummary>,
    /// Why the response times are those of the driver too; `None` if they are not.
    pub driver_problem: Option<String>,
}

/// Plays into the log: rows of `interactions`, one event for each change of the population, and the key
/// `terminals` of the session.
///
/// # Errors
/// An option is out of its range, the play fails, or the log cannot be written.
pub fn play(
    nursery: &Nursery,
    options: &PlayOptions,
    prepared: &Prepared,
    writer: &SharedWriter,
    observe: &mut Observer<'_>,
) -> Result<Played, TerminalsError> {
    let schedule = options.check()?;
    let program = options.program(&prepared.calibration);
    let work = Synthetic { program: &program, think: &options.think };
    let play = Play { work: &work, schedule: &schedule, open_loop: options.open_loop };
    into_log(nursery, &play, writer, observe, &|outcome| facts(options, prepared, &schedule, outcome))
}

/// Plays into the log, with `facts` as the key `terminals` of the session: first without an outcome, then with it.
pub(crate) fn into_log(
    nursery: &Nursery,
    play: &Play<'_>,
    writer: &SharedWriter,
    observe: &mut Observer<'_>,
    facts: &dyn Fn(Option<&Outcome>) -> Json,
) -> Result<Played, TerminalsError> {
    // Tables are declared before the first user types: a failure of the log must not cost a play.
    let mut register = Register::open(writer, play.work.is_measured())?;
    // Already now: the log of a play that is killed then describes the play.
    writer_of(writer)?.set("terminals", facts(None))?;
    // The observer notices a change of the population, the next append writes it.
    let changes = RefCell::new(Vec::new());
    let mut last_users = 0;
    let outcome = drive(
        nursery,
        play,
        &mut |interactions| register.append(interactions, changes.take()),
        &mut |progress: &Progress| {
            if progress.users != last_users {
                last_users = progress.users;
                changes.borrow_mut().push((wall_now_us(), last_users));
            }
            observe(progress)
        },
    )?;
    let steps = register.summaries();
    let driver_problem = driver_problem(&outcome, &steps);
    let incidents = [
        ("user_lost", u64::from(outcome.lost), "a user's process died before the play ended"),
        ("timed_out", outcome.timed_out, "a reply was waited for in vain; the user logged in again"),
        ("prompt_unexpected", outcome.unexpected_prompts, "a prompt that no input was waiting for"),
        (
            "driver_was_load",
            u64::from(driver_problem.is_some()),
            "response times are those of the driver too",
        ),
    ];
    for (kind, _, detail) in incidents.iter().filter(|(_, count, _)| *count > 0) {
        writer_of(writer)?.incident(kind, detail)?;
    }
    let mut described = facts(Some(&outcome));
    // Whoever reads the log must not take the times for those of the system.
    described["outcome"]["driver_problem"] = json!(driver_problem);
    writer_of(writer)?.set("terminals", described)?;
    Ok(Played { outcome, steps, driver_problem })
}

/// Largest share of a CPU that the driver may take: beyond it, it has hardly time to be punctual.
const DRIVER_CPU_MAX: f64 = 0.5;
/// Largest mean lateness of inputs as a share of the mean response time, from a millisecond on.
const LATENESS_MAX: f64 = 0.1;

/// Why the response times are those of the driver too; `None` if they are not.
fn driver_problem(outcome: &Outcome, steps: &[StepSummary]) -> Option<String> {
    let share = outcome.driver_cpu_s / outcome.elapsed_s.max(1e-9);
    if share > DRIVER_CPU_MAX {
        return Some(format!("it took {:.0} % of a CPU", 100.0 * share));
    }
    let n: usize = steps.iter().map(|step| step.n).sum();
    let total_s: f64 = steps.iter().filter_map(|step| Some(step.response_mean_s? * step.n as f64)).sum();
    let (mean_s, late_s) = (total_s / n.max(1) as f64, outcome.lateness_mean_s);
    (late_s > (LATENESS_MAX * mean_s).max(1e-3)).then(|| {
        let (late_ms, mean_ms) = (1e3 * late_s, 1e3 * mean_s);
        format!(
            "it sent inputs {late_ms:.1} ms late on average, where the mean response time is {mean_ms:.1} ms"
        )
    })
}

/// Wall-clock time [µs since 1970 UTC].
fn wall_now_us() -> i64 {
    wall_offset_us() + (crate::user::compute::nanoseconds(rustix::time::ClockId::Monotonic) / 1000) as i64
}

/// Description of the play for the manifest; with `outcome` once it is over.
fn facts(options: &PlayOptions, prepared: &Prepared, schedule: &Schedule, outcome: Option<&Outcome>) -> Json {
    let workload = &options.workload;
    let compute_s = workload.iteration_s * workload.mean(|class| class.compute_iterations.mean());
    // The keys `course`, `open` and `floor` keep the names that logs of earlier versions have.
    let mut facts = json!({
        "workload": workload,
        "seed": options.seed,
        "users": options.users,
        "course": schedule,
        "think": options.think,
        "open": options.open_loop,
        "expected": {
            "think_s": options.think.mean(),
            "compute_s": compute_s,
            "pause_s": workload.mean(|class| class.pause_s.mean()),
            "file_blocks": workload.mean(|class| class.file_blocks.mean()),
            "output_lines": workload.mean(|class| class.output_lines.mean()),
            "forks": workload.mean(|class| class.forks.mean()),
            "fresh_pages": workload.mean(|class| class.fresh_pages.mean()),
        },
        "calibration": prepared.calibration,
        "floor": prepared.baseline,
    });
    add_outcome(&mut facts, outcome);
    facts
}

/// Adds the outcome of a play that is over to the description of it.
pub(crate) fn add_outcome(facts: &mut Json, outcome: Option<&Outcome>) {
    if let (Some(outcome), Json::Object(facts)) = (outcome, facts) {
        let sessions: BTreeMap<String, String> =
            outcome.sessions.iter().map(|(user, id)| (user_label(*user), format!("session:{id}"))).collect();
        let mut counts = json!(outcome);
        counts["sessions"] = json!(sessions);
        facts.insert("outcome".into(), counts);
    }
}

/// Costs of single requests on this machine, measured in a process like a user's.
///
/// # Errors
/// The process cannot be started or cannot measure, or the observer ends the measurement.
pub fn measure_direct(
    nursery: &Nursery,
    array_bytes: u64,
    observe: &mut Observer<'_>,
) -> Result<Vec<DirectCost>, TerminalsError> {
    nursery.measure(array_bytes)?;
    let tick = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
    loop {
        match nursery.report()? {
            Some(Report::Measured { costs }) => return Ok(costs),
            Some(Report::Failed { user, problem }) => return Err(TerminalsError::User { user, problem }),
            Some(_) => {}
            None => {
                // Five times per second, so that an interrupt by the user takes effect soon.
                if observe(&Progress::default()) == Verdict::Stop {
                    return Err(TerminalsError::Stopped);
                }
                match poll(&mut [PollFd::new(&nursery.reports(), PollFlags::IN)], Some(&tick)) {
                    // A signal, such as that of a child that ended: check again.
                    Err(rustix::io::Errno::INTR) => {}
                    result => {
                        result.doing("wait for the measurement", "start again")?;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_that_is_late_or_busy_is_the_load() {
        let steps = |response_s| {
            let mean = Some(response_s);
            let none = StepSummary {
                users: 1,
                n: 10,
                unfinished: 0,
                response_mean_s: mean,
                response_median_s: mean,
                response_p95_s: mean,
                service_mean_s: None,
            };
            vec![none]
        };
        let outcome = |driver_cpu_s, lateness_mean_s| Outcome {
            elapsed_s: 10.0,
            driver_cpu_s,
            lateness_mean_s,
            ..Outcome::default()
        };
        assert_eq!(driver_problem(&outcome(4.9, 0.0009), &steps(0.001)), None);
        assert_eq!(driver_problem(&outcome(0.1, 0.009), &steps(0.1)), None);
        let busy = driver_problem(&outcome(5.1, 0.0), &steps(1.0));
        assert_eq!(busy.as_deref(), Some("it took 51 % of a CPU"));
        let late = driver_problem(&outcome(0.1, 0.011), &steps(0.1));
        let words = "it sent inputs 11.0 ms late on average, where the mean response time is 100.0 ms";
        assert_eq!(late.as_deref(), Some(words));
    }
}
