//! Independent replications on all cores.

use std::ops::Range;

use rayon::ThreadPool;
use rayon::prelude::*;
use thiserror::Error;

/// Threads that run replications. A pool of our own, not the global one of rayon: the caller chooses the number of
/// threads for each run, and the global one cannot be changed once it has begun.
pub struct Pool(ThreadPool);

impl Pool {
    /// A pool of `threads` threads, or of one per core.
    ///
    /// # Errors
    /// The system refuses to start a thread.
    pub fn new(threads: Option<usize>) -> Result<Pool, rayon::ThreadPoolBuildError> {
        // 0 lets rayon choose: one thread per core.
        rayon::ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0)).build().map(Pool)
    }
}

/// Results of `one` for each replication, in the order of their numbers. They are the same on one thread or many,
/// because replication r draws only from streams addressed by r. Of several errors, that of the lowest number is
/// returned.
///
/// # Errors
/// The first error of `one`, by the number of the replication.
pub fn replicate<T: Send, E: Send>(
    pool: &Pool,
    replications: Range<u64>,
    one: impl Fn(u64) -> Result<T, E> + Sync + Send,
) -> Result<Vec<T>, E> {
    // All results are collected before errors are examined: stopping at the first error in time would make the
    // message depend on the threads.
    let results: Vec<Result<T, E>> = pool.0.install(|| replications.into_par_iter().map(one).collect());
    results.into_iter().collect()
}

/// Error of replications that are copies of each other: there is no spread from which an interval could be computed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "all {replications} replications gave the same figures to the last bit: nothing in this configuration is \
     random, so replications say nothing about spread; run one, or give think or service times a distribution"
)]
pub struct DuplicateReplications {
    /// Their number.
    pub replications: usize,
}

impl DuplicateReplications {
    /// Refuses two or more replications whose responses are all the same.
    ///
    /// # Errors
    /// They are: the responses of every replication equal those of the first.
    pub fn refuse(responses: &[Vec<f64>]) -> Result<(), DuplicateReplications> {
        // By their bits: NaN (nothing observed) must equal NaN here.
        let same = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(x, y)| x.to_bits() == y.to_bits());
        if responses.len() > 1 && responses[1..].iter().all(|row| same(row, &responses[0])) {
            return Err(DuplicateReplications { replications: responses.len() });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Component, Streams};

    fn draw(replication: u64) -> Result<u64, u64> {
        Ok((0..1000).fold(0, {
            let mut stream = Streams { seed: 9, replication }.stream(Component("test"), 0);
            move |sum: u64, _| sum.wrapping_add(stream.next_u64())
        }))
    }

    #[test]
    fn one_thread_and_many_give_the_same() {
        let by = |threads| replicate(&Pool::new(Some(threads)).unwrap(), 5..64, draw).unwrap();
        assert_eq!(by(1), by(7));
        assert_eq!(by(1)[3], draw(8).unwrap());
    }

    #[test]
    fn the_first_error_wins() {
        let pool = Pool::new(Some(4)).unwrap();
        let failed = replicate(&pool, 0..50, |r| if r % 10 == 7 { Err(r) } else { Ok(r) });
        assert_eq!(failed, Err(7));
    }

    #[test]
    fn copies_are_refused() {
        assert!(DuplicateReplications::refuse(&[vec![1.0, f64::NAN], vec![1.0, f64::NAN]]).is_err());
        assert!(DuplicateReplications::refuse(&[vec![1.0, 2.0], vec![1.0, 2.5]]).is_ok());
        assert!(DuplicateReplications::refuse(&[vec![1.0]]).is_ok());
    }
}
