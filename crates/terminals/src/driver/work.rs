//! What users type: the interface between the driver and a kind of work, and the synthetic interactions.

use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::sync::Arc;

use thinktime_quantities::Distribution;

use super::listener::Ending;
use super::terminal::MARKER;
use crate::error::TerminalsError;
use crate::load::random::{Draw, Part, Stream};
use crate::nursery::Nursery;
use crate::nursery::message::Program;

/// The next input of a user.
#[derive(Clone, Debug)]
pub struct Input {
    /// Kind of the interaction.
    pub class: Arc<str>,
    /// The line typed, newline included.
    pub line: Vec<u8>,
    /// Time from the end of the last reply to the last key [s].
    pub think_s: f64,
    /// For each key, its place in the line and the time from it to the last key [ns]; empty if the line is typed at
    /// once.
    pub keys: Vec<(usize, u64)>,
    /// What ends the wait for the reply.
    pub ending: Ending,
    /// Longest wait for the reply [ns]; `None` for no limit.
    pub time_out_ns: Option<u64>,
}

impl Input {
    /// Instant of the key at byte `typed` of the line, if the last key is due at `due_ns`.
    pub(crate) fn key_ns(&self, due_ns: u64, typed: usize) -> u64 {
        let later = self.keys.iter().find(|(place, _)| *place >= typed);
        due_ns.saturating_sub(later.map_or(0, |(_, before_ns)| *before_ns))
    }

    /// Bytes of the line whose keys are due at `now_ns`.
    pub(crate) fn typed_at(&self, due_ns: u64, now_ns: u64) -> usize {
        let next = self.keys.iter().find(|(_, before_ns)| due_ns.saturating_sub(*before_ns) > now_ns);
        next.map_or(self.line.len(), |(place, _)| *place)
    }
}

/// A kind of work that users do at terminals.
pub trait Work {
    /// Starts the process of `user` on `terminal` for the time number `login`, from 0; its session.
    ///
    /// # Errors
    /// There is no process.
    fn start(
        &self,
        nursery: &Nursery,
        user: u32,
        login: u32,
        terminal: BorrowedFd<'_>,
    ) -> Result<i32, TerminalsError>;

    /// Bytes that every prompt has and no other output.
    fn marker(&self) -> Arc<[u8]>;

    /// Input number `index` of `user`, from 0.
    fn input(&self, user: u32, index: u64) -> Input;

    /// True if the user's process reports the service that each interaction received.
    fn reports(&self) -> bool;

    /// Number of the input with which a user begins who has logged in again instead of typing input `index`.
    fn next_pass(&self, index: u64) -> u64 {
        index
    }

    /// Most users who log in at the same time.
    fn logins_at_once(&self) -> usize {
        usize::MAX
    }

    /// Longest time from the start of a user's process to its first prompt, where the process does not report why it
    /// cannot work [s].
    fn login_timeout_s(&self) -> f64 {
        f64::INFINITY
    }

    /// True if what the programs at a terminal take is to be read from outside.
    fn is_measured(&self) -> bool {
        false
    }

    /// Control group of a login, if it has one of its own.
    fn group(&self, _user: u32, _login: u32) -> Option<PathBuf> {
        None
    }

    /// Where the users log in, for an error.
    fn host(&self) -> String {
        "this machine".into()
    }
}

/// Synthetic interactions of the prototype process.
#[derive(Clone, Debug)]
pub struct Synthetic<'a> {
    /// Workload, seed and speed of the compute loop, which every user's process gets.
    pub program: &'a Program,
    /// Think time, or time between inputs in an open-loop play [s].
    pub think: &'a Distribution,
}

impl Work for Synthetic<'_> {
    fn start(
        &self,
        nursery: &Nursery,
        user: u32,
        _login: u32,
        terminal: BorrowedFd<'_>,
    ) -> Result<i32, TerminalsError> {
        nursery.start(user, terminal, self.program)
    }

    fn marker(&self) -> Arc<[u8]> {
        [MARKER].as_slice().into()
    }

    /// The class and the number, from which the process draws its amounts: at most 54 bytes, far below the
    /// terminal's buffer of 4096.
    fn input(&self, user: u32, index: u64) -> Input {
        let class = self.program.workload.class_of(self.program.seed, user, index);
        let stream = &mut Stream::at(self.program.seed, user, Part::Think, index);
        Input {
            class: Arc::from(class.name.as_str()),
            line: format!("{} {index}\n", class.name).into_bytes(),
            think_s: self.think.draw(stream),
            keys: Vec::new(),
            ending: Ending::Prompt,
            time_out_ns: None,
        }
    }

    fn reports(&self) -> bool {
        true
    }
}
