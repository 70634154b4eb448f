//! Estimated cost of a run.

use super::config::Config;
use crate::kernel::{Cost, RunLength, rate, throughput};

/// Events of an input besides its slices: typing, swaps, the reply.
const EVENTS_PER_INPUT: f64 = 3.6;
/// Events of a time slice: dispatching, the slice, an interrupt that ends it, its share of a swap.
const EVENTS_PER_SLICE: f64 = 0.95;
/// Share of the bursts of output, and of the accesses to libraries, that come in the time of a run.
const SHARE_IN_TIME: f64 = 0.5;
/// Time of an access of a busy disk with the default parameters, the arm's waits for work included [s].
const ACCESS_S: f64 = 0.16;
/// Memory of a user with its random streams [byte].
const USER_BYTES: f64 = 1024.0;

impl Config {
    /// Estimated events and memory of a run.
    pub(super) fn cost(&self, RunLength { length_s, .. }: RunLength) -> Cost {
        let users = f64::from(self.users);
        let shares = [self.mix.up_to[0], self.mix.up_to[1] - self.mix.up_to[0], 1.0 - self.mix.up_to[1]];
        let services = [0, 1, 2].map(|class: usize| self.mix.service[class].mean());
        let service: f64 = shares.iter().zip(services).map(|(share, service)| share * service).sum();
        let think = self.insertion.mean() + self.reply.mean();
        let inputs = length_s * throughput(users, think, service, 1.0);
        let slices = inputs * (service * rate(self.slice.seconds()) + 1.0);
        // Slices cannot be more than the processor has time for.
        let most_slices = length_s * rate(self.slice.seconds().min(service) + self.dispatch.seconds());
        // Each access ends one early.
        let cut = if self.scheduler.cuts_slices() { length_s * rate(ACCESS_S) } else { 0.0 };
        let bursts = inputs * shares[2] * services[2] * rate(self.mix.burst.seconds());
        let accesses = inputs * shares[1] * f64::from(self.mix.library_accesses);
        Cost::default()
            .events("insertion_time", EVENTS_PER_INPUT * inputs)
            .events("time_slice", EVENTS_PER_SLICE * (slices.min(most_slices) + cut))
            .events("output_burst", SHARE_IN_TIME * bursts)
            .events("library_accesses", SHARE_IN_TIME * accesses)
            .bytes("users", USER_BYTES * users)
    }
}
