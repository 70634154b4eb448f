//! How long threads can have waited for a CPU between two passes over all of them.
//!
//! Kernels tell now and then that a thread which slept had waited: since Linux 6.12, one that sleeps may be moved to another
//! CPU, with the mark of a thread that is queued, which it keeps until it runs again. Whether a thread was queued is known at
//! each pass: if it was not, its wait began after that pass, however long it had slept.
//!
//! # Limitations
//! A wait that is too long by less than the time between two passes is not seen. What threads waited that ended meanwhile
//! is as the kernel tells.

use std::collections::BTreeMap;
use std::io;

use thinktime_tracer::Thread;

use super::usage::possible_wait_ns;

/// Ticks of the slowest kernels by which the times of a thread that runs may be old, at both passes [ns].
const SLACK_NS: u64 = 20_000_000;

/// The last two passes over all threads.
#[derive(Debug, Default)]
pub(super) struct Passes {
    /// Of each process together, both in ascending order.
    before: Vec<Thread>,
    now: Vec<Thread>,
    /// When each began, and when the last one was over [ns]; `None` for one that was not.
    before_ns: Option<u64>,
    now_ns: (Option<u64>, u64),
    /// Threads that were queued at the pass before, and then at the one after the time that stands here [ns].
    queued: BTreeMap<u32, u64>,
}

impl Passes {
    /// Makes the next pass by `read`, which fills what it is given; the one before the last is forgotten.
    pub fn next(
        &mut self,
        clock_ns: impl Fn() -> u64,
        read: impl FnOnce(&mut Vec<Thread>) -> io::Result<()>,
    ) -> io::Result<()> {
        self.note_queued();
        std::mem::swap(&mut self.before, &mut self.now);
        self.before_ns = self.now_ns.0;
        self.now_ns.0 = Some(clock_ns());
        read(&mut self.now).inspect_err(|_| *self = Passes::default())?;
        self.now_ns.1 = clock_ns();
        Ok(())
    }

    /// Notes since when the threads can have waited that are queued at the last pass.
    fn note_queued(&mut self) {
        let since_ns = self.before_ns;
        let waiting = self.now.iter().filter(|thread| thread.is_queued);
        let noted = waiting.filter_map(|thread| {
            let before = of_task(&self.before, thread);
            let goes_on = before.is_some_and(|before| before.is_queued && before.wait_ns == thread.wait_ns);
            let since_ns = if goes_on { self.queued.get(&thread.task).copied() } else { since_ns };
            Some((thread.task, since_ns?))
        });
        self.queued = noted.collect();
    }

    /// Threads of each process at the pass before, and at the last one, in which it was.
    pub fn processes(&self) -> impl Iterator<Item = (&[Thread], &[Thread])> {
        let mut earlier = self.before.chunk_by(same_process).peekable();
        self.now.chunk_by(same_process).map(move |threads| {
            let number = threads[0].process;
            while earlier.next_if(|before| before[0].process < number).is_some() {}
            (earlier.next_if(|before| before[0].process == number).unwrap_or_default(), threads)
        })
    }

    /// What the kernel told that the threads of a process waited since the pass before, and that cannot have been [ns].
    pub fn impossible_ns(&self, before: &[Thread], now: &[Thread]) -> u64 {
        // Without a pass before, nothing has grown.
        let Some(before_ns) = self.before_ns else { return 0 };
        let impossible = now.iter().filter(|thread| !thread.has_ended).map(|thread| {
            let known = of_task(before, thread).filter(|known| known.wait_ns <= thread.wait_ns);
            let (run_ns, wait_ns) = known.map_or((0, 0), |known| (known.run_ns, known.wait_ns));
            let since_ns = match known {
                Some(known) if known.is_queued => self.queued.get(&thread.task).copied().unwrap_or(0),
                _ => before_ns,
            };
            let told_ns = thread.wait_ns - wait_ns;
            let passed_ns = self.now_ns.1.saturating_sub(since_ns).saturating_add(SLACK_NS);
            match passed_ns.checked_sub(thread.run_ns.saturating_sub(run_ns)) {
                Some(rest_ns) => told_ns - possible_wait_ns(told_ns, rest_ns),
                // It ran longer than that: at exec, a thread takes the number of the first one.
                None => 0,
            }
        });
        // What it waited before is new for the number alone: no more is left out than has grown.
        let grown_ns = told_ns(now).saturating_sub(told_ns(before));
        impossible.fold(0u64, u64::saturating_add).min(grown_ns)
    }
}

fn same_process(one: &Thread, other: &Thread) -> bool {
    one.process == other.process
}

/// The same thread among others, which are in ascending order.
fn of_task<'a>(among: &'a [Thread], thread: &Thread) -> Option<&'a Thread> {
    let key = |thread: &Thread| (thread.process, thread.task);
    among.binary_search_by_key(&key(thread), key).ok().map(|index| &among[index])
}

/// How long the threads of a process that live waited, with those that have ended where the kernel tells [ns].
pub(super) fn told_ns(threads: &[Thread]) -> u64 {
    let alive = threads.iter().filter(|thread| !thread.has_ended).map(|thread| thread.wait_ns);
    // Each thread tells of all that have ended, but perhaps as of an earlier pass.
    let ended_ns = threads.iter().filter_map(|thread| thread.ended_wait_ns).max();
    alive.fold(ended_ns.unwrap_or(0), u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    /// A thread of process 10 with its times [s].
    fn thread(task: u32, run_s: u64, wait_s: u64) -> Thread {
        Thread {
            process: 10,
            task,
            run_ns: run_s * S,
            wait_ns: wait_s * S,
            ended_wait_ns: Some(0),
            owner: 0,
            is_queued: false,
            has_ended: false,
        }
    }

    fn queued(thread: Thread) -> Thread {
        Thread { is_queued: true, ..thread }
    }

    /// What is impossible at each of passes that are 5 s apart [ms].
    fn impossible_ms(all: &[Vec<Thread>]) -> Vec<u64> {
        let mut passes = Passes::default();
        let passed = all.iter().zip(1..).map(|(threads, pass)| {
            passes
                .next(
                    || pass * 5 * S,
                    |into| {
                        into.clone_from(threads);
                        Ok(())
                    },
                )
                .unwrap();
            let (before, now) = passes.processes().next().unwrap();
            passes.impossible_ns(before, now) / 1_000_000
        });
        passed.collect()
    }

    /// Two threads that waited for all the time that they did not run, and one that the kernel says to have waited while it
    /// slept.
    #[test]
    fn a_thread_that_slept_did_not_wait() {
        let of_others = |pass: u64| [thread(10, pass, 4 * pass), thread(11, 2 * pass, 3 * pass)];
        let with = |pass: u64, third: Thread| of_others(pass).into_iter().chain([third]).collect::<Vec<_>>();
        // It slept from the first pass to the last but one, and ran for a second.
        let sleeps = with(3, thread(12, 7, 2));
        let told =
            [with(1, thread(12, 7, 2)), with(2, thread(12, 7, 2)), sleeps, with(4, thread(12, 8, 254))];
        assert_eq!(impossible_ms(&told), [0, 0, 0, 252_000]);
        // A canary: one that was queued all the time did wait, if that was no longer than since the first pass.
        let waits = |pass: u64| with(pass, queued(thread(12, 7, 2)));
        let told =
            |wait_s: u64| [with(1, thread(12, 7, 2)), waits(2), waits(3), with(4, thread(12, 8, 2 + wait_s))];
        assert_eq!(impossible_ms(&told(13)), [0; 4]);
        assert_eq!(impossible_ms(&told(14)), [0; 4]);
        assert_eq!(impossible_ms(&told(252)), [0, 0, 0, 252_000]);
        // Of a wait that is a little too long, as much is counted as can have been, with two ticks.
        assert_eq!(impossible_ms(&told(16))[3], 16_000 - 14_000 - 20);
    }

    #[test]
    fn a_thread_that_begins_has_waited_since_the_pass_before_at_most() {
        let first = thread(10, 1, 1);
        let told =
            [vec![first], vec![first, thread(11, 1, 4)], vec![first, thread(11, 1, 4), thread(12, 0, 300)]];
        assert_eq!(impossible_ms(&told), [0, 0, 300_000]);
    }

    #[test]
    fn what_threads_waited_is_theirs_when_they_change_numbers_or_end() {
        // Another thread executes a program: it takes the number of the first one, and the others end.
        let before = vec![thread(10, 1, 1), thread(11, 500, 400)];
        let ended = |thread: Thread| Thread { ended_wait_ns: Some(S), ..thread };
        assert_eq!(impossible_ms(&[before, vec![ended(thread(10, 501, 403))]]), [0, 0]);
        // The first one has ended, and is there until the others have.
        let gone = Thread { has_ended: true, ..ended(thread(10, 2, 900)) };
        assert_eq!(
            impossible_ms(&[vec![thread(10, 1, 1), thread(11, 2, 2)], vec![gone, ended(thread(11, 3, 3))]]),
            [0; 2]
        );
        assert_eq!(told_ns(&[gone, ended(thread(11, 3, 3))]), 4 * S);
    }

    #[test]
    fn each_process_has_its_own_threads_at_both_passes() {
        let of = |process: u32, task: u32| Thread { process, ..thread(task, 1, 1) };
        let mut passes = Passes::default();
        let all =
            [vec![of(3, 3), of(5, 5), of(5, 6), of(9, 9)], vec![of(4, 4), of(5, 5), of(9, 9), of(9, 12)]];
        for threads in &all {
            passes
                .next(
                    || 0,
                    |into| {
                        into.clone_from(threads);
                        Ok(())
                    },
                )
                .unwrap();
        }
        let numbers = |threads: &[Thread]| threads.iter().map(|thread| thread.task).collect::<Vec<_>>();
        let found: Vec<_> = passes.processes().map(|(before, now)| (numbers(before), numbers(now))).collect();
        assert_eq!(found, [(vec![], vec![4]), (vec![5, 6], vec![5]), (vec![9], vec![9, 12])]);
    }
}
