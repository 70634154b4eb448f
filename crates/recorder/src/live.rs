//! A view of a log that is recorded meanwhile: the recording in one thread, the terminal in this one.

use std::fs::{DirBuilder, remove_dir_all};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use thinktime_live::{Shared, ViewOptions, require_terminal, view};
use thinktime_log::OpenMode;

use crate::error::RecorderError;
use crate::recording::control::Control;
use crate::recording::options::RecordOptions;
use crate::recording::{RecordSummary, record_to};

/// Most bytes of a log that is removed when its view ends: the oldest parts go first.
const KEEP_BYTES: u64 = 200_000_000;
/// Names that are tried for a folder.
const TRIES: u32 = 100;

/// Where a recording that is being viewed goes.
#[derive(Clone, Debug)]
pub enum Destination {
    /// Into a folder of its own, which is removed when the view ends.
    Temporary,
    /// Into a log that is kept.
    Log { path: PathBuf, mode: OpenMode },
}

/// Records, and shows what is recorded, until a key or a signal ends the view, or `shared` does. `opened` is told the
/// folder of the log before the view begins. Returns the summary of the recording.
pub fn record_and_view(
    destination: &Destination,
    options: &RecordOptions,
    how: &ViewOptions,
    shared: &Shared,
    opened: impl FnOnce(&Path),
) -> Result<RecordSummary, RecorderError> {
    // Before anything is recorded for nobody.
    require_terminal()?;
    options.check()?;
    let (mut options, mut how) = (options.clone(), how.clone());
    // Removed when it goes out of scope, after the recording has ended.
    let _temporary;
    let (path, mode) = match destination {
        Destination::Log { path, mode } => {
            how.title.get_or_insert_with(|| format!("recording into {}", path.display()));
            (path.clone(), *mode)
        }
        Destination::Temporary => {
            options.keep_bytes = options.keep_bytes.or(Some(KEEP_BYTES));
            how.title.get_or_insert_with(|| "recording, not kept".into());
            let folder = Temporary::make()?;
            let path = folder.0.join("log");
            _temporary = folder;
            (path, OpenMode::Create)
        }
    };
    let control = Control::new()?;
    let said = shared.clone();
    control.on_notice(move |notice| said.notice(notice));
    let of_thread = control.clone();
    let log = path.clone();
    let ended = shared.clone();
    let recording = thread::Builder::new()
        .name("recorder".into())
        .spawn(move || {
            let recorded = record_to(&log, mode, &options, &of_thread);
            // A recording that failed is nothing to look at any longer: its error is to be read.
            if recorded.is_err() {
                ended.stop();
            }
            recorded
        })
        .map_err(|source| RecorderError::System { action: "start a thread", source })?;
    while !control.has_begun() && !recording.is_finished() {
        // By polling: it is over after some milliseconds, once.
        thread::sleep(Duration::from_millis(1));
    }
    let viewed = if recording.is_finished() {
        Ok(())
    } else {
        opened(&path);
        view(&path, &how, shared).map(drop)
    };
    control.stop();
    let Ok(recorded) = recording.join() else {
        let source = io::Error::other("its thread has panicked");
        return Err(RecorderError::System { action: "record", source });
    };
    let summary = recorded?;
    viewed?;
    Ok(summary)
}

/// A folder that is removed with everything in it.
struct Temporary(PathBuf);

impl Temporary {
    /// A new folder that only this user may enter.
    fn make() -> Result<Temporary, RecorderError> {
        let parent = std::env::temp_dir();
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
        for attempt in 0..TRIES {
            let path = parent.join(format!(
                "thinktime-live-{}-{}",
                std::process::id(),
                since.subsec_nanos().wrapping_add(attempt)
            ));
            // Made exclusively: what others may have put there is not used.
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Temporary(path)),
                Err(error) => last = error,
            }
        }
        Err(RecorderError::System { action: "make a temporary folder; use -o", source: last })
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // What cannot be removed is a few megabytes in a folder for such things.
        let _ = remove_dir_all(&self.0);
    }
}
