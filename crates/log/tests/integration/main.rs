//! The log as its users see it: folders, processes, kills, full disks.

mod changes;
mod full_disk;
mod hostile;
mod kill;
mod laws;
mod numbers;
mod refusals;
