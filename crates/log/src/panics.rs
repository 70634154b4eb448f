//! Panics of the libraries that read Parquet, as errors.
//!
//! They take damaged files for granted in most places and not in all: of all single flipped bits of a part, some
//! end in an index out of bounds. Such a panic says that this file cannot be read, not that the program is wrong.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::path::Path;
use std::sync::Once;

use crate::error::LogError;

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// The result of `read`, or the error that `item` of `path` made the reader panic.
pub(crate) fn caught<T>(
    path: &Path,
    item: &str,
    read: impl FnOnce() -> Result<T, LogError>,
) -> Result<T, LogError> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            // It is reported as an error: a second message on the terminal would only frighten.
            if !QUIET.get() {
                before(panic);
            }
        }));
    });
    let was_quiet = QUIET.replace(true);
    // What `read` may leave half done is its own reader, which is not used again.
    let outcome = catch_unwind(AssertUnwindSafe(read));
    QUIET.set(was_quiet);
    outcome.unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let reason = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("unknown");
        // The first line: some libraries add pages.
        let reason = reason.lines().next().unwrap_or_default();
        Err(LogError::damaged(path, item, format!("its reader gave up ({reason})")))
    })
}
