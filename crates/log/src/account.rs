//! The sum of a recording: every sample that was taken is in the log, or an incident names it.

use serde_json::Value as Json;

use crate::check::Defect;
use crate::error::LogError;
use crate::manifest::{Manifest, Session};
use crate::reader::Log;

/// Incidents that say that rows are lost, and not how many.
const UNCOUNTED: [&str; 4] = ["journal_lost", "damaged_block", "ledger_lost", "manifest_changed"];

impl Log {
    /// Samples that are neither in the log nor named, or that are too many; nothing where that cannot be known.
    ///
    /// Samples taken = rows of `samples` + rows that retention removed + `interval_dropped` + `rows_lost`.
    pub(crate) fn check_account(&self, defects: &mut Vec<Defect>) -> Result<(), LogError> {
        let sessions = &self.manifest.sessions;
        if self.sessions_error.is_some() {
            return Ok(());
        }
        // Of sessions of other sources, and of earlier versions, it is not known how many rows there should be.
        let Some(taken) = sessions
            .iter()
            .map(samples_taken)
            .try_fold(0, |sum: u64, taken| Some(sum.saturating_add(taken?)))
        else {
            return Ok(());
        };
        let Some(ledger) = &self.ledger else { return Ok(()) };
        if sessions.is_empty() || UNCOUNTED.iter().any(|kind| self.manifest.counted(kind) > 0) {
            return Ok(());
        }
        // Counts of strangers' logs may be as large as they like.
        let sealed = ledger.of_table("samples").fold(0_u64, |sum, (_, part)| sum.saturating_add(part.rows));
        let open = self.open_rows("samples")?.map_or(0, |rows| rows.num_rows() as u64);
        let retired = self.manifest.retired_rows.get("samples").copied().unwrap_or(0);
        let dropped = self.manifest.counted("interval_dropped");
        let lost = self.manifest.counted("rows_lost");
        let present =
            [sealed, open, retired, dropped].iter().fold(0_u64, |sum, more| sum.saturating_add(*more));
        let have_ended = sessions.iter().all(|session| session.end_us.is_some());
        // Users that were played write into the same log: the appends that are lost may be theirs.
        let is_shared = self.manifest.tables.iter().any(|table| table.name == "interactions");
        // A session that was killed, or goes on, says how many samples it had taken a minute ago; what waited in
        // memory on a full disk went with it.
        let is_bounded = have_ended || self.manifest.counted("disk_full") == 0;
        let missing = taken.saturating_sub(present.saturating_add(lost));
        let least = if is_shared { present } else { present.saturating_add(lost) };
        let message = if missing > 0 && is_bounded {
            format!(
                "{missing} of {taken} samples that were taken are neither in the log nor named by an incident"
            )
        } else if have_ended && least > taken {
            format!("{} samples more than the {taken} that were taken", least - taken)
        } else {
            return Ok(());
        };
        let remedy = "compare the log with a copy: rows were removed, or are there twice";
        defects.push(Defect::error(&Manifest::path(&self.dir), "", "samples_taken", message, remedy));
        Ok(())
    }
}

fn samples_taken(session: &Session) -> Option<u64> {
    session.facts.get("recorder")?.get("samples_taken").and_then(Json::as_u64)
}
