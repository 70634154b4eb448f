//! Estimated cost of a run.

use super::config::Config;
use super::services::Kind;
use super::users::Class;
use crate::kernel::{Cost, RunLength, rate, throughput};

/// Events per second of the running machine: base work and the printer.
const EVENTS_PER_SECOND: f64 = 1.0;
/// Events of a VSIO or of a page exception: the burst, CP's work, the device.
const EVENTS_PER_REQUEST: f64 = 0.26;
/// Events of a line that is printed.
const EVENTS_PER_PRINTED: f64 = 2.8;
/// Events of an interaction besides its requests: typing, CP's work for the line, admission.
const EVENTS_PER_INTERACTION: f64 = 1.2;
/// Factor of a busy day on the number of users, and by which log-ons are drawn and thinned.
const BUSIEST: f64 = 4.0;
/// Share of a working set that is not in core.
const MISSING: f64 = 0.1;
/// Memory of a user with its random streams [byte].
const USER_BYTES: f64 = 1024.0;
/// Memory of a page frame [byte].
const FRAME_BYTES: f64 = 16.0;

impl Config {
    /// Estimated events and memory of a run.
    pub(super) fn cost(&self, run: RunLength) -> Cost {
        // Nothing happens while the machine is down, and the run ends with the last of the observations.
        let observed =
            if self.observations == 0 { f64::INFINITY } else { self.observations as f64 * run.interval_s };
        let length_s = run.length_s.min(observed);
        let users = f64::from(self.users).min(self.population.most() + 1.0);
        let log_ons = self.population.most() * BUSIEST * rate(self.variety.session_s);
        let restarts = self.restarts_per_day / 86_400.0 * 2.0 * (users + 1.0);
        let pieces = self.unmeasured.each_s * rate(self.unmeasured.piece.seconds()) + 1.0;
        let activities = self.unmeasured.per_day / 86_400.0 * 2.0 * pieces;
        let mut cost = Cost::default()
            .events("length", EVENTS_PER_SECOND * length_s)
            .events("session", 2.0 * log_ons * length_s)
            .events("restarts_per_day", restarts * length_s)
            .events("activities", activities * length_s)
            .bytes("users", USER_BYTES * f64::from(self.users))
            .bytes("core_boxes", FRAME_BYTES * f64::from(self.frames));
        let rates: Vec<Rates> = self
            .classes
            .iter()
            .zip(self.shares())
            .map(|(class, share)| self.rates(class, users * share))
            .collect();
        // All classes together have one processor.
        let load: f64 = rates.iter().map(|class| class.load).sum();
        let served = length_s / load.max(1.0);
        for (class, name) in rates.iter().zip(["edit", "develop", "compute", "guest"]) {
            cost = cost
                .events(format!("{name}_think"), EVENTS_PER_INTERACTION * class.interactions * served)
                .events(format!("{name}_vsio_gap"), EVENTS_PER_REQUEST * class.requests * served)
                .events(format!("{name}_print_lines"), EVENTS_PER_PRINTED * class.printed * served);
        }
        cost
    }

    /// Share of each class among sessions, over the parts of the week.
    fn shares(&self) -> Vec<f64> {
        let mixes = [&self.mix_day, &self.mix_evening, &self.mix_night];
        let share = |class: usize| mixes.iter().map(|mix| mix[class] / mix.iter().sum::<f64>()).sum::<f64>();
        (0..self.classes.len()).map(|class| share(class) / mixes.len() as f64).collect()
    }

    /// What `users` of a class would do, had they the processor for themselves.
    fn rates(&self, class: &Class, users: f64) -> Rates {
        let problem = class.problem.mean();
        let service = |kind: Kind| self.costs.services[kind as usize].path.seconds();
        let vsio = problem * rate(class.vsio_gap_s);
        // Some of the pages are missing, and the new ones.
        let pages = problem * (class.reference_rate * MISSING + class.new_pages);
        let slices = problem * rate(self.limits.slice.seconds());
        let printed = class.print_share * class.print_lines;
        let demand = problem * (1.0 + self.costs.privileged)
            + vsio * service(Kind::Vsio)
            + pages * service(Kind::PageIo)
            + (class.output_lines + printed) * (service(Kind::Vmio) + self.line.seconds());
        let typing = self.line_time.seconds() * class.output_lines;
        let interactions = throughput(users, class.think.mean() + typing, demand, 1.0);
        Rates {
            interactions,
            requests: interactions * (vsio + pages + slices + class.output_lines),
            printed: interactions * printed,
            load: interactions * demand,
        }
    }
}

/// Work of a class, per second.
struct Rates {
    interactions: f64,
    /// Requests to CP and time slices.
    requests: f64,
    /// Printed lines.
    printed: f64,
    /// Servers that would be busy.
    load: f64,
}
