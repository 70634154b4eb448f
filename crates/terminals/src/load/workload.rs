//! The work of synthetic users: Brachman's prototype process, and a mixed load.
//!
//! Source: B. J. Brachman, "A model of the UNIX time-sharing system under disk saturation", M.Sc.
//! thesis, University of British Columbia, 1983, chapter 4: an interaction of the prototype process is
//! a compute loop, reads, writes and seeks on a scratch file of its own, a pause, several strings of 25
//! characters to the terminal; a dummy array sets the size of the process; every amount is drawn from
//! a distribution with a seed of its own, so that averages are constant while details vary.
//!
//! # Choices where the thesis leaves something open
//! - *Compute loop.* Table III gives the number of iterations; one took 0.083 to 0.097 ms on the
//!   PDP-11/34A. Here an iteration is a fixed amount of register arithmetic that takes `iteration_s`
//!   (0.09 ms by default) of CPU time on this machine by calibration.
//! - *File activity.* "About 6 blocks per interaction on average, sometimes none": geometric with
//!   mean 6, which is none in 1 of 7 interactions. A block is a write with probability 0.4, else a read;
//!   before each block the process seeks to a random block with probability 0.5, else goes on.
//! - *Pause.* At most 3 s and "low priority" in the thesis, where it stands for the think time. Here
//!   the user at the terminal thinks, and the pause is the short wait of a program for something else:
//!   exponential with scale 0.1 s, cut at 3 s.
//! - *Output.* "Several" strings: 2 to 8, equally probable.
//!   The terminal is as fast as the driver reads it: no line speed is imitated, so that a process hardly
//!   ever waits for a full output buffer.
//! - *Array.* Each page is written to in each interaction, since UNIX would have swapped in all of it.

use serde::{Deserialize, Serialize};

use thinktime_quantities::{Distribution, Law};

use crate::error::TerminalsError;
use crate::load::random::{Draw, Part, Stream};

/// Bytes of a block of the scratch file (the block of UNIX V6).
pub const BLOCK_BYTES: usize = 512;
/// Characters of an output string (U.B.C. thesis: 25).
pub const LINE_CHARACTERS: usize = 25;

/// One class of interaction: the amounts of work in each part of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// Text that the user types: 1 to 32 lower-case letters, digits, `_` and `-`.
    pub name: String,
    /// Frequency relative to the other classes, above 0.
    pub weight: f64,
    /// Iterations of the compute loop.
    #[serde(default = "none")]
    pub compute_iterations: Distribution,
    /// Blocks of 512 bytes read from or written to the scratch file.
    #[serde(default = "none")]
    pub file_blocks: Distribution,
    /// Probability that a block is written, not read.
    #[serde(default = "write_share")]
    pub write_share: f64,
    /// Probability of a seek to a random block before a block.
    #[serde(default = "seek_share")]
    pub seek_share: f64,
    /// Probability that the file is forced to the disk after a written block.
    #[serde(default)]
    pub sync_share: f64,
    /// Wait inside the interaction [s].
    #[serde(default = "none")]
    pub pause_s: Distribution,
    /// Strings of 25 characters written to the terminal.
    #[serde(default = "none")]
    pub output_lines: Distribution,
    /// Child processes, one after the other; each ends at once.
    #[serde(default = "none")]
    pub forks: Distribution,
    /// Probability that a child executes /bin/true instead of ending by itself.
    #[serde(default)]
    pub exec_share: f64,
    /// Pages of fresh memory that are touched and given back.
    #[serde(default = "none")]
    pub fresh_pages: Distribution,
}

/// Default of every amount: none of it.
fn none() -> Distribution {
    Distribution::deterministic(0.0)
}

/// Default share of writes: the choice for the prototype (head of this module).
fn write_share() -> f64 {
    0.4
}

/// Default share of seeks: the choice for the prototype.
fn seek_share() -> f64 {
    0.5
}

/// Amounts of one interaction, drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Amounts {
    /// Iterations of the compute loop.
    pub compute_iterations: u64,
    /// Blocks read or written.
    pub file_blocks: u64,
    /// Wait inside the interaction [s].
    pub pause_s: f64,
    /// Strings written to the terminal.
    pub output_lines: u64,
    /// Child processes.
    pub forks: u64,
    /// Pages of fresh memory.
    pub fresh_pages: u64,
}

impl Class {
    /// A class with none of any work.
    fn new(name: &str, weight: f64) -> Class {
        Class {
            name: name.into(),
            weight,
            compute_iterations: none(),
            file_blocks: none(),
            write_share: write_share(),
            seek_share: seek_share(),
            sync_share: 0.0,
            pause_s: none(),
            output_lines: none(),
            forks: none(),
            exec_share: 0.0,
            fresh_pages: none(),
        }
    }

    /// Amounts of interaction `index` of `user`. Driver and process compute them alike, from the address. A stream
    /// for each amount: a change of one distribution changes no other amount.
    pub fn amounts(&self, seed: u64, user: u32, index: u64) -> Amounts {
        let stream = |part| Stream::at(seed, user, part, index);
        Amounts {
            compute_iterations: self.compute_iterations.draw_count(&mut stream(Part::Compute)),
            file_blocks: self.file_blocks.draw_count(&mut stream(Part::File)),
            pause_s: self.pause_s.draw(&mut stream(Part::Pause)),
            output_lines: self.output_lines.draw_count(&mut stream(Part::Output)),
            forks: self.forks.draw_count(&mut stream(Part::Forks)),
            fresh_pages: self.fresh_pages.draw_count(&mut stream(Part::FreshPages)),
        }
    }

    /// Checks the ranges of all fields; `item` is the name of the class in errors.
    fn check(&self, item: &str) -> Result<(), TerminalsError> {
        let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
        // The name is typed at a terminal: characters that the line discipline acts on, and blanks, would change the
        // input.
        if self.name.is_empty() || self.name.len() > 32 || !self.name.chars().all(letters) {
            let remedy = "use 1 to 32 lower-case letters, digits, _ and -";
            return Err(TerminalsError::input(
                format!("{item}.name"),
                format!("{:?} is not a valid name", self.name),
                remedy,
            ));
        }
        if !(self.weight.is_finite() && self.weight > 0.0) {
            let problem = format!("{} is not a finite number above 0", self.weight);
            return Err(TerminalsError::input(format!("{item}.weight"), problem, "give a positive weight"));
        }
        for (name, share) in [
            ("write_share", self.write_share),
            ("seek_share", self.seek_share),
            ("sync_share", self.sync_share),
            ("exec_share", self.exec_share),
        ] {
            if !(0.0..=1.0).contains(&share) {
                let problem = format!("{share} is not a probability");
                return Err(TerminalsError::input(
                    format!("{item}.{name}"),
                    problem,
                    "give a number from 0 to 1",
                ));
            }
        }
        Ok(())
    }
}

/// The work of every user. The number of users and their think times belong to the play.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Name, as in the manifest of the log.
    pub name: String,
    /// CPU time of one iteration of the compute loop [s].
    #[serde(default = "iteration_s")]
    pub iteration_s: f64,
    /// Size of the resident array of each process [byte].
    #[serde(default = "array_bytes")]
    pub array_bytes: u64,
    /// Size of each process's scratch file, in blocks of 512 bytes.
    #[serde(default = "scratch_blocks")]
    pub scratch_blocks: u64,
    /// Classes of interaction, with different names; at least one.
    pub classes: Vec<Class>,
}

/// One iteration on the PDP-11/34A: 0.083 to 0.097 ms in the five rows of Table III.
fn iteration_s() -> f64 {
    90e-6
}

/// 157 clicks of 64 bytes, the smaller process of Table II.
fn array_bytes() -> u64 {
    157 * 64
}

/// 128 KiB: a small part of main memory, so that reads are served from the page cache.
fn scratch_blocks() -> u64 {
    256
}

/// Table III: cumulative percent of compute loops of at most 5, 20, 200 and 5000 iterations, by the
/// mean CPU burst in milliseconds.
const TABLE_III: [(u32, [f64; 4]); 5] = [
    (12, [3.0, 36.0, 100.0, 100.0]),
    (30, [1.0, 19.0, 97.0, 100.0]),
    (60, [1.0, 5.0, 90.0, 100.0]),
    (186, [1.0, 5.0, 57.0, 100.0]),
    (354, [1.0, 5.0, 15.0, 100.0]),
];

/// Distribution of the iterations of the compute loop for a mean CPU burst of 12, 30, 60, 186 or 354 ms
/// (Table III).
///
/// # Errors
/// There is no row for this burst.
pub fn table_iii(burst_ms: u32) -> Result<Distribution, TerminalsError> {
    let row = TABLE_III.iter().find(|(ms, _)| *ms == burst_ms).ok_or_else(|| {
        TerminalsError::input(
            "burst",
            format!("{burst_ms} ms is not a row of Table III"),
            "use 12, 30, 60, 186 or 354",
        )
    })?;
    let below = [&[0.0], &row.1[..3]].concat();
    let weights = row.1.iter().zip(below).map(|(to, from)| (to - from) / 100.0).collect();
    Ok(of(Law::Discrete { values: vec![5.0, 20.0, 200.0, 5000.0], weights }))
}

impl Workload {
    /// The names of the built-in workloads.
    pub const NAMES: [&str; 3] = ["prototype", "mixed", "empty"];

    /// A built-in workload by its name.
    pub fn named(name: &str) -> Result<Workload, TerminalsError> {
        let classes = match name {
            "prototype" => vec![prototype()],
            "mixed" => mixed(),
            "empty" => vec![Class::new("empty", 1.0)],
            _ => {
                let remedy = format!("use {}, or the path of a workload in JSON", Workload::NAMES.join(", "));
                return Err(TerminalsError::input("workload", format!("{name:?} is unknown"), remedy));
            }
        };
        Ok(Workload {
            name: name.into(),
            iteration_s: iteration_s(),
            array_bytes: array_bytes(),
            scratch_blocks: scratch_blocks(),
            classes,
        })
    }

    /// Class of interaction `index` of `user`.
    pub fn class_of(&self, seed: u64, user: u32, index: u64) -> &Class {
        let total: f64 = self.classes.iter().map(|class| class.weight).sum();
        let mut position = total * Stream::at(seed, user, Part::Class, index).uniform();
        let last = self.classes.len() - 1;
        self.classes[..last]
            .iter()
            .find(|class| {
                position -= class.weight;
                position < 0.0
            })
            .unwrap_or(&self.classes[last])
    }

    /// Mean of `amount` over the classes, weighted by their frequency.
    pub fn mean(&self, amount: impl Fn(&Class) -> f64) -> f64 {
        let total: f64 = self.classes.iter().map(|class| class.weight).sum();
        self.classes.iter().map(|class| class.weight * amount(class)).sum::<f64>() / total
    }

    /// Checks the ranges of all fields.
    ///
    /// # Errors
    /// The first field that is out of its range, with the remedy.
    pub fn check(&self) -> Result<(), TerminalsError> {
        if self.classes.is_empty() {
            return Err(TerminalsError::input("workload.classes", "is empty", "give at least one class"));
        }
        if !(self.iteration_s.is_finite() && self.iteration_s >= 0.0) {
            let problem = format!("{} is not a finite number of at least 0", self.iteration_s);
            return Err(TerminalsError::input("workload.iteration_s", problem, "give seconds"));
        }
        if !(1..=1 << 32).contains(&self.scratch_blocks) {
            let problem = format!("{} is not between 1 and 2^32", self.scratch_blocks);
            return Err(TerminalsError::input(
                "workload.scratch_blocks",
                problem,
                "give a number of blocks of 512 bytes",
            ));
        }
        for (index, class) in self.classes.iter().enumerate() {
            class.check(&format!("workload.classes[{index}]"))?;
            // A user's process finds the class of an input by its name.
            if self.classes[..index].iter().any(|other| other.name == class.name) {
                let item = format!("workload.classes[{index}].name");
                return Err(TerminalsError::input(
                    item,
                    format!("{:?} is used twice", class.name),
                    "rename one",
                ));
            }
        }
        Ok(())
    }
}

/// Distribution of a built-in workload. Its parameters are constants that the tests check.
fn of(law: Law) -> Distribution {
    Distribution::new(law).unwrap_or_else(|error| panic!("a built-in workload: {error}"))
}

fn loop_of(burst_ms: u32) -> Distribution {
    table_iii(burst_ms).unwrap_or_else(|error| panic!("a built-in workload: {error}"))
}

fn geometric(mean: f64) -> Distribution {
    of(Law::Geometric { mean })
}

fn integers(low: u32, high: u32) -> Distribution {
    of(Law::Integers { low, high })
}

fn exponential(mean: f64, max: f64) -> Distribution {
    of(Law::Exponential { mean, max: Some(max) })
}

fn prototype() -> Class {
    Class {
        compute_iterations: loop_of(12),
        file_blocks: geometric(6.0),
        pause_s: exponential(0.1, 3.0),
        output_lines: integers(2, 8),
        ..Class::new("interaction", 1.0)
    }
}

/// Users of a shared machine. Each class is dominated by another kind of request, so that the rates of the
/// requests vary independently of each other from interval to interval, as a regression requires.
fn mixed() -> Vec<Class> {
    vec![
        Class {
            compute_iterations: loop_of(12),
            file_blocks: geometric(4.0),
            pause_s: exponential(0.01, 1.0),
            output_lines: integers(1, 5),
            ..Class::new("edit", 45.0)
        },
        Class {
            // 135 ms of CPU time on average; less variable than a row of Table III with that mean, so that the
            // mean demand of a few hundred interactions is near it.
            compute_iterations: exponential(1500.0, 10_000.0),
            output_lines: integers(1, 3),
            ..Class::new("compute", 15.0)
        },
        Class {
            compute_iterations: loop_of(30),
            file_blocks: geometric(20.0),
            output_lines: integers(1, 9),
            forks: geometric(80.0),
            fresh_pages: geometric(500.0),
            ..Class::new("compile", 15.0)
        },
        Class {
            compute_iterations: loop_of(30),
            output_lines: integers(1, 3),
            fresh_pages: geometric(8000.0),
            ..Class::new("load", 10.0)
        },
        Class {
            file_blocks: geometric(200.0),
            sync_share: 0.02,
            output_lines: integers(1, 3),
            ..Class::new("copy", 8.0)
        },
        // Context switches without forks: each line wakes the terminal's reader. A fork causes some too; only
        // switches without forks let a regression separate the two costs.
        Class { output_lines: geometric(300.0), ..Class::new("list", 7.0) },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_iii_gives_the_iteration_time_of_the_pdp_11() {
        // Brachman 1983, Table III: the mean CPU burst over the mean number of iterations is the time of
        // one iteration, the same machine's in all five rows: 0.082 to 0.097 ms.
        for (burst_ms, _) in TABLE_III {
            let iteration_ms = f64::from(burst_ms) / table_iii(burst_ms).expect("a row").mean();
            assert!((0.082..0.0975).contains(&iteration_ms), "{burst_ms}: {iteration_ms}");
        }
        assert!(table_iii(13).expect_err("no row").to_string().contains("12, 30, 60, 186 or 354"));
    }

    #[test]
    fn built_in_workloads_are_valid_and_survive_json() {
        for name in Workload::NAMES {
            let workload = Workload::named(name).expect("built in");
            workload.check().expect("valid");
            let text = serde_json::to_string(&workload).expect("serialises");
            assert_eq!(serde_json::from_str::<Workload>(&text).expect("parses"), workload);
        }
        let unknown = Workload::named("prototyp").expect_err("unknown").to_string();
        assert!(unknown.contains("prototyp") && unknown.contains("mixed"), "{unknown}");
    }

    #[test]
    fn prototype_has_the_averages_of_the_thesis() {
        let class = prototype();
        assert_eq!(class.file_blocks.mean(), 6.0);
        assert_eq!(class.compute_iterations.mean(), 134.75);
    }

    #[test]
    fn what_a_user_does_depends_on_nobody_else() {
        let workload = Workload::named("mixed").expect("built in");
        let script = |user| -> Vec<(String, Amounts)> {
            (0..50)
                .map(|index| {
                    let class = workload.class_of(1, user, index);
                    (class.name.clone(), class.amounts(1, user, index))
                })
                .collect()
        };
        assert_eq!(script(3), script(3));
        assert_ne!(script(3), script(4));
    }

    #[test]
    fn classes_come_as_often_as_their_weights_say() {
        // Chi-square of the six classes over 60 000 draws, 5 degrees of freedom; 30.9 is exceeded by
        // chance once in 100 000.
        let workload = Workload::named("mixed").expect("built in");
        let n = 60_000u64;
        let total: f64 = workload.classes.iter().map(|class| class.weight).sum();
        let chi_square: f64 = workload
            .classes
            .iter()
            .map(|class| {
                let count = (0..n).filter(|&k| workload.class_of(5, 1, k).name == class.name).count() as f64;
                let expected = n as f64 * class.weight / total;
                (count - expected).powi(2) / expected
            })
            .sum();
        assert!(chi_square < 30.9, "{chi_square}");
    }

    #[test]
    fn bad_classes_are_refused_by_name() {
        let good = Workload::named("prototype").expect("built in");
        let with = |change: &dyn Fn(&mut Class)| {
            let mut workload = good.clone();
            change(&mut workload.classes[0]);
            workload.check().expect_err("must be refused").to_string()
        };
        assert!(with(&|class| class.name = "two words".into()).contains("classes[0].name"));
        assert!(with(&|class| class.weight = 0.0).contains("classes[0].weight"));
        assert!(with(&|class| class.sync_share = 2.0).contains("sync_share"));
        let mut twice = good.clone();
        twice.classes.push(good.classes[0].clone());
        assert!(twice.check().expect_err("twice").to_string().contains("twice"));
    }
}
