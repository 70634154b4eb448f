//! Users, commands, control groups, disks and network interfaces in columns.

use std::cell::Cell;

use ratatui::style::Style;
use unicode_width::UnicodeWidthStr;

use crate::canvas::{Canvas, Run};
use crate::groups::Details;
use crate::line::{Line, Measure, Order, Sort};
use crate::listing::Panel;
use crate::mouse::Target;
use crate::state::State;
use crate::words::{ABSENT, bytes, duration, number, percent, whole};

/// Narrowest column of names; columns of figures are left out for it, the last ones of [`columns`] first.
const NAME_LEAST: usize = 16;
/// Blanks before a line for each one above it in the hierarchy, and most of them.
const INDENT: usize = 2;
const INDENT_MAX: usize = 12;

/// Widest column of names: figures stay near them on a wide screen.
const NAME_MOST: usize = 48;
/// Columns of the name of a line of details.
const DETAIL_LABEL: usize = 12;

/// A column of figures.
struct Column {
    title: &'static str,
    /// With the blank before it: the widest figure and the title with its mark.
    width: usize,
    measure: Measure,
    /// Key that orders by it.
    key: Option<char>,
    shown: fn(f64) -> String,
    /// Place on the line, from the left.
    place: usize,
}

const fn column(
    title: &'static str,
    width: usize,
    measure: Measure,
    key: Option<char>,
    shown: fn(f64) -> String,
    place: usize,
) -> Column {
    Column { title, width, measure, key, shown, place }
}

/// Of users and commands, in the order in which they are worth their room.
const USERS: [Column; 7] = [
    column("CPU", 8, Measure::Cpu, Some('c'), percent, 0),
    column("CPU WAIT", 10, Measure::CpuWait, Some('w'), percent, 1),
    column("MEMORY", 9, Measure::Memory, Some('m'), bytes, 3),
    column("READ/s", 8, Measure::Read, None, bytes, 4),
    column("WRITE/s", 9, Measure::Write, None, bytes, 5),
    column("DISK WAIT", 11, Measure::DiskWait, Some('d'), percent, 2),
    column("PROCESSES", 11, Measure::Processes, None, whole, 6),
];
/// Of control groups.
const GROUPS: [Column; 10] = [
    column("CPU", 8, Measure::Cpu, Some('c'), percent, 0),
    column("MEMORY", 9, Measure::Memory, Some('m'), bytes, 3),
    column("THROTTLED", 11, Measure::Throttled, None, percent, 1),
    column("LIMIT", 8, Measure::MemoryLimit, None, bytes, 4),
    column("READ/s", 8, Measure::Read, None, bytes, 8),
    column("WRITE/s", 9, Measure::Write, None, bytes, 9),
    column("CPU PSI", 9, Measure::CpuPressure, Some('w'), percent, 2),
    column("PEAK", 8, Measure::MemoryPeak, None, bytes, 5),
    column("MEMORY PSI", 12, Measure::MemoryPressure, None, percent, 6),
    column("DISK PSI", 10, Measure::DiskPressure, Some('d'), percent, 7),
];
/// Of disks.
const DISKS: [Column; 9] = [
    column("BUSY", 8, Measure::Busy, Some('d'), percent, 0),
    column("READ/s", 8, Measure::Read, None, bytes, 3),
    column("WRITE/s", 9, Measure::Write, None, bytes, 4),
    column("READS/s", 9, Measure::Reads, None, number, 1),
    column("WRITES/s", 10, Measure::Writes, None, number, 2),
    column("WAIT", 8, Measure::Wait, Some('w'), duration, 5),
    column("QUEUE", 8, Measure::Queue, None, number, 8),
    column("READ WAIT", 11, Measure::ReadWait, None, duration, 6),
    column("WRITE WAIT", 12, Measure::WriteWait, None, duration, 7),
];
/// Of network interfaces.
const NETWORK: [Column; 6] = [
    column("IN/s", 8, Measure::In, None, bytes, 0),
    column("OUT/s", 8, Measure::Out, None, bytes, 1),
    column("PACKETS IN/s", 14, Measure::PacketsIn, None, number, 2),
    column("PACKETS OUT/s", 15, Measure::PacketsOut, None, number, 3),
    column("ERRORS/s", 10, Measure::Errors, None, number, 4),
    column("DROPS/s", 9, Measure::Drops, None, number, 5),
];

fn columns(panel: Panel) -> &'static [Column] {
    match panel {
        Panel::Users => &USERS,
        Panel::Groups => &GROUPS,
        Panel::Disks => &DISKS,
        Panel::Network => &NETWORK,
    }
}

/// What the key `letter` orders a panel by; `None` for nothing.
pub(crate) fn sort_of(panel: Panel, letter: char) -> Option<Sort> {
    match letter {
        'n' => Some(Sort::Name),
        'i' => Some(Sort::By(Measure::Io)),
        _ => {
            let column = columns(panel).iter().find(|column| column.key == Some(letter))?;
            Some(Sort::By(column.measure))
        }
    }
}

/// What the column `by` places right of that of `sort` orders by; names are left of all of them.
pub(crate) fn beside(panel: Panel, sort: Sort, by: isize) -> Sort {
    let mut columns: Vec<&Column> = columns(panel).iter().collect();
    columns.sort_by_key(|column| column.place);
    let sorts: Vec<Sort> = std::iter::once(Sort::Name)
        .chain(columns.into_iter().map(|column| Sort::By(column.measure)))
        .collect();
    let marked = |one: &Sort| *one == sort || marks(sort).contains(&Some(*one));
    let at = sorts.iter().position(marked).unwrap_or(0);
    sorts[at.saturating_add_signed(by).min(sorts.len() - 1)]
}

/// Columns whose sum `sort` is.
fn marks(sort: Sort) -> [Option<Sort>; 4] {
    if sort != Sort::By(Measure::Io) {
        return [None; 4];
    }
    [Measure::Read, Measure::Write, Measure::In, Measure::Out].map(|measure| Some(Sort::By(measure)))
}

/// Columns for lines of `width` characters in the order of their places, and the width of the names.
fn chosen(panel: Panel, width: usize) -> (Vec<&'static Column>, usize) {
    let mut columns: Vec<&Column> = columns(panel).iter().collect();
    let room =
        |columns: &[&Column]| width.saturating_sub(columns.iter().map(|column| column.width).sum::<usize>());
    while columns.len() > 1 && room(&columns) < NAME_LEAST {
        columns.pop();
    }
    let name = room(&columns).min(NAME_MOST);
    columns.sort_by_key(|column| column.place);
    (columns, name)
}

/// The list of a panel, from row `y` on in `height` rows with the one of the titles.
pub(crate) fn list(canvas: &mut Canvas<'_>, state: &State, panel: Panel, y: u16, height: u16) {
    let listing = state.listing_of(panel);
    let all = listing.lines.len();
    let rows = usize::from(height.saturating_sub(1));
    let top = listing.placed(rows);
    state.targets.add(canvas.rows(y, height), Target::List(panel));
    if !state.has(panel) {
        let text = format!("this log has no {}", things(panel));
        canvas.row(y, &[Run::new(text, canvas.palette.dim())]);
        return;
    }
    let title = match panel {
        Panel::Users if state.people_only => "PERSON",
        Panel::Users => "USER",
        Panel::Groups => "GROUP",
        Panel::Disks => "DISK",
        Panel::Network => "INTERFACE",
    };
    let filter = &listing.filter;
    let with = if filter.is_empty() { String::new() } else { format!(" with {}", canvas.clean(filter)) };
    let last = top + rows;
    let mut heading = if all > rows {
        format!("{title} ({}-{last} of {all}{with})", top + 1)
    } else {
        format!("{title} ({all}{with})")
    };
    // With its mark.
    if all > rows && heading.width() >= chosen(panel, canvas.width()).1 {
        heading = format!("{title} {last}/{all}{with}");
    }
    titles(canvas, state, Some(panel), y, &heading, listing.order);
    if listing.lines.is_empty() {
        let text = empty(state, panel);
        canvas.row(y + 1, &[Run::new(format!("  {text}"), canvas.palette.dim())]);
    }
    let selected = listing.selected_index().filter(|_| panel == state.panel);
    for (at, line) in listing.lines.iter().enumerate().skip(top).take(rows) {
        let row = y + 1 + u16::try_from(at - top).unwrap_or(0);
        draw(canvas, panel, row, line, selected == Some(at));
        state.targets.add(canvas.rows(row, 1), Target::Line(panel, at));
    }
}

fn things(panel: Panel) -> &'static str {
    match panel {
        Panel::Users => "users",
        Panel::Groups => "control groups",
        Panel::Disks => "disks",
        Panel::Network => "network interfaces",
    }
}

/// Why a list has no lines.
fn empty(state: &State, panel: Panel) -> String {
    if !state.listing_of(panel).filter.is_empty() {
        return "none of this name in this interval; Esc: all".into();
    }
    match (panel, state.counts_users(), state.people_only) {
        (Panel::Users, false, _) => "users were not recorded".into(),
        (Panel::Users, true, true) => "no person did anything; p: all users".into(),
        (Panel::Users, true, false) => "nobody did anything".into(),
        _ => format!("no {} did anything", things(panel).trim_end_matches('s')),
    }
}

/// The commands of the selected user, in the same way.
pub(crate) fn commands(canvas: &mut Canvas<'_>, state: &State, y: u16, height: u16) {
    let Some(name) = state.selected_name() else { return };
    let name = canvas.clean(name);
    let rows = usize::from(height.saturating_sub(1));
    let all = state.commands.len();
    let top = placed(&state.commands_top, all, rows);
    state.commands_rows.set(rows);
    state.targets.add(canvas.rows(y, height), Target::Commands);
    let title = if all > rows {
        format!("{}-{} of {all} COMMANDS of {name}", top + 1, top + rows)
    } else {
        format!("COMMANDS of {name}")
    };
    titles(canvas, state, None, y, &title, state.listing_of(Panel::Users).order);
    if state.commands.is_empty() {
        canvas.row(y + 1, &[Run::new("  none recorded in this interval", canvas.palette.dim())]);
    }
    for (at, line) in state.commands.iter().skip(top).take(rows).enumerate() {
        draw(canvas, Panel::Users, y + 1 + u16::try_from(at).unwrap_or(0), line, false);
    }
}

/// First of `all` lines where there is room for `rows`.
fn placed(top: &Cell<usize>, all: usize, rows: usize) -> usize {
    top.set(top.get().min(all.saturating_sub(rows)));
    top.get()
}

/// What the log says of the selected control group.
pub(crate) fn details(canvas: &mut Canvas<'_>, details: &Details, y: u16, height: u16) {
    let kind = details.kind.as_deref().map_or(String::new(), |kind| format!(" ({})", canvas.clean(kind)));
    let room = canvas.width().saturating_sub(kind.len());
    let path = canvas.clean(&details.path);
    let heading = canvas.palette.heading();
    canvas.row(y, &[Run::new(format!("{}{kind}", canvas.fitted(&path, path.len().min(room))), heading)]);
    let separator = canvas.palette.separator();
    let mut rows: Vec<String> = Vec::new();
    for (name, statements) in &details.lines {
        let mut row = format!("{name:<DETAIL_LABEL$}");
        for (at, statement) in statements.iter().enumerate() {
            let before = if at == 0 { "" } else { separator };
            if at > 0 && row.width() + before.width() + statement.width() > canvas.width() {
                rows.push(std::mem::replace(&mut row, " ".repeat(DETAIL_LABEL)));
                row += statement;
            } else {
                row += &format!("{before}{statement}");
            }
        }
        rows.push(row);
    }
    for (row, text) in (y + 1..y + height).zip(rows) {
        canvas.row(row, &[Run::plain(text)]);
    }
}

/// The titles of the columns, behind `name`, with a mark at those that give the order. Without `panel`, those of commands.
fn titles(canvas: &mut Canvas<'_>, state: &State, panel: Option<Panel>, y: u16, name: &str, order: Order) {
    let (columns, width) = chosen(panel.unwrap_or(Panel::Users), canvas.width());
    let style = canvas.palette.heading();
    let marked =
        |sort: Sort| panel.is_some() && (sort == order.sort || marks(order.sort).contains(&Some(sort)));
    let mark = if order.is_reversed { canvas.palette.sorted_up() } else { canvas.palette.sorted() };
    let name = if marked(Sort::Name) { format!("{name}{mark}") } else { name.into() };
    let mut text = canvas.fitted(&name, width);
    let mut x = width;
    if let Some(panel) = panel {
        state.targets.add(canvas.cells(0, y, width), Target::Title(panel, Sort::Name));
    }
    for column in columns {
        let sort = Sort::By(column.measure);
        let title = format!("{}{}", column.title, if marked(sort) { mark } else { "" });
        text += &right(&title, column.width);
        if let Some(panel) = panel {
            state.targets.add(canvas.cells(x, y, column.width), Target::Title(panel, sort));
        }
        x += column.width;
    }
    canvas.row(y, &[Run::new(text, style)]);
}

fn draw(canvas: &mut Canvas<'_>, panel: Panel, y: u16, line: &Line, is_selected: bool) {
    let (columns, width) = chosen(panel, canvas.width());
    let pointer = if is_selected { canvas.palette.pointer() } else { " " };
    let fold = if line.is_folded { canvas.palette.folded() } else { "" };
    let indent = " ".repeat((INDENT * line.depth).min(INDENT_MAX));
    // The last character before the figures stays blank.
    let name = format!("{indent}{}{fold}", canvas.clean(&line.name));
    let mut text = format!("{pointer} {} ", canvas.fitted(&name, width.saturating_sub(3)));
    for column in columns {
        let shown = line.of(column.measure).map_or(ABSENT.into(), column.shown);
        let is_sum = column.measure == Measure::Memory && line.is_resident && shown != ABSENT;
        text += &right(&format!("{shown}{}", if is_sum { "+" } else { "" }), column.width);
    }
    let style = match (is_selected, line.is_active) {
        (true, _) => canvas.palette.selected(),
        (false, true) => Style::default(),
        (false, false) => canvas.palette.dim(),
    };
    // The whole row stands out, also where its right end is empty.
    let text = canvas.fitted(&text, canvas.width());
    canvas.row(y, &[Run::new(text, style)]);
}

/// `text` at the right end of `width` characters; figures and titles are as wide as they have characters.
fn right(text: &str, width: usize) -> String {
    format!("{text:>width$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_left_out_where_names_would_have_no_room() {
        let titles =
            |panel, width| chosen(panel, width).0.iter().map(|column| column.title).collect::<Vec<_>>();
        let users = |width| titles(Panel::Users, width);
        assert_eq!(users(60), ["CPU", "CPU WAIT", "MEMORY", "READ/s", "WRITE/s"]);
        assert_eq!(users(80), ["CPU", "CPU WAIT", "DISK WAIT", "MEMORY", "READ/s", "WRITE/s"]);
        // What a panel is for is there on the usual terminal.
        let groups = ["CPU", "THROTTLED", "CPU PSI", "MEMORY", "LIMIT", "READ/s", "WRITE/s"];
        assert_eq!(titles(Panel::Groups, 80), groups);
        let disks = ["BUSY", "READS/s", "WRITES/s", "READ/s", "WRITE/s", "WAIT", "QUEUE"];
        assert_eq!(titles(Panel::Disks, 80), disks);
        assert_eq!(titles(Panel::Network, 80).len(), NETWORK.len());
        for panel in Panel::ALL {
            assert_eq!(chosen(panel, 120).0.len(), columns(panel).len());
            for width in 60..200 {
                let (columns, name) = chosen(panel, width);
                let taken = name + columns.iter().map(|column| column.width).sum::<usize>();
                assert!(taken == width || (taken < width && name == NAME_MOST));
                assert!(name >= NAME_LEAST);
            }
        }
    }

    #[test]
    fn every_title_and_every_figure_has_a_blank_before_it() {
        for column in Panel::ALL.into_iter().flat_map(columns) {
            assert!(column.title.len() + 1 < column.width, "{}", column.title);
        }
        // Whatever a log says: two figures without a blank between them would look like one.
        let figures = (-200..3080).map(|tenths| 10_f64.powf(f64::from(tenths) / 10.0) * 0.9996);
        for figure in figures.chain([0.0, f64::MAX]) {
            for column in Panel::ALL.into_iter().flat_map(columns) {
                let mark = usize::from(column.measure == Measure::Memory);
                let shown = (column.shown)(figure);
                assert!(shown.width() + mark < column.width, "{} {figure}: {shown}", column.title);
            }
        }
    }

    #[test]
    fn every_column_can_give_the_order_and_every_key_one_column() {
        for panel in Panel::ALL {
            let mut sort = Sort::Name;
            let mut seen = Vec::new();
            for _ in columns(panel) {
                sort = beside(panel, sort, 1);
                assert!(!seen.contains(&sort));
                seen.push(sort);
            }
            assert_eq!(seen.len(), columns(panel).len());
            assert_eq!(beside(panel, sort, 1), sort);
            let keys: Vec<char> = columns(panel).iter().filter_map(|column| column.key).collect();
            assert!(keys.iter().all(|key| keys.iter().filter(|other| *other == key).count() == 1));
        }
        // From the sum of two columns on, the columns beside them.
        assert_eq!(beside(Panel::Users, Sort::By(Measure::Io), 1), Sort::By(Measure::Write));
    }
}
