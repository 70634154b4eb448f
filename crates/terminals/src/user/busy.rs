//! Background load for a measurement: processes that keep every CPU busy.
//!
//! A request costs more on an idle machine: a fork then wakes an idle CPU, which is expensive in a virtual
//! machine, and on a busy one it does not. Costs that are compared with those of a busy machine have to be
//! measured on one.

use rustix::process::{
    Pid, Signal, WaitOptions, getpid, getppid, kill_process, set_parent_process_death_signal, waitpid,
};
use rustix::thread::sched_getaffinity;

use crate::nursery::process::{exit_now, retry};
use crate::user::compute::spin;

/// Steps of the compute loop between two checks whether the parent still exists: some milliseconds.
const STEPS_BETWEEN_CHECKS: u64 = 1_000_000;

/// One computing process for each CPU that this process may use; they end when this is dropped, and
/// with their parent.
pub(crate) struct BusyCpus(Vec<Pid>);

impl BusyCpus {
    /// Starts the processes.
    pub(crate) fn start() -> std::io::Result<BusyCpus> {
        let parent = getpid();
        let mut busy = BusyCpus(Vec::new());
        // CPUs that this process may use, not those of the machine: in a container there may be fewer.
        for _ in 0..sched_getaffinity(None)?.count() {
            // SAFETY: this process has one thread, and the child ends by _exit.
            match unsafe { libc::fork() } {
                0 => {
                    // The parent may have ended before the request took effect, hence the check as well.
                    let dies_with_parent = set_parent_process_death_signal(Some(Signal::KILL));
                    while dies_with_parent.is_ok() && getppid() == Some(parent) {
                        spin(STEPS_BETWEEN_CHECKS);
                    }
                    exit_now(0)
                }
                pid => match Pid::from_raw(pid).filter(|_| pid > 0) {
                    Some(pid) => busy.0.push(pid),
                    None => return Err(std::io::Error::last_os_error()),
                },
            }
        }
        Ok(busy)
    }
}

impl Drop for BusyCpus {
    fn drop(&mut self) {
        for pid in &self.0 {
            // The numbers are still theirs: nobody else waits for these children.
            let _ = kill_process(*pid, Signal::KILL);
            let _ = retry(|| waitpid(Some(*pid), WaitOptions::empty()));
        }
    }
}
