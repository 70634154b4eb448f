//! The columns of each panel: what they show, where they stand, and which of them a screen has room for.

use crate::line::{Measure, Sort};
use crate::listing::Panel;
use crate::words::{bytes, duration, number, percent, whole};

/// Narrowest column of names; columns of figures are left out for it, the last ones of [`columns`] first.
const NAME_LEAST: usize = 16;
/// Widest column of names: figures stay near them on a wide screen.
const NAME_MOST: usize = 48;

/// A column of figures.
pub(crate) struct Column {
    pub(crate) title: &'static str,
    /// With the blank before it: the widest figure and the title with its mark.
    pub(crate) width: usize,
    pub(crate) measure: Measure,
    /// Key that orders by it.
    key: Option<char>,
    pub(crate) shown: fn(f64) -> String,
    /// Place on the line, from the left.
    place: usize,
}

impl Column {
    pub(crate) fn is_of_gpu(&self) -> bool {
        matches!(self.measure, Measure::Gpu | Measure::GpuMemory)
    }
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
const USERS: [Column; 9] = [
    column("CPU", 8, Measure::Cpu, Some('c'), percent, 0),
    column("CPU WAIT", 10, Measure::CpuWait, Some('w'), percent, 1),
    column("MEMORY", 9, Measure::Memory, Some('m'), bytes, 3),
    // On the right, where the table of commands, which have neither, ends before them.
    column("GPU", 8, Measure::Gpu, Some('u'), percent, 7),
    column("GPU MEMORY", 12, Measure::GpuMemory, None, bytes, 8),
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

/// Columns of a panel; those of GPUs only where the log `has_gpu`.
fn columns(panel: Panel, has_gpu: bool) -> impl Iterator<Item = &'static Column> {
    let all: &[Column] = match panel {
        Panel::Users => &USERS,
        Panel::Groups => &GROUPS,
        Panel::Disks => &DISKS,
        Panel::Network => &NETWORK,
    };
    all.iter().filter(move |column| has_gpu || !column.is_of_gpu())
}

/// What the key `letter` orders a panel by; `None` for nothing.
pub(crate) fn sort_of(panel: Panel, has_gpu: bool, letter: char) -> Option<Sort> {
    match letter {
        'n' => Some(Sort::Name),
        'i' => Some(Sort::By(Measure::Io)),
        _ => {
            let column = columns(panel, has_gpu).find(|column| column.key == Some(letter))?;
            Some(Sort::By(column.measure))
        }
    }
}

/// What the column `by` places right of that of `sort` orders by; names are left of all of them.
pub(crate) fn beside(panel: Panel, has_gpu: bool, sort: Sort, by: isize) -> Sort {
    let mut columns: Vec<&Column> = columns(panel, has_gpu).collect();
    columns.sort_by_key(|column| column.place);
    let sorts: Vec<Sort> = std::iter::once(Sort::Name)
        .chain(columns.into_iter().map(|column| Sort::By(column.measure)))
        .collect();
    let marked = |one: &Sort| *one == sort || marks(sort).contains(&Some(*one));
    let at = sorts.iter().position(marked).unwrap_or(0);
    sorts[at.saturating_add_signed(by).min(sorts.len() - 1)]
}

/// Columns whose sum `sort` is.
pub(crate) fn marks(sort: Sort) -> [Option<Sort>; 4] {
    if sort != Sort::By(Measure::Io) {
        return [None; 4];
    }
    [Measure::Read, Measure::Write, Measure::In, Measure::Out].map(|measure| Some(Sort::By(measure)))
}

/// Columns for lines of `width` characters in the order of their places, and the width of the names. What gives the order
/// is among them.
pub(crate) fn chosen(panel: Panel, has_gpu: bool, width: usize, sort: Sort) -> (Vec<&'static Column>, usize) {
    let mut columns: Vec<&Column> = columns(panel, has_gpu).collect();
    let room =
        |columns: &[&Column]| width.saturating_sub(columns.iter().map(|column| column.width).sum::<usize>());
    let is_free = |column: &&Column| {
        let own = Sort::By(column.measure);
        own != sort && !marks(sort).contains(&Some(own))
    };
    let least = match panel {
        // Indented, and often as long as an identifier: a part of what is beyond the usual width is theirs.
        Panel::Groups => NAME_LEAST + (width.saturating_sub(80) / 3).min(12),
        _ => NAME_LEAST,
    };
    while room(&columns) < least {
        let Some(last) = columns.iter().rposition(is_free) else { break };
        columns.remove(last);
    }
    let name = room(&columns).min(NAME_MOST);
    columns.sort_by_key(|column| column.place);
    (columns, name)
}

#[cfg(test)]
mod tests {
    use unicode_width::UnicodeWidthStr;

    use super::*;

    #[test]
    fn columns_are_left_out_where_names_would_have_no_room() {
        let titles = |panel, width| {
            chosen(panel, false, width, Sort::Name).0.iter().map(|column| column.title).collect::<Vec<_>>()
        };
        let users = |width| titles(Panel::Users, width);
        assert_eq!(users(60), ["CPU", "CPU WAIT", "MEMORY", "READ/s", "WRITE/s"]);
        assert_eq!(users(80), ["CPU", "CPU WAIT", "DISK WAIT", "MEMORY", "READ/s", "WRITE/s"]);
        let titles_with_gpu = |width| {
            let (columns, _) = chosen(Panel::Users, true, width, Sort::Name);
            columns.iter().map(|column| column.title).collect::<Vec<_>>()
        };
        assert_eq!(titles_with_gpu(60), ["CPU", "CPU WAIT", "MEMORY", "GPU"]);
        let wide = ["CPU", "CPU WAIT", "MEMORY", "READ/s", "WRITE/s", "GPU", "GPU MEMORY"];
        assert_eq!(titles_with_gpu(80), wide);
        // What a panel is for is there on the usual terminal.
        let groups = ["CPU", "THROTTLED", "CPU PSI", "MEMORY", "LIMIT", "READ/s", "WRITE/s"];
        assert_eq!(titles(Panel::Groups, 80), groups);
        let disks = ["BUSY", "READS/s", "WRITES/s", "READ/s", "WRITE/s", "WAIT", "QUEUE"];
        assert_eq!(titles(Panel::Disks, 80), disks);
        assert_eq!(titles(Panel::Network, 80).len(), NETWORK.len());
        for panel in Panel::ALL {
            for has_gpu in [false, true] {
                let all = columns(panel, has_gpu).count();
                assert_eq!(chosen(panel, has_gpu, 120, Sort::Name).0.len(), all);
            }
            let sorts = columns(panel, true).map(|column| Sort::By(column.measure));
            let sorts: Vec<Sort> = sorts.chain([Sort::Name, Sort::By(Measure::Io)]).collect();
            for (width, sort) in (60..200).flat_map(|width| sorts.iter().map(move |sort| (width, *sort))) {
                let (columns, name) = chosen(panel, true, width, sort);
                let is_there = |wanted: Sort| columns.iter().any(|column| Sort::By(column.measure) == wanted);
                assert!(matches!(sort, Sort::Name | Sort::By(Measure::Io)) || is_there(sort));
                let taken = name + columns.iter().map(|column| column.width).sum::<usize>();
                assert!(taken == width || (taken < width && name == NAME_MOST));
                assert!(name >= NAME_LEAST);
            }
        }
    }

    #[test]
    fn every_title_and_every_figure_has_a_blank_before_it() {
        for column in Panel::ALL.into_iter().flat_map(|panel| columns(panel, true)) {
            assert!(column.title.len() + 1 < column.width, "{}", column.title);
        }
        // Whatever a log says: two figures without a blank between them would look like one.
        let figures = (-200..3080).map(|tenths| 10_f64.powf(f64::from(tenths) / 10.0) * 0.9996);
        for figure in figures.chain([0.0, f64::MAX]) {
            for column in Panel::ALL.into_iter().flat_map(|panel| columns(panel, true)) {
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
            for _ in columns(panel, true) {
                sort = beside(panel, true, sort, 1);
                assert!(!seen.contains(&sort));
                seen.push(sort);
            }
            assert_eq!(seen.len(), columns(panel, true).count());
            assert_eq!(beside(panel, true, sort, 1), sort);
            let keys: Vec<char> = columns(panel, true).filter_map(|column| column.key).collect();
            assert!(keys.iter().all(|key| keys.iter().filter(|other| *other == key).count() == 1));
        }
        // From the sum of two columns on, the columns beside them.
        assert_eq!(beside(Panel::Users, false, Sort::By(Measure::Io), 1), Sort::By(Measure::Write));
    }
}
