//! The swap disk and the purposes of its accesses. Workspaces lie one per cylinder, in the order of their users.

use thinktime_engine::disk::{Disk, Geometry, QueueDiscipline, Request, Rotation, Transfer};
use thinktime_engine::station::Roster;
use thinktime_engine::{Calendar, Component, LawViolation, Laws, Slot, Span, Streams, Time};

use super::parameters::Parameters;

/// Purpose of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// The workspace of this user is written.
    SwapOut(u32),
    /// The workspace of this user is read.
    SwapIn(u32),
    /// For the command of this user.
    Library(u32),
}

/// Who asks: each for one access at a time.
// Two customers of the disk: the swapper does one swap at a time, and libraries are read one at a time.
/// Customer of the disk for swaps.
const SWAPPER: u32 = 0;
/// Customer of the disk for libraries.
const LIBRARY: u32 = 1;

impl Access {
    /// Names of its first and last event in the log.
    pub fn events(self) -> [&'static str; 2] {
        match self {
            Access::SwapOut(_) => ["swap_out_start", "swap_out_end"],
            Access::SwapIn(_) => ["swap_in_start", "swap_in_end"],
            Access::Library(_) => ["library_load_start", "library_load_end"],
        }
    }

    /// User of the workspace or of the command.
    pub fn user(self) -> u32 {
        let (Access::SwapOut(user) | Access::SwapIn(user) | Access::Library(user)) = self;
        user
    }

    /// Customer of the disk.
    fn asker(self) -> u32 {
        match self {
            Access::SwapOut(_) | Access::SwapIn(_) => SWAPPER,
            Access::Library(_) => LIBRARY,
        }
    }

    /// Index among the counts of accesses.
    fn kind(self) -> usize {
        match self {
            Access::SwapOut(_) => 0,
            Access::SwapIn(_) => 1,
            Access::Library(_) => 2,
        }
    }
}

/// The disk of the parameters: a seek takes a constant, and more in proportion to the distance.
pub(super) fn geometry(parameters: &Parameters) -> Geometry {
    let users = parameters.users;
    // One cylinder for each user's workspace: distances are in workspaces, and all of them take
    // `disk_seek_across`.
    let neighbour = Span::from_seconds(parameters.disk_seek_across / users as f64);
    Geometry {
        cylinders: users,
        tracks_per_cylinder: 1,
        blocks_per_track: 1,
        revolution: parameters.disk_rotation,
        start: parameters.disk_seek,
        seek: neighbour,
        seek_further: neighbour,
        seek_far: None,
        rotation: Rotation::Random,
        transfer: Transfer::Each(parameters.disk_transfer),
    }
}

/// One arm, one access at a time, first come, first served.
#[derive(Clone, Debug)]
pub(super) struct SwapDisk {
    disk: Disk,
    /// Access of each customer, until it is done.
    asked: [Option<Access>; 2],
    /// Accesses begun, by kind, since statistics began.
    begun: [u64; 3],
}

impl SwapDisk {
    pub fn new(geometry: Geometry, slot: Slot, streams: &Streams) -> SwapDisk {
        let stream = streams.stream(Component("disk"), 0);
        let disk = Disk::new(geometry, QueueDiscipline::Fcfs, Roster::new("disk", 2), slot, stream);
        SwapDisk { disk, asked: [None; 2], begun: [0; 3] }
    }

    /// The user at whose workspace the arm stands.
    pub fn arm(&self) -> u32 {
        self.disk.arm() as u32
    }

    /// Swap-outs, swap-ins and library accesses begun since statistics began.
    pub fn begun(&self) -> [u64; 3] {
        self.begun
    }

    /// Busy time since statistics began [ns].
    pub fn busy(&self, now: Time) -> u128 {
        self.disk.roster().busy().area(now)
    }

    /// Asks for `access`. Libraries lie anywhere.
    pub fn request(&mut self, access: Access, now: Time) {
        let block = match access {
            Access::SwapOut(user) | Access::SwapIn(user) => u64::from(user),
            Access::Library(_) => self.disk.anywhere(),
        };
        let customer = access.asker();
        // Kept here: the disk knows its customers, not the purposes of their accesses.
        self.asked[customer as usize] = Some(access);
        self.disk.ask(Request { customer, block, blocks: 1 }, now);
    }

    /// The next access, if the disk is idle and one is asked for; it begins.
    pub fn begin(&mut self, calendar: &mut Calendar) -> Option<Access> {
        let access = self.asked[self.disk.begin(calendar)? as usize]?;
        self.begun[access.kind()] += 1;
        Some(access)
    }

    /// The access in progress, which has ended.
    pub fn end(&mut self, now: Time) -> Option<Access> {
        self.asked[self.disk.end(now)? as usize].take()
    }

    /// Little's law, flow balance and the utilisation law of the disk.
    pub fn check(&self, now: Time, laws: &mut Laws) -> Result<(), LawViolation> {
        self.disk.check(now, laws)
    }

    /// Statistics begin anew at `now`; accesses in progress stay.
    pub fn restart_statistics(&mut self, now: Time) {
        self.disk.restart_statistics(now);
        self.begun = [0; 3];
    }
}
