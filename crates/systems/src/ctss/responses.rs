//! The responses of a replication, and the rows of the log's samples.

use thinktime_engine::Time;
use thinktime_log::{Column, Kind, Role, Type, Value};

use super::config::Config;
use super::measures::{Counts, Measures, STATES, Sampled, State};
use crate::kernel::Measured;

type Row = Measured<Config>;

/// Totals of a run from which responses are computed.
pub(super) struct RunTotals<'a> {
    /// Measures of the run.
    pub measures: &'a Measures,
    /// End of the run.
    pub now: Time,
}

impl RunTotals<'_> {
    /// Time since statistics began [s].
    fn length_s(&self) -> f64 {
        self.now.since(self.measures.since).seconds()
    }

    fn counts(&self) -> &Counts {
        &self.measures.counts
    }

    /// Share of the time in `state`.
    fn share(&self, state: State) -> f64 {
        seconds(self.measures.area(state, self.now)) / self.length_s()
    }

    /// Mean per interaction of scripted users [s].
    fn per_interaction(&self, ns: u128) -> f64 {
        seconds(ns) / self.counts().script_interactions as f64
    }

    /// Rate over the run [1/s].
    fn rate(&self, count: u64) -> f64 {
        count as f64 / self.length_s()
    }
}

/// Nanoseconds in seconds.
fn seconds(ns: u128) -> f64 {
    ns as f64 * 1e-9
}

fn script() -> Vec<Row> {
    vec![
        Row::new(
            "cpu_per_interaction_s",
            "s",
            "Run and swap time of scripted users, by interaction",
            |run| run.per_interaction(run.counts().script_run + run.counts().script_swap),
        ),
        Row::new("run_per_interaction_s", "s", "Run time of scripted users, by interaction", |run| {
            run.per_interaction(run.counts().script_run)
        }),
        Row::new("swap_per_interaction_s", "s", "Swap time of scripted users, by interaction", |run| {
            run.per_interaction(run.counts().script_swap)
        }),
        Row::new(
            "response_mean_s",
            "s",
            "Mean response of scripted users where they waited, by their clock",
            |run| run.measures.scripted.mean(),
        ),
        Row::new("response_light_mean_s", "s", "Mean of these without those of heavy commands", |run| {
            run.measures.light.mean()
        }),
        Row::new("response_heavy_mean_s", "s", "Mean of these of heavy commands", |run| {
            run.measures.heavy.mean()
        }),
        Row::new(
            "response_all_users_mean_s",
            "s",
            "Mean response of all users where they waited, exact",
            |run| run.measures.response.mean(),
        ),
        Row::new("response_all_users_sd_s", "s", "Standard deviation of these responses", |run| {
            run.measures.response.variance().sqrt()
        }),
        Row::new(
            "real_time_s",
            "s",
            "Mean time of a run of the script, from its first think time to its end",
            |run| run.measures.script.mean(),
        ),
        Row::new("script_runs", "", "Runs of the script from begin to end", |run| {
            run.measures.script.count() as f64
        }),
        Row::new("script_interactions", "interaction", "Interactions of scripted users", |run| {
            run.counts().script_interactions as f64
        }),
    ]
}

fn shares() -> Vec<Row> {
    vec![
        Row::new("interactions_per_s", "1/s", "Interactions of all users", |run| {
            run.rate(run.counts().interactions)
        }),
        Row::new("interactions_mean", "interaction", "Mean number of inputs in the system", |run| {
            run.measures.interactions.mean_present(run.now)
        }),
        Row::new("processor_share", "", "Share of the time for which users' programs ran", |run| {
            run.measures.run.mean(run.now)
        }),
        Row::new("swap_share", "", "Share of the time for swapping, including the background's", |run| {
            seconds(run.measures.swap_area(run.now)) / run.length_s()
        }),
        Row::new("background_share", "", "Share of the time for which the background ran", |run| {
            run.share(State::Background)
        }),
        Row::new("supervisor_share", "", "Share of the time for lines typed and printed", |run| {
            run.share(State::Supervisor)
        }),
        Row::new(
            "disk_wait_share",
            "",
            "Share of the time for which a program waited in core for the disk",
            |run| run.share(State::DiskWait),
        ),
        Row::new("idle_share", "", "Share of the time without any work", |run| run.share(State::Idle)),
        Row::new("background_swap_share", "", "Share of the time for swapping the background", |run| {
            seconds(run.counts().background_swap) / run.length_s()
        }),
    ]
}

fn swapping() -> Vec<Row> {
    vec![
        Row::new("swap_ins_per_s", "1/s", "Programs read from the drum", |run| {
            run.rate(run.counts().swap_ins)
        }),
        Row::new(
            "swap_words_mean",
            "word",
            "Mean number of words of a transfer, to or from the drum or from the disk",
            |run| {
                let counts = run.counts();
                let moves = counts.swap_ins + counts.swap_outs + counts.command_loads;
                counts.swap_words as f64 / moves as f64
            },
        ),
        Row::new(
            "turns_per_interaction",
            "",
            "Times that a program was chosen to run, by interaction of all users",
            |run| run.counts().turns as f64 / run.counts().interactions as f64,
        ),
        Row::new("preemptions_per_s", "1/s", "Programs that gave way to one at a lower level", |run| {
            run.rate(run.counts().preemptions)
        }),
    ]
}

/// The responses, in the order in which they are shown: last, one for each interaction that is waited for.
pub(super) fn responses(config: &Config) -> Vec<Row> {
    // Only interactions that are waited for have a response that a user observes.
    let waited = config.steps.iter().filter_map(|step| Some((step.waiting?, &step.command)));
    let by_interaction = waited.map(|(index, command)| {
        let place = index + 1;
        let description = format!("Mean response of interaction {place} of those that wait ({command})");
        Row::at(index, format!("response_{place:02}_s"), "s", description, |run, index| {
            run.measures.by_interaction[index].mean()
        })
    });
    let groups = [script(), shares(), swapping()];
    groups.into_iter().flatten().chain(by_interaction).collect()
}

/// Columns of the log's `samples`, after start and length.
pub(super) fn sample_columns() -> Vec<Column> {
    let time = |name: &str, what: &str| Column::new(name, Type::F64, "s", Kind::Counter, what);
    let count = |name: &str, unit: &str, what: &str| Column::new(name, Type::U64, unit, Kind::Counter, what);
    vec![
        Column::new("users", Type::U64, "user", Kind::Gauge, "Users at their terminals"),
        Column::new("active_users", Type::U64, "user", Kind::Gauge, "Users with an interaction in progress")
            .role(Role::Load),
        time("run_s", "Processor time of users' programs").role(Role::UserTime),
        time("background_s", "Processor time of the background program").role(Role::UserTime),
        time("swap_in_s", "Time for reading programs from the drum").role(Role::SystemTime),
        time("swap_out_s", "Time for writing programs to the drum").role(Role::SystemTime),
        time("command_load_s", "Time for reading commands from the disk").role(Role::SystemTime),
        time("supervisor_s", "Time for lines typed and printed").role(Role::SystemTime),
        time("disk_wait_s", "Time in which a program waited in core for the disk").role(Role::IdleTime),
        time("idle_s", "Time without any work").role(Role::IdleTime),
        count("inputs", "interaction", "Inputs received"),
        count("interactions", "interaction", "Interactions completed").role(Role::Throughput),
        count("lines", "line", "Lines typed and printed").role(Role::Request),
        count("swap_ins", "transfer", "Programs, or parts of them, read from the drum").role(Role::Request),
        count("swap_outs", "transfer", "Programs, or parts of them, written to the drum").role(Role::Request),
        count("command_loads", "transfer", "Commands read from the disk").role(Role::Request),
        count("swap_words", "word", "Words of these transfers"),
        count("disk_transfers", "transfer", "Transfers between files and core").role(Role::Request),
        count("preemptions", "program", "Programs that gave way to one at a lower level"),
        count("script_interactions", "interaction", "Interactions of scripted users completed"),
        time("script_run_s", "Run time of scripted users"),
        time("script_swap_s", "Swap time of scripted users"),
        count(
            "script_waits",
            "interaction",
            "Of the interactions of scripted users, those that they waited for",
        ),
        time("script_response_s", "Responses of these, by the user's clock, added up"),
        Column::new(
            "interactions_mean",
            Type::F64,
            "interaction",
            Kind::Gauge,
            "Mean number of inputs in the system",
        ),
    ]
}

/// One row of `samples`, up to `now`.
pub(super) fn sample_row(measures: &mut Measures, now: Time, users: u32, active: u64) -> Vec<Value> {
    let old = measures.sampled;
    let new = Sampled {
        at: now,
        counts: measures.counts,
        run: measures.run.area(now),
        states: STATES.map(|state| measures.area(state, now)),
        present: measures.interactions.area(now),
    };
    measures.sampled = new;
    let time = |area: u128| Value::F64(seconds(area));
    let (then, counts) = (&old.counts, &new.counts);
    let mut row = vec![Value::U64(u64::from(users)), Value::U64(active), time(new.run - old.run)];
    row.extend(new.states.iter().zip(old.states).map(|(new, old)| time(new - old)));
    let counted: [fn(&Counts) -> u64; 10] = [
        |counts| counts.inputs,
        |counts| counts.interactions,
        |counts| counts.lines,
        |counts| counts.swap_ins,
        |counts| counts.swap_outs,
        |counts| counts.command_loads,
        |counts| counts.swap_words,
        |counts| counts.disk_transfers,
        |counts| counts.preemptions,
        |counts| counts.script_interactions,
    ];
    row.extend(counted.iter().map(|count| Value::U64(count(counts) - count(then))));
    row.push(time(counts.script_run - then.script_run));
    row.push(time(counts.script_swap - then.script_swap));
    row.push(Value::U64(counts.script_waits - then.script_waits));
    row.push(time(counts.script_response - then.script_response));
    let length = now.since(old.at).0 as f64;
    row.push(Value::F64((new.present - old.present) as f64 / length));
    row
}
