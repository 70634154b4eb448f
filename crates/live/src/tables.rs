//! Users and commands in columns.

use ratatui::style::Style;

use crate::canvas::{Canvas, Run};
use crate::figures::Line;
use crate::state::{Sort, State};
use crate::words::{ABSENT, bytes, percent_or_absent};

/// Narrowest column of names; columns of figures are left out for it, the last ones of [`COLUMNS`] first.
const NAME_LEAST: usize = 16;

/// A column of figures.
struct Column {
    title: &'static str,
    /// With the blank before it: the widest figure and the title with its mark.
    width: usize,
    sort: Option<Sort>,
    figure: fn(&Line) -> String,
    /// Place on the line, from the left.
    place: usize,
}

/// In the order in which they are worth their room.
const COLUMNS: [Column; 7] = [
    Column {
        title: "CPU",
        width: 8,
        sort: Some(Sort::Cpu),
        figure: |line| percent_or_absent(line.cpu),
        place: 0,
    },
    Column {
        title: "CPU WAIT",
        width: 10,
        sort: Some(Sort::CpuWait),
        figure: |line| percent_or_absent(line.cpu_wait),
        place: 1,
    },
    Column { title: "MEMORY", width: 9, sort: Some(Sort::Memory), figure: memory, place: 3 },
    Column { title: "READ/s", width: 8, sort: Some(Sort::Io), figure: |line| size(line.read), place: 4 },
    Column { title: "WRITE/s", width: 9, sort: Some(Sort::Io), figure: |line| size(line.write), place: 5 },
    Column {
        title: "DISK WAIT",
        width: 11,
        sort: Some(Sort::DiskWait),
        figure: |line| percent_or_absent(line.disk_wait),
        place: 2,
    },
    Column { title: "PROCESSES", width: 10, sort: None, figure: processes, place: 6 },
];

fn size(size: Option<f64>) -> String {
    size.map_or(ABSENT.into(), bytes)
}

fn memory(line: &Line) -> String {
    let shown = |memory: crate::figures::Memory| {
        let mark = if memory.is_resident { "+" } else { "" };
        format!("{}{mark}", bytes(memory.bytes))
    };
    line.memory.map_or(ABSENT.into(), shown)
}

fn processes(line: &Line) -> String {
    line.processes.map_or(ABSENT.into(), |number| format!("{number:.0}"))
}

/// Columns for lines of `width` characters in the order of their places, and the width of the names.
fn chosen(width: usize) -> (Vec<&'static Column>, usize) {
    let mut columns: Vec<&Column> = COLUMNS.iter().collect();
    let room =
        |columns: &[&Column]| width.saturating_sub(columns.iter().map(|column| column.width).sum::<usize>());
    while columns.len() > 1 && room(&columns) < NAME_LEAST {
        columns.pop();
    }
    let name = room(&columns);
    columns.sort_by_key(|column| column.place);
    (columns, name)
}

/// The users, from row `y` on in `height` rows with the one of the titles.
pub(crate) fn users(canvas: &mut Canvas<'_>, state: &State, y: u16, height: u16) {
    let all = state.users.len();
    let rows = usize::from(height.saturating_sub(1));
    let selected = state.selected_index();
    let last_top = all.saturating_sub(rows);
    let mut top = state.top.get().min(last_top);
    if let Some(at) = selected {
        top = top.clamp((at + 1).saturating_sub(rows), at);
    }
    state.top.set(top);
    if !state.has_users() {
        canvas.row(y, &[Run::new("this log has no users", canvas.palette.dim())]);
        return;
    }
    let who = if state.people_only { "PERSON" } else { "USER" };
    let seen = if all > rows { format!("{}-{} of {all}", top + 1, top + rows) } else { all.to_string() };
    titles(canvas, y, &format!("{who} ({seen})"), Some(state.sort));
    if state.users.is_empty() {
        let who = match (state.counts_users(), state.people_only) {
            (false, _) => "users were not recorded",
            (true, true) => "no person did anything; p: all users",
            (true, false) => "nobody did anything",
        };
        canvas.row(y + 1, &[Run::new(format!("  {who}"), canvas.palette.dim())]);
    }
    for (at, line) in state.users.iter().enumerate().skip(top).take(rows) {
        let row = y + 1 + u16::try_from(at - top).unwrap_or(0);
        draw(canvas, row, line, selected == Some(at));
    }
}

/// The commands of the selected user, in the same way.
pub(crate) fn commands(canvas: &mut Canvas<'_>, state: &State, y: u16, height: u16) {
    let Some(name) = state.selected_name() else { return };
    let name = canvas.clean(name);
    let rows = usize::from(height.saturating_sub(1));
    let all = state.commands.len();
    let title = if all > rows {
        format!("{rows} of {all} COMMANDS of {name}")
    } else {
        format!("COMMANDS of {name}")
    };
    titles(canvas, y, &title, None);
    if state.commands.is_empty() {
        canvas.row(y + 1, &[Run::new("  none recorded in this interval", canvas.palette.dim())]);
    }
    for (at, line) in state.commands.iter().take(rows).enumerate() {
        draw(canvas, y + 1 + u16::try_from(at).unwrap_or(0), line, false);
    }
}

/// The titles of the columns, behind `name`, with a mark at those that give the order.
fn titles(canvas: &mut Canvas<'_>, y: u16, name: &str, sort: Option<Sort>) {
    let (columns, width) = chosen(canvas.width());
    let style = canvas.palette.heading();
    let mut text = canvas.fitted(name, width);
    for column in columns {
        let mark = if sort.is_some() && column.sort == sort { canvas.palette.sorted() } else { "" };
        let title = format!("{}{mark}", column.title);
        text += &right(&title, column.width);
    }
    canvas.row(y, &[Run::new(text, style)]);
}

fn draw(canvas: &mut Canvas<'_>, y: u16, line: &Line, is_selected: bool) {
    let (columns, width) = chosen(canvas.width());
    let pointer = if is_selected { canvas.palette.pointer() } else { " " };
    // The last character before the figures stays blank.
    let name = canvas.fitted(&canvas.clean(&line.name), width.saturating_sub(3));
    let mut text = format!("{pointer} {name} ");
    for column in columns {
        text += &right(&(column.figure)(line), column.width);
    }
    let style = match (is_selected, line.is_active) {
        (true, _) => canvas.palette.selected(),
        (false, true) => Style::default(),
        (false, false) => canvas.palette.dim(),
    };
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
        let titles = |width| chosen(width).0.iter().map(|column| column.title).collect::<Vec<_>>();
        assert_eq!(titles(60), ["CPU", "CPU WAIT", "MEMORY", "READ/s", "WRITE/s"]);
        assert_eq!(titles(80), ["CPU", "CPU WAIT", "DISK WAIT", "MEMORY", "READ/s", "WRITE/s"]);
        assert_eq!(titles(120).len(), COLUMNS.len());
        for width in 60..200 {
            let (columns, name) = chosen(width);
            assert!(name >= NAME_LEAST);
            assert_eq!(name + columns.iter().map(|column| column.width).sum::<usize>(), width);
        }
    }

    #[test]
    fn every_title_and_every_figure_has_a_blank_before_it() {
        for column in &COLUMNS {
            assert!(
                column.title.len() + usize::from(column.sort.is_some()) < column.width,
                "{}",
                column.title
            );
        }
        for widest in ["100000 %", "999 MB+"] {
            assert!(widest.len() <= 8);
        }
    }
}
