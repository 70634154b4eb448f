//! The panels of a view, and what the keys change of the list that each of them has.

use std::cell::Cell;
use std::sync::Arc;

use crate::line::{Line, Measure, Order};

/// What the larger part of the screen shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Panel {
    /// Users, and the commands of the selected one.
    Users,
    /// Control groups, and the details of the selected one.
    Groups,
    /// Disks, and network interfaces below.
    Disks,
    /// Network interfaces, and disks below.
    Network,
}

impl Panel {
    /// In the order of their keys, from 1 on.
    pub(crate) const ALL: [Panel; 4] = [Panel::Users, Panel::Groups, Panel::Disks, Panel::Network];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Panel::Users => "users",
            Panel::Groups => "groups",
            Panel::Disks => "disks",
            Panel::Network => "network",
        }
    }

    /// The table of the log that it shows.
    pub(crate) fn table(self) -> &'static str {
        match self {
            Panel::Users => "users",
            Panel::Groups => "groups",
            Panel::Disks => "disks",
            Panel::Network => "interfaces",
        }
    }

    /// The panel `by` places further, around.
    pub(crate) fn next(self, by: isize) -> Panel {
        let panels = Panel::ALL.len() as isize;
        Panel::ALL[(self as isize + by).rem_euclid(panels) as usize]
    }
}

/// A list of lines, one of which is selected.
pub(crate) struct Listing {
    pub(crate) order: Order,
    /// Key of the selected line; `None` for the first one, whichever it is.
    pub(crate) selected: Option<Arc<str>>,
    /// What the names of lines must contain, in lower case; empty for all.
    pub(crate) filter: String,
    /// In order, as far as they are to be shown.
    pub(crate) lines: Vec<Line>,
    /// First line on the screen; the drawing keeps the selected one in sight.
    pub(crate) top: Cell<usize>,
    /// Lines for which the screen has room.
    pub(crate) rows: Cell<usize>,
    /// Most lines that there were: the room for them does not shrink, so that nothing jumps.
    pub(crate) most: Cell<usize>,
}

impl Listing {
    pub(crate) fn of(panel: Panel) -> Listing {
        let measure = match panel {
            Panel::Users | Panel::Groups => Measure::Cpu,
            Panel::Disks => Measure::Busy,
            Panel::Network => Measure::Io,
        };
        Listing {
            order: Order::by(measure),
            selected: None,
            filter: String::new(),
            lines: Vec::new(),
            top: Cell::new(0),
            rows: Cell::new(0),
            most: Cell::new(0),
        }
    }

    /// Whether the filter lets a line of this name through.
    pub(crate) fn keeps(&self, line: &Line) -> bool {
        self.filter.is_empty() || line.name.to_lowercase().contains(&self.filter)
    }

    pub(crate) fn show(&mut self, lines: Vec<Line>) {
        self.most.set(self.most.get().max(lines.len()));
        self.lines = lines;
    }

    /// Index of the selected line among those that are shown.
    pub(crate) fn selected_index(&self) -> Option<usize> {
        match &self.selected {
            None => (!self.lines.is_empty()).then_some(0),
            Some(key) => self.lines.iter().position(|line| line.key == *key),
        }
    }

    pub(crate) fn selected_line(&self) -> Option<&Line> {
        self.selected_index().and_then(|at| self.lines.get(at))
    }

    /// Key of the selected line, be it one that is not shown in this interval.
    pub(crate) fn selected_key(&self) -> Option<Arc<str>> {
        self.selected_line().map(|line| Arc::clone(&line.key)).or_else(|| self.selected.clone())
    }

    pub(crate) fn select(&mut self, at: usize) {
        if let Some(line) = self.lines.get(at) {
            self.selected = Some(Arc::clone(&line.key));
        }
    }

    /// Selects the line `by` places further, or the last one on the way.
    pub(crate) fn step(&mut self, by: isize) {
        let last = self.lines.len().saturating_sub(1);
        self.select(self.selected_index().unwrap_or(0).saturating_add_signed(by).min(last));
    }

    /// Selects the first line, whichever it is.
    pub(crate) fn select_first(&mut self) {
        self.selected = None;
        self.top.set(0);
    }

    /// Moves what is on the screen by `by` lines, and with it the selection as far as it would be out of sight.
    pub(crate) fn scroll(&mut self, by: isize) {
        let rows = self.rows.get().max(1);
        let top = self.top.get().saturating_add_signed(by).min(self.lines.len().saturating_sub(rows));
        self.top.set(top);
        let at = self.selected_index().unwrap_or(0);
        let in_sight = at.clamp(top, top + rows - 1);
        if in_sight != at {
            self.select(in_sight);
        }
    }

    /// First line on the screen with room for `rows`, such that the selected one is in sight.
    pub(crate) fn placed(&self, rows: usize) -> usize {
        let mut top = self.top.get().min(self.lines.len().saturating_sub(rows));
        if let Some(at) = self.selected_index() {
            top = top.clamp((at + 1).saturating_sub(rows), at);
        }
        self.top.set(top);
        self.rows.set(rows);
        top
    }
}
