//! The checked configuration: values derived from the parameters together.

use thinktime_engine::disk::Geometry;
use thinktime_engine::{Distribution, Span};

use super::disk;
use super::parameters::{DispatcherName, Parameters, SchedulerName};
use super::scheduler::{Dispatcher, Scheduler};
use super::workload::Mix;
use crate::kernel::{ParameterError, Settings, refuse};

/// A checked configuration.
#[derive(Clone, Debug)]
pub(super) struct Config {
    /// Users at typewriters.
    pub users: u32,
    /// Time to think and type an input.
    pub insertion: Distribution,
    /// Time to type the reply.
    pub reply: Distribution,
    /// Swap-in rule.
    pub scheduler: Scheduler,
    /// Rule for the next slice.
    pub dispatcher: Dispatcher,
    /// Longest time slice.
    pub slice: Span,
    /// Supervisor time before each slice.
    pub dispatch: Span,
    /// Processor time that each access of the disk takes, before the next slice.
    pub access: Span,
    /// Regions of main memory.
    pub regions: u32,
    /// Slices after which a workspace leaves without another cause (cause 3), and a whole turn of round robin.
    pub slices_before_swap: u64,
    /// Whether a search continues with the last criterion of the one before.
    pub criterion_persists: bool,
    /// Demands by class of input.
    pub mix: Mix,
    /// The swap disk.
    pub disk: Geometry,
}

impl Config {
    pub fn new(parameters: &Parameters, settings: &Settings) -> Result<Config, ParameterError> {
        if parameters.time_slice > settings.common()?.length {
            let remedy = "give a time slice that is no longer than the run";
            return Err(refuse!(settings, parameters.time_slice, remedy));
        }
        let scheduler = match parameters.scheduler {
            SchedulerName::Original => Scheduler::Original,
            SchedulerName::Modified => Scheduler::Modified { search: parameters.background_search },
            SchedulerName::Fb2 => Scheduler::Feedback { levels: 2 },
            SchedulerName::FbInfinity => Scheduler::FeedbackInfinity,
            SchedulerName::Mlf => Scheduler::Feedback { levels: parameters.levels },
            SchedulerName::Srpt => Scheduler::ShortestRemaining,
        };
        let dispatcher = match parameters.dispatcher {
            DispatcherName::RoundRobin => Dispatcher::RoundRobin,
            DispatcherName::Scheduler if scheduler.by_address() => {
                let remedy = "give round_robin: the original and the modified scheduler rank no workspaces";
                return Err(refuse!(settings, parameters.dispatcher, remedy));
            }
            DispatcherName::Scheduler => Dispatcher::Scheduler,
        };
        Ok(Config {
            users: parameters.users as u32,
            insertion: parameters.insertion_time.clone(),
            reply: parameters.reply_time.clone(),
            scheduler,
            dispatcher,
            slice: parameters.time_slice,
            dispatch: parameters.dispatch_overhead,
            access: parameters.access_overhead,
            regions: parameters.regions as u32,
            slices_before_swap: parameters.slices_before_swap,
            criterion_persists: parameters.criterion_persists,
            mix: mix(parameters, settings)?,
            disk: disk::geometry(parameters),
        })
    }
}

/// Largest deviation of the sum of the shares from 1: three printed digits miss it by as much.
const SHARES_TOLERANCE: f64 = 1e-3;

/// Demands by class of input.
fn mix(parameters: &Parameters, settings: &Settings) -> Result<Mix, ParameterError> {
    // In the order of `workload::CLASSES`.
    let classes = [&parameters.compute, &parameters.command, &parameters.output_bound];
    let shares = classes.map(|class| class.share);
    let all: f64 = shares.iter().sum();
    if (all - 1.0).abs() > SHARES_TOLERANCE {
        let remedy = format!("give shares of the three classes that add up to 1, not to {all}");
        return Err(refuse!(settings, parameters.compute.share, &remedy));
    }
    Ok(Mix {
        // Divided by their sum: printed shares add up to 1 only within their digits.
        up_to: [shares[0] / all, (shares[0] + shares[1]) / all, 1.0],
        service: classes.map(|class| class.service.clone()),
        burst: parameters.output_burst,
        drain: parameters.output_drain.clone(),
        library_accesses: parameters.library_accesses as u32,
    })
}
