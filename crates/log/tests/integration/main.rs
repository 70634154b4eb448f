//! The log as its users see it: folders, processes, kills, full disks.

mod changes;
mod full_disk;
mod hostile;
mod kill;
mod laws;
mod numbers;
mod refusals;

/// True in `make thorough`, which takes every case; otherwise some are taken of each kind.
fn is_thorough() -> bool {
    std::env::var_os("THINKTIME_THOROUGH").is_some()
}
