//! Parameters of APL/360, and what they mean together.

use serde_json::json;
use thinktime_engine::disk::Geometry;
use thinktime_engine::{Distribution, Span};

use super::disk;
use super::scheduler::{Dispatcher, Scheduler, Search};
use super::workload::{CLASSES, Class};
use crate::parameter::{Allowed, Parameter, ParameterError, Settings};

/// A checked configuration.
#[derive(Clone, Debug)]
pub(super) struct Config {
    pub users: u32,
    pub insertion: Distribution,
    pub reply: Distribution,
    pub scheduler: Scheduler,
    pub dispatcher: Dispatcher,
    pub slice: Span,
    pub dispatch: Span,
    pub regions: u32,
    pub slices_before_swap: u64,
    pub criterion_persists: bool,
    pub mix: Mix,
    pub disk: Geometry,
}

/// What is asked for, by class.
#[derive(Clone, Debug)]
pub(super) struct Mix {
    /// Shares added up, in the order of [`CLASSES`].
    pub up_to: [f64; 3],
    pub service: [Distribution; 3],
    /// Processor time in which an output-bound transaction fills the buffers.
    pub burst: Span,
    pub drain: Distribution,
    pub library_accesses: u32,
}

pub(super) const SCHEDULERS: [&str; 6] = ["original", "modified", "fb2", "fb_infinity", "mlf", "srpt"];
const DISPATCHERS: [&str; 2] = ["round_robin", "scheduler"];

impl Config {
    pub fn read(settings: &Settings) -> Result<Config, ParameterError> {
        if settings.number("time_slice") > settings.number("length") {
            return Err(settings.refuse("time_slice", "give a time slice that is no longer than the run"));
        }
        let levels = settings.integer("levels");
        let scheduler = match settings.word("scheduler") {
            "original" => Scheduler::Original,
            "modified" => Scheduler::Modified {
                search: if settings.word("background_search") == "arm" { Search::Arm } else { Search::List },
            },
            "fb2" => Scheduler::Feedback { levels: 2 },
            "fb_infinity" => Scheduler::FeedbackInfinity,
            "mlf" => Scheduler::Feedback { levels },
            _ => Scheduler::ShortestRemaining,
        };
        let dispatcher = match settings.word("dispatcher") {
            "round_robin" => Dispatcher::RoundRobin,
            _ if scheduler.by_address() => {
                let remedy = "give round_robin: the original and the modified scheduler rank no workspaces";
                return Err(settings.refuse("dispatcher", remedy));
            }
            _ => Dispatcher::Scheduler,
        };
        Ok(Config {
            users: settings.integer("users") as u32,
            insertion: settings.distribution("insertion_time").clone(),
            reply: settings.distribution("reply_time").clone(),
            scheduler,
            dispatcher,
            slice: settings.span("time_slice"),
            dispatch: settings.span("dispatch_overhead"),
            regions: settings.integer("regions") as u32,
            slices_before_swap: settings.integer("slices_before_swap"),
            criterion_persists: settings.flag("criterion_persists"),
            mix: Mix::read(settings)?,
            disk: disk::geometry(settings),
        })
    }
}

/// Shares may miss one by as much as three printed digits do.
const SHARES_TOLERANCE: f64 = 1e-3;

impl Mix {
    fn read(settings: &Settings) -> Result<Mix, ParameterError> {
        let share = |class: &Class| settings.number(&format!("{}_share", class.name()));
        let shares = CLASSES.map(|class| share(&class));
        let all: f64 = shares.iter().sum();
        if (all - 1.0).abs() > SHARES_TOLERANCE {
            let remedy = format!("give shares of the three classes that add up to 1, not to {all}");
            return Err(settings.refuse("compute_share", &remedy));
        }
        Ok(Mix {
            up_to: [shares[0] / all, (shares[0] + shares[1]) / all, 1.0],
            service: CLASSES.map(|class| settings.distribution(&format!("{}_service", class.name())).clone()),
            burst: settings.span("output_burst"),
            drain: settings.distribution("output_drain").clone(),
            library_accesses: settings.integer("library_accesses") as u32,
        })
    }
}

fn seconds(low: f64, high: f64, above: bool) -> Allowed {
    Allowed::Number { low, high, above }
}

pub(super) fn parameters() -> Vec<Parameter> {
    let mut all = population();
    all.extend(scheduling());
    all.extend(supervising());
    all.extend(workload());
    all.extend(hardware());
    all
}

const CALIBRATED: &str = "calibrated against the modified algorithm with a slice of 0.2 s (Tables 4 to 9) and \
     the original one (Table 4)";

fn population() -> Vec<Parameter> {
    vec![
        Parameter::new(
            "users",
            "user",
            json!(35),
            Allowed::Integer { low: 1, high: 10_000 },
            "Users at typewriter terminals, each with one workspace",
            "page 136: 35 active users",
        ),
        Parameter::new(
            "insertion_time",
            "s",
            json!({"kind": "exponential", "mean": 20.0}),
            Allowed::Distribution,
            "Time in which a user thinks and types an input",
            "page 136: exponential, mean 20 s; 20, 25 and 30 s in the validation",
        ),
        Parameter::new(
            "reply_time",
            "s",
            json!(0.7),
            Allowed::Distribution,
            "Time in which the typewriter types the reply to an input, before the next insertion begins",
            CALIBRATED,
        ),
    ]
}

fn scheduling() -> Vec<Parameter> {
    vec![
        Parameter::new(
            "scheduler",
            "",
            json!("modified"),
            Allowed::Choice(SCHEDULERS.to_vec()),
            "Which workspace is swapped in next: original and modified as measured and simulated in the paper, \
             fb2 and fb_infinity as proposed there, mlf (feedback with `levels` levels) and srpt (shortest \
             remaining service, which no real system knows) for comparison",
            "pages 127, 135, 136",
        ),
        Parameter::new(
            "levels",
            "",
            json!(4),
            Allowed::Integer { low: 1, high: 32 },
            "Levels of mlf; level k ends when 2^(k+1) - 1 time slices have been received",
            "chosen: each level's quantum is twice that of the one before",
        ),
        Parameter::new(
            "dispatcher",
            "",
            json!("round_robin"),
            Allowed::Choice(DISPATCHERS.to_vec()),
            "Which resident workspace gets the next slice: in turn, or the one that the scheduler prefers",
            "page 127: round robin, a newly loaded workspace first",
        ),
        Parameter::new(
            "time_slice",
            "s",
            json!(0.2),
            seconds(0.0, f64::INFINITY, true),
            "Longest time for which the interpreter runs one workspace",
            "pages 127, 135, 136: up to 0.2 s; 0.1 and 0.2 s in the experiment",
        ),
    ]
}

fn supervising() -> Vec<Parameter> {
    vec![
        Parameter::new(
            "dispatch_overhead",
            "s",
            json!(0.028),
            seconds(0.0, 10.0, false),
            "Supervisor time before each slice",
            CALIBRATED,
        ),
        Parameter::new(
            "slices_before_swap",
            "slice",
            json!(10),
            Allowed::Integer { low: 1, high: 1_000_000 },
            "Slices without another cause after which a resident workspace has to leave",
            "page 127",
        ),
        Parameter::new(
            "background_search",
            "",
            json!("list"),
            Allowed::Choice(vec!["list", "arm"]),
            "Modified scheduler: background workspaces are searched from the beginning of the list of \
             addresses, or from the disk's arm on as by the original one",
            "chosen against the cells of the modified algorithm with a slice of 0.2 s (Tables 5 and 9)",
        ),
        Parameter::new(
            "criterion_persists",
            "",
            json!(true),
            Allowed::Flag,
            "Original scheduler: whether a search goes on with the criterion that the one before it ended with; \
             false: each begins with workspaces that wait for their first slice",
            "chosen: the paper reports overlooked workspaces, which need it",
        ),
    ]
}

fn workload() -> Vec<Parameter> {
    let share = "page 134; Table 1";
    let fitted =
        "fitted to Table 1, to the percentages of page 130 and to the concentration curve (Figure 2)";
    let part = || seconds(0.0, 1.0, false);
    let service = |weights: &[f64], means: &[f64]| json!({"kind": "hyperexponential", "weights": weights, "means": means});
    vec![
        Parameter::new(
            "compute_share",
            "",
            json!(0.833),
            part(),
            "Inputs that are compute transactions",
            share,
        ),
        Parameter::new("command_share", "", json!(0.114), part(), "Inputs that are commands", share),
        Parameter::new("output_bound_share", "", json!(0.053), part(), "Inputs that are output-bound", share),
        Parameter::new(
            "compute_service",
            "s",
            service(&[0.79246, 0.19096, 0.014689, 0.001891], &[0.034578, 0.59008, 28.925, 138.03]),
            Allowed::Distribution,
            "Processor time of a compute transaction",
            fitted,
        ),
        Parameter::new(
            "command_service",
            "s",
            service(&[0.6896146, 0.30404, 0.0063454], &[0.15394, 1.1932, 42.877]),
            Allowed::Distribution,
            "Processor time of a command",
            fitted,
        ),
        Parameter::new(
            "output_bound_service",
            "s",
            service(&[0.27261, 0.61657, 0.11082], &[0.026124, 7.1331, 148.95]),
            Allowed::Distribution,
            "Processor time of an output-bound transaction",
            fitted,
        ),
        Parameter::new(
            "output_burst",
            "s",
            json!(0.7),
            seconds(0.0, f64::INFINITY, true),
            "Processor time in which an output-bound transaction fills all output buffers; one that asks for less \
             than twice as much fills them once, half-way",
            CALIBRATED,
        ),
        Parameter::new(
            "output_drain",
            "s",
            json!({"kind": "exponential", "mean": 28.0}),
            Allowed::Distribution,
            "Time in which the typewriter empties the buffers and the transaction waits",
            CALIBRATED,
        ),
        Parameter::new(
            "library_accesses",
            "access",
            json!(4),
            Allowed::Integer { low: 0, high: 1000 },
            "Disk accesses of a command to libraries and their directory, which occupies a region meanwhile",
            CALIBRATED,
        ),
    ]
}

fn hardware() -> Vec<Parameter> {
    vec![
        Parameter::new(
            "regions",
            "region",
            json!(4),
            Allowed::Integer { low: 1, high: 10_000 },
            "Regions of main memory, each for a workspace of 36 000 bytes",
            "page 126: four resident workspaces; three and four in the experiment",
        ),
        Parameter::new(
            "disk_seek",
            "s",
            json!(0.022),
            seconds(0.0, 10.0, false),
            "Shortest movement of the arm",
            "IBM 2314: 25 ms to the next cylinder; less where the arm need not move",
        ),
        Parameter::new(
            "disk_seek_across",
            "s",
            json!(0.038),
            seconds(0.0, 10.0, false),
            "What a movement across all workspaces takes more, in proportion to the distance",
            "chosen: a part of the 2314's 130 ms for all cylinders",
        ),
        Parameter::new(
            "disk_rotation",
            "s",
            json!(0.025),
            seconds(0.0, 10.0, false),
            "Rotation of the disk; latency is uniform up to it",
            "IBM 2314: 25 ms",
        ),
        Parameter::new(
            "disk_transfer",
            "s",
            json!(0.0628),
            seconds(0.0, 10.0, false),
            "Transfer of a workspace",
            "page 136: a mean access takes about 0.1 s; 0.11 s in all, calibrated as the rest",
        ),
    ]
}
