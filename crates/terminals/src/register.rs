//! What a play leaves in the log, and its summaries by the number of users.

use std::collections::BTreeMap;
use std::sync::MutexGuard;

use serde::Serialize;
use thinktime_log::{LogWriter, Row, SharedWriter, TableId, TableSchema, Value, vocabulary};

use crate::driver::interaction::{Interaction, schema};
use crate::error::TerminalsError;

/// Summary of the interactions with one number of users.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepSummary {
    /// Users who played.
    pub users: u32,
    /// Completed interactions whose input was due while this many users played.
    pub n: usize,
    /// Inputs without a complete reply at the end of the play.
    pub unfinished: usize,
    /// Mean response time [s]; `None` if nothing was completed.
    pub response_mean_s: Option<f64>,
    /// Median response time [s].
    pub response_median_s: Option<f64>,
    /// 95th percentile of the response time [s].
    pub response_p95_s: Option<f64>,
    /// Mean CPU time of an interaction [s].
    pub service_mean_s: Option<f64>,
}

/// Appends interactions to the log and summarises them by the number of users.
// Response times are kept, 8 bytes each: a play has some thousands, and their quantiles are exact.
pub(crate) struct Register<'a> {
    writer: &'a SharedWriter,
    schema: TableSchema,
    interactions: TableId,
    events: TableId,
    by_users: BTreeMap<u32, Tally>,
}

/// Interactions with one number of users.
#[derive(Default)]
struct Tally {
    responses_s: Vec<f64>,
    service_s: f64,
    served: usize,
    unfinished: usize,
}

impl Register<'_> {
    /// A register for the log of `writer`, with its tables declared.
    pub fn open(writer: &SharedWriter, is_measured: bool) -> Result<Register<'_>, TerminalsError> {
        let schema = schema(is_measured);
        let mut locked = writer_of(writer)?;
        let interactions = locked.declare(schema.clone())?;
        let events = locked.declare(vocabulary::events())?;
        // Other sources write to the log during the play: the lock is held for an append, no longer.
        drop(locked);
        Ok(Register { writer, schema, interactions, events, by_users: BTreeMap::new() })
    }

    /// Writes interactions and changes of the population, and counts the interactions.
    pub fn append(
        &mut self,
        interactions: Vec<Interaction>,
        changes: Vec<(i64, u32)>,
    ) -> Result<(), TerminalsError> {
        if interactions.is_empty() && changes.is_empty() {
            return Ok(());
        }
        // Rows and events in one append: the log has both or neither.
        let rows: Vec<Row> = interactions.iter().map(|interaction| interaction.row(&self.schema)).collect();
        let events: Vec<Row> = changes.iter().map(|&change| population_event(change)).collect();
        writer_of(self.writer)?.append(vec![(self.interactions, rows), (self.events, events)])?;
        for interaction in &interactions {
            let tally = self.by_users.entry(interaction.population).or_default();
            match interaction.response_s() {
                Some(response_s) => tally.responses_s.push(response_s),
                None if interaction.waited => tally.unfinished += 1,
                None => {}
            }
            if let Some(service_s) = interaction.service_s() {
                tally.service_s += service_s;
                tally.served += 1;
            }
        }
        Ok(())
    }

    /// A summary for each number of users, ascending.
    pub fn summaries(self) -> Vec<StepSummary> {
        self.by_users
            .into_iter()
            .map(|(users, mut tally)| {
                let n = tally.responses_s.len();
                tally.responses_s.sort_by(f64::total_cmp);
                // The smallest response time that at least this share of the interactions does not exceed.
                let quantile = |share: f64| {
                    let rank = (share * n as f64).ceil() as usize;
                    tally.responses_s.get(rank.max(1) - 1).copied()
                };
                StepSummary {
                    users,
                    n,
                    unfinished: tally.unfinished,
                    response_mean_s: (n > 0).then(|| tally.responses_s.iter().sum::<f64>() / n as f64),
                    response_median_s: quantile(0.5),
                    response_p95_s: quantile(0.95),
                    service_mean_s: (tally.served > 0).then(|| tally.service_s / tally.served as f64),
                }
            })
            .collect()
    }
}

/// Row of table `events` for a change of the number of users.
fn population_event((time_us, users): (i64, u32)) -> Row {
    vocabulary::events()
        .columns
        .iter()
        .map(|column| match column.name.as_str() {
            "time" => Value::Time(time_us),
            "kind" => "population".into(),
            "amount" => f64::from(users).into(),
            "unit" => "user".into(),
            _ => Value::Null,
        })
        .collect()
}

/// The writer, for this thread alone.
///
/// # Errors
/// Another writer has failed.
pub(crate) fn writer_of(writer: &SharedWriter) -> Result<MutexGuard<'_, LogWriter>, TerminalsError> {
    // A writer whose other user panicked may hold half a block; nothing more can be written to this log.
    writer.lock().map_err(|_| TerminalsError::nursery("lost its log: another writer of it has failed"))
}
