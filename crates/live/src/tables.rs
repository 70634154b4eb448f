//! Users, commands, control groups, disks and network interfaces in columns.

use std::cell::Cell;

use ratatui::style::Style;
use unicode_width::UnicodeWidthStr;

use crate::canvas::{Canvas, Run};
use crate::columns::{Column, chosen, marks};
use crate::groups::Details;
use crate::line::{Line, Measure, Order, Sort};
use crate::listing::Panel;
use crate::state::State;
use crate::targets::Target;
use crate::words::ABSENT;

/// Blanks before a line for each one above it in the hierarchy, and most of them.
const INDENT: usize = 2;
const INDENT_MAX: usize = 12;

/// Columns of the name of a line of details.
const DETAIL_LABEL: usize = 12;

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
    let columns = columns_of(Some(panel), canvas, state, listing.order);
    // Shorter where it has no room, with its mark.
    if heading.width() >= columns.1 {
        let seen = if all > rows { format!("{last}/{all}") } else { all.to_string() };
        let with = if filter.is_empty() { String::new() } else { format!(" /{}", canvas.clean(filter)) };
        heading = format!("{title} {seen}{with}");
    }
    titles(canvas, state, Some(panel), y, &heading, listing.order);
    if listing.lines.is_empty() {
        let text = empty(state, panel);
        canvas.row(y + 1, &[Run::new(format!("  {text}"), canvas.palette.dim())]);
    }
    let selected = listing.selected_index().filter(|_| panel == state.panel);
    for (at, line) in listing.lines.iter().enumerate().skip(top).take(rows) {
        let row = y + 1 + u16::try_from(at - top).unwrap_or(0);
        draw(canvas, &columns, row, line, selected == Some(at));
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
    let order = state.listing_of(Panel::Users).order;
    titles(canvas, state, None, y, &title, order);
    let columns = columns_of(None, canvas, state, order);
    if state.commands.is_empty() {
        canvas.row(y + 1, &[Run::new("  none recorded in this interval", canvas.palette.dim())]);
    }
    for (at, line) in state.commands.iter().skip(top).take(rows).enumerate() {
        draw(canvas, &columns, y + 1 + u16::try_from(at).unwrap_or(0), line, false);
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

/// Columns of a panel and the width of its names; without `panel`, those of commands, which stand below those of users.
fn columns_of(
    panel: Option<Panel>,
    canvas: &Canvas<'_>,
    state: &State,
    order: Order,
) -> (Vec<&'static Column>, usize) {
    let of = panel.unwrap_or(Panel::Users);
    let (mut columns, width) = chosen(of, state.has_gpu, canvas.width(), order.sort);
    columns.retain(|column| panel.is_some() || !column.is_of_gpu());
    (columns, width)
}

/// The titles of the columns, behind `name`, with a mark at those that give the order. Without `panel`, those of commands.
fn titles(canvas: &mut Canvas<'_>, state: &State, panel: Option<Panel>, y: u16, name: &str, order: Order) {
    let (columns, width) = columns_of(panel, canvas, state, order);
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

fn draw(
    canvas: &mut Canvas<'_>,
    (columns, width): &(Vec<&Column>, usize),
    y: u16,
    line: &Line,
    is_selected: bool,
) {
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
