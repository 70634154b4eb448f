//! Paging instead of swapping, which Sixth Edition does not do: what the same machine would be if its memory were
//! given out in pages on demand.
//!
//! An image lies in the swap area in whole; a page that is touched and not in memory is read from there, into a
//! free frame or that of the page, whoever's it is, that was touched least recently. If that one was modified it is
//! written first. Nobody is swapped.

use std::collections::BTreeMap;

use thinktime_engine::controller::Ask;
use thinktime_engine::{LawViolation, Laws};

use super::calls::Fault;
use super::disks::Io;
use super::process::Process;
use super::states::{Channel, Flow, priority};
use super::workload::Touch;

/// A page of a process.
type Page = (usize, u64);

#[derive(Clone, Copy, Debug)]
struct Frame {
    /// The order of its last use; none while a transfer is in progress.
    used: Option<u64>,
    /// Whether it must be written before it gives way.
    modified: bool,
}

/// Number of the frames, and how pages are transferred.
#[derive(Clone, Copy, Debug)]
pub(super) struct FramesPlan {
    /// Number of frames; 0 with swapping.
    pub frames: u64,
    /// Length of a page in the swap area [block].
    pub page_blocks: u64,
    /// Drive of the swap area.
    pub drive: u32,
    /// First block of the swap area.
    pub start: u64,
    /// Customer of the controller that stands for the first process; the others follow.
    pub first_customer: u32,
}

/// The frames of memory.
#[derive(Debug)]
pub(super) struct Frames {
    plan: FramesPlan,
    /// Pages in memory, or on their way there.
    pages: BTreeMap<Page, Frame>,
    /// Those that may give way, the least recently used first.
    // By order of use and not by a list: uses are counted, so that the first entry is the oldest.
    /// Pages that may give way, the least recently used first.
    order: BTreeMap<u64, Page>,
    /// Uses so far: the order of the next one.
    uses: u64,
}

impl Frames {
    pub fn new(plan: FramesPlan) -> Frames {
        Frames { plan, pages: BTreeMap::new(), order: BTreeMap::new(), uses: 0 }
    }

    /// True if `page` is in memory; it is then the most recently used.
    fn touch(&mut self, page: Page, modifies: bool) -> bool {
        let Some(frame) = self.pages.get_mut(&page) else { return false };
        if let Some(used) = frame.used {
            self.order.remove(&used);
        }
        self.uses += 1;
        *frame = Frame { used: Some(self.uses), modified: frame.modified || modifies };
        self.order.insert(self.uses, page);
        true
    }

    /// A free frame if there is one, or the page that gives way.
    fn make_room(&mut self) -> Room {
        // Pages on their way count: their frames are taken already.
        if (self.pages.len() as u64) < self.plan.frames {
            return Room::Free;
        }
        let Some((_, page)) = self.order.pop_first() else { return Room::None };
        match self.pages.remove(&page) {
            Some(frame) if frame.modified => Room::Modified(page),
            _ => Room::Free,
        }
    }

    /// `page` takes a frame, which a transfer then fills.
    fn expect(&mut self, page: Page) {
        self.pages.insert(page, Frame { used: None, modified: false });
    }

    /// Drops the pages of process `p`.
    pub fn leave(&mut self, p: usize) {
        let gone: Vec<Page> = self.pages.range((p, 0)..(p + 1, 0)).map(|(page, _)| *page).collect();
        for page in gone {
            if let Some(used) = self.pages.remove(&page).and_then(|frame| frame.used) {
                self.order.remove(&used);
            }
        }
    }

    /// Process `p` touches pages, one after another; those that are not there are read, one at a time. Called again
    /// when it is woken.
    pub fn touch_all(
        &mut self,
        p: usize,
        left: &mut Vec<Touch>,
        fault: &mut Fault,
        processes: &[Process],
        io: &mut Io,
    ) -> Flow {
        while let Some(Touch { page, modifies }) = left.last().copied() {
            match *fault {
                // Woken by the end of the read: the page is there, and is touched below before anybody can
                // take it.
                Fault::Reading => *fault = Fault::None,
                Fault::Writing => return self.read_page((p, page), fault, processes, io),
                Fault::None if !self.pages.contains_key(&(p, page)) => match self.make_room() {
                    Room::Free => {
                        io.counts.page_faults += 1;
                        return self.read_page((p, page), fault, processes, io);
                    }
                    Room::Modified(old) => {
                        io.counts.page_faults += 1;
                        io.counts.page_outs += 1;
                        *fault = Fault::Writing;
                        // The frame is taken, so that nobody else finds it free meanwhile.
                        self.expect((p, page));
                        return self.transfer_page(p, old, processes, io);
                    }
                    Room::None => return Flow::Sleep(Channel::FreeFrame, priority::BLOCK),
                },
                Fault::None => {}
            }
            self.touch((p, page), modifies);
            left.pop();
        }
        Flow::Done
    }

    /// Reads a page into a frame of its own.
    fn read_page(&mut self, page: Page, fault: &mut Fault, processes: &[Process], io: &mut Io) -> Flow {
        *fault = Fault::Reading;
        self.expect(page);
        self.transfer_page(page.0, page, processes, io)
    }

    /// Reads or writes one page, for process `p`, which waits.
    fn transfer_page(&self, p: usize, (owner, page): Page, processes: &[Process], io: &mut Io) -> Flow {
        let FramesPlan { page_blocks, drive, start, first_customer, .. } = self.plan;
        // With paging an image keeps its place in the swap area for as long as it has this length.
        let home = processes[owner].swap.unwrap_or(0);
        let ask = Ask {
            customer: first_customer + p as u32,
            drive,
            block: start + home + page * page_blocks,
            blocks: page_blocks,
        };
        io.disks.arrive(ask, io.calendar);
        Flow::Sleep(Channel::Page(p), priority::SWAP)
    }

    /// No more pages than frames, and each page that may give way is in the order of use once.
    pub fn check(&self, laws: &mut Laws) -> Result<(), LawViolation> {
        let law = "conservation of memory";
        laws.equal(law, "frames", self.pages.len() as u64 <= self.plan.frames, true)?;
        let consistent =
            self.order.iter().filter(|(used, page)| self.pages[*page].used == Some(**used)).count();
        laws.equal(law, "pages by their use", consistent, self.order.len())
    }
}

/// Outcome of looking for a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    /// A frame is free, or was made free by an unmodified page.
    Free,
    /// This page gives way when it has been written.
    Modified(Page),
    /// Every frame waits for a transfer.
    None,
}
