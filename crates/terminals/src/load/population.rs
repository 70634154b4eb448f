//! Number of users over time: ranges as they are written on the command line, and the schedule that follows.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::TerminalsError;

/// Largest number of users in one play: each is a process and a terminal.
pub const USERS_MAX: u32 = 100_000;

/// Numbers of users: `12` (always), `1..12` (from 1 to 12 in steps of 1), or `1..12..3` (1, 4, 7, 10).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Users {
    /// First number, at least 1.
    pub from: u32,
    /// Last number, at most [`USERS_MAX`].
    pub to: u32,
    /// Step from one number to the next, at least 1.
    pub by: u32,
}

impl FromStr for Users {
    type Err = TerminalsError;

    fn from_str(text: &str) -> Result<Users, TerminalsError> {
        let refuse = |problem: String| {
            let remedy = "give a number of users (12), a range (1..12) or a range with a step (1..12..3)";
            TerminalsError::input(format!("--users {text}"), problem, remedy)
        };
        let numbers = text
            .split("..")
            .map(|word| {
                word.trim().parse::<u32>().map_err(|_| refuse(format!("{word:?} is not a whole number")))
            })
            .collect::<Result<Vec<u32>, TerminalsError>>()?;
        let (from, to, by) = match numbers[..] {
            [only] => (only, only, 1),
            [from, to] => (from, to, 1),
            [from, to, by] => (from, to, by),
            _ => return Err(refuse("is not a range".into())),
        };
        if from == 0 {
            return Err(refuse("there must be at least 1 user".into()));
        }
        if from > to {
            return Err(refuse(format!("{from} is above {to}")));
        }
        if by == 0 {
            return Err(refuse("the step is 0".into()));
        }
        if to > USERS_MAX {
            return Err(refuse(format!("{to} users are more than the limit of {USERS_MAX}")));
        }
        Ok(Users { from, to, by })
    }
}

impl TryFrom<String> for Users {
    type Error = TerminalsError;

    fn try_from(text: String) -> Result<Users, TerminalsError> {
        text.parse()
    }
}

impl From<Users> for String {
    fn from(users: Users) -> String {
        match users {
            Users { from, to, .. } if from == to => format!("{from}"),
            Users { from, to, by: 1 } => format!("{from}..{to}"),
            Users { from, to, by } => format!("{from}..{to}..{by}"),
        }
    }
}

/// A change of the number of users.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Time of the change since the beginning of the play [s].
    pub at_s: f64,
    /// Users who play from then on.
    pub users: u32,
}

/// Number of users over time. It never falls: a user plays to the end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    /// Changes in order of time.
    pub steps: Vec<Step>,
    /// Length of the play [s].
    pub end_s: f64,
}

impl Schedule {
    /// Schedule with each number of `users` for `step_s` seconds. With `ramp_s`, users start evenly spaced over
    /// that time instead, and then all of them play for `step_s`.
    ///
    /// # Errors
    /// A time is not above 0 or longer than 31 days.
    pub fn new(users: Users, step_s: f64, ramp_s: Option<f64>) -> Result<Schedule, TerminalsError> {
        check_seconds("--step", step_s)?;
        let levels: Vec<u32> = (users.from..=users.to).step_by(users.by as usize).collect();
        let spacing_s = match ramp_s {
            None => step_s,
            Some(ramp_s) => {
                check_seconds("--ramp", ramp_s)?;
                // The last user starts at the end of the ramp; a single level has no spacing.
                ramp_s / (levels.len().max(2) - 1) as f64
            }
        };
        let steps: Vec<Step> =
            levels.iter().enumerate().map(|(k, &users)| Step { at_s: k as f64 * spacing_s, users }).collect();
        let end_s = steps[steps.len() - 1].at_s + step_s;
        Ok(Schedule { steps, end_s })
    }
}

/// An error unless `seconds` is a possible length of a play.
fn check_seconds(item: &str, seconds: f64) -> Result<(), TerminalsError> {
    // A month: a longer time is a mistake of units.
    if seconds.is_finite() && seconds > 0.0 && seconds <= 31.0 * 86_400.0 {
        return Ok(());
    }
    Err(TerminalsError::input(
        item,
        format!("{seconds} s is not between 0 and 31 days"),
        "give a positive time such as 20s",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_as_written() {
        for (text, from, to, by) in [("12", 12, 12, 1), ("1..12", 1, 12, 1), ("1..12..3", 1, 12, 3)] {
            let users: Users = text.parse().expect("a range");
            assert_eq!(users, Users { from, to, by });
            assert_eq!(String::from(users), text);
        }
    }

    #[test]
    fn nonsense_is_refused_with_a_remedy() {
        for text in ["0", "5..2", "1..5..0", "x", "", "1..2..3..4", "-3", "1.5", "200000"] {
            let message = text.parse::<Users>().expect_err("must be refused").to_string();
            assert!(message.contains(text) && message.contains("1..12"), "{message}");
        }
        for step_s in [-1.0, 0.0, f64::NAN, f64::INFINITY, 1e9] {
            assert!(Schedule::new("1..3".parse().expect("a range"), step_s, None).is_err(), "{step_s}");
        }
    }

    #[test]
    fn steps_and_ramps() {
        let users: Users = "1..10..3".parse().expect("a range");
        let steps = Schedule::new(users, 20.0, None).expect("valid");
        let at: Vec<(f64, u32)> = steps.steps.iter().map(|step| (step.at_s, step.users)).collect();
        assert_eq!(at, [(0.0, 1), (20.0, 4), (40.0, 7), (60.0, 10)]);
        assert_eq!(steps.end_s, 80.0);
        let ramp = Schedule::new(users, 20.0, Some(30.0)).expect("valid");
        let at: Vec<f64> = ramp.steps.iter().map(|step| step.at_s).collect();
        assert_eq!(at, [0.0, 10.0, 20.0, 30.0]);
        assert_eq!(ramp.end_s, 50.0);
    }
}
