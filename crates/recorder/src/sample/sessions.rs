//! Number of logged-in sessions, from whichever record of them this machine has.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use crate::kernel::files::{KernelFile, Root};
use crate::proc::utmp;
use crate::sample::missing::Missing;

/// Source of the number of logged-in sessions.
#[derive(Debug)]
pub enum Sessions {
    /// utmp, kept by login, sshd and terminal emulators.
    Utmp(KernelFile),
    /// Files of systemd-logind; listed again only when the folder's time of change (s, ns) is another.
    Logind { folder: PathBuf, changed: (i64, i64), count: u64 },
    /// Sessions with a controlling terminal, counted from the processes.
    Terminals,
}

impl Sessions {
    /// The best source that exists; `missing` gets the reason if there is none.
    pub fn open(root: &Root, missing: &mut Missing) -> Sessions {
        for name in ["/run/utmp", "/var/run/utmp"] {
            if let Ok(file) = KernelFile::open(root, name) {
                return Sessions::Utmp(file);
            }
        }
        // The folder alone proves nothing: packages ship it, but only a running systemd fills it.
        if root.exists("/run/systemd/system") && root.exists("/run/systemd/sessions") {
            let folder = root.path("/run/systemd/sessions");
            return Sessions::Logind { folder, changed: (0, 0), count: 0 };
        }
        missing.insert(
            "/run/utmp".into(),
            "neither utmp nor systemd-logind here: sessions are counted as those that own a terminal".into(),
        );
        Sessions::Terminals
    }

    /// Name of the source in the manifest.
    pub fn name(&self) -> &'static str {
        match self {
            Sessions::Utmp(_) => "utmp",
            Sessions::Logind { .. } => "systemd-logind",
            Sessions::Terminals => "controlling terminals of processes",
        }
    }

    /// Sessions now; `None` if they have to be counted from the processes, or the source cannot be read.
    pub fn count(&mut self, buffer: &mut Vec<u8>) -> Option<u64> {
        match self {
            Sessions::Utmp(file) => file.read(buffer).ok().map(utmp::count_sessions),
            Sessions::Logind { folder, changed, count } => {
                let metadata = fs::metadata(&*folder).ok()?;
                // Files are added and removed with their sessions, which changes the folder's time.
                let now = (metadata.mtime(), metadata.mtime_nsec());
                if now != *changed {
                    *count = count_files(folder)?;
                    *changed = now;
                }
                Some(*count)
            }
            Sessions::Terminals => None,
        }
    }
}

fn count_files(folder: &PathBuf) -> Option<u64> {
    let entries = fs::read_dir(folder).ok()?;
    let is_session = |path: PathBuf| fs::read(path).is_ok_and(|text| utmp::is_user_session(&text));
    Some(entries.flatten().filter(|entry| is_session(entry.path())).count() as u64)
}
