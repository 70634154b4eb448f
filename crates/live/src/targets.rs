//! Which part of the screen is what: the drawing says it, and the mouse asks for it.

use std::cell::RefCell;

use ratatui::layout::{Position, Rect};

use crate::line::Sort;
use crate::listing::Panel;

/// A part of the screen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Target {
    /// Name of a panel.
    Panel(Panel),
    /// All lines of a panel.
    List(Panel),
    /// A line of a panel, by its index.
    Line(Panel, usize),
    /// Title of a column.
    Title(Panel, Sort),
    /// The commands of the selected user.
    Commands,
    /// The times of the log, from its beginning to its end.
    Timeline,
}

/// Parts of the screen as it was drawn last; later ones lie over earlier ones.
#[derive(Default)]
pub(crate) struct Targets {
    places: RefCell<Vec<(Rect, Target)>>,
}

impl Targets {
    pub(crate) fn clear(&self) {
        self.places.borrow_mut().clear();
    }

    pub(crate) fn add(&self, place: Rect, target: Target) {
        self.places.borrow_mut().push((place, target));
    }

    pub(crate) fn at(&self, position: Position) -> Option<(Rect, Target)> {
        self.places.borrow().iter().rev().find(|(place, _)| place.contains(position)).copied()
    }

    pub(crate) fn of(&self, target: Target) -> Option<Rect> {
        self.places.borrow().iter().find(|(_, other)| *other == target).map(|(place, _)| *place)
    }
}
