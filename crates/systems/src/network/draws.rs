//! Random numbers of a network: a stream for each user and purpose, so that what a user asks for does not depend
//! on what others do, on other stations, nor on the disciplines.

use thinktime_engine::{Address, Alias, Component, Distribution, Span, Stream, Streams, fetch};

use super::plan::{ClassPlan, Plan, Source};
use super::route::Next;

/// Purpose of a think time.
pub const THINK: usize = 0;
/// Purpose of a choice of the way.
const WAY: usize = 1;
/// Purpose of the service at station 0; the others follow.
pub const SERVICE: usize = 2;

/// All streams of a replication.
pub struct Draws {
    /// Lanes of each user, one a purpose that is random for any.
    users: Vec<Lane>,
    /// Lanes per user.
    each: usize,
    /// Which of a user's lanes is for a purpose.
    lane: Vec<usize>,
    /// By purpose; customers from outside have streams by their number.
    addresses: Vec<Address>,
}

/// A stream and the next time from it. It is drawn before it is needed: the processor then has it at hand when the
/// calendar waits for it.
struct Lane {
    /// Of one user and one purpose.
    stream: Stream,
    /// The next time.
    ready: Span,
}

impl Draws {
    pub fn new(plan: &Plan, streams: Streams) -> Draws {
        let mut addresses = vec![streams.address(Component("think")), streams.address(Component("way"))];
        // By name of the station, so that stations can be reordered or added without another demand anywhere.
        let service = |name: &String| streams.address(Component(&format!("service at {name}")));
        addresses.extend(plan.stations.iter().map(|station| service(&station.name)));
        // Purposes with fixed times have no lane: memory holds only streams that are drawn from.
        let random = |purpose: &usize| plan.classes.iter().any(|class| is_random(plan, class, *purpose));
        let purposes: Vec<usize> = (0..addresses.len()).filter(random).collect();
        // 0 where there is none: a fixed time is returned before its lane is looked at.
        let lane = |purpose| purposes.iter().position(|random| *random == purpose).unwrap_or(0);
        let mut users = Vec::with_capacity(plan.users() as usize * purposes.len());
        let mut user = 0;
        for class in &plan.classes {
            let Source::Users { users: count, .. } = class.source else { continue };
            for _ in 0..count {
                users.extend(purposes.iter().map(|purpose| {
                    let mut stream = addresses[*purpose].stream(user);
                    let ready = law(plan, class, *purpose).map_or(Span::ZERO, |law| law.sample(&mut stream));
                    Lane { stream, ready }
                }));
                user += 1;
            }
        }
        Draws { users, each: purposes.len(), lane: (0..addresses.len()).map(lane).collect(), addresses }
    }

    /// The next time of `customer` for `purpose`, by `law`. One from outside, at `[class, arrival, visit]`, draws
    /// it from a stream of that address.
    #[inline(always)]
    pub fn time(&mut self, customer: u32, purpose: usize, outside: [u64; 3], law: &Distribution) -> Span {
        if let Some(fixed) = law.fixed() {
            return fixed;
        }
        match self.users.get_mut(customer as usize * self.each + self.lane[purpose]) {
            // Takes the time drawn earlier, and draws the one after it.
            Some(lane) => std::mem::replace(&mut lane.ready, law.sample(&mut lane.stream)),
            None => law.sample(&mut self.outside(purpose, outside)),
        }
    }

    /// Has the processor fetch the lanes of `customer`.
    #[inline(always)]
    pub fn fetch(&self, customer: usize) {
        let first = customer * self.each;
        // Two lanes lie on two lines of the cache at most; further ones the processor sees coming.
        fetch(&self.users, first);
        fetch(&self.users, first + 1);
    }

    /// Step that `customer` takes next, by `table`.
    pub fn way(&mut self, customer: u32, outside: [u64; 3], table: &Alias<u32>) -> u32 {
        match self.users.get_mut(customer as usize * self.each + self.lane[WAY]) {
            Some(lane) => table.choose(&mut lane.stream),
            None => table.choose(&mut self.outside(WAY, outside)),
        }
    }

    /// Stream of a customer from outside for one draw.
    fn outside(&self, purpose: usize, [class, arrival, visit]: [u64; 3]) -> Stream {
        // By class, arrival and visit: the same customer has the same demands in every system that is
        // compared.
        self.addresses[purpose].of(class).of(arrival).stream(visit)
    }
}

/// Distribution of the times of users of `class` for `purpose`: one, wherever they are on their way.
fn law<'a>(plan: &'a Plan, class: &'a ClassPlan, purpose: usize) -> Option<&'a Distribution> {
    match (purpose, &class.source) {
        (THINK, Source::Users { think, .. }) => Some(think),
        (THINK | WAY, _) => None,
        _ => {
            let steps = &plan.steps[class.steps.clone()];
            steps.iter().find(|step| step.station as usize == purpose - SERVICE).map(|step| &step.service)
        }
    }
}

/// True if `purpose` is random for users of `class`.
fn is_random(plan: &Plan, class: &ClassPlan, purpose: usize) -> bool {
    if purpose == WAY {
        let ways = plan.steps[class.steps.clone()].iter().map(|step| &step.next);
        return ways.chain([&class.start]).any(|next| matches!(next, Next::Random(_)));
    }
    law(plan, class, purpose).is_some_and(|law| law.fixed().is_none())
}
