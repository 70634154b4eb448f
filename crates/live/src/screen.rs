//! The state drawn on a screen of any size.

use ratatui::Frame;
use ratatui::style::{Modifier, Style};
use unicode_width::UnicodeWidthStr;

use crate::canvas::{Canvas, Run};
use crate::figures::{Figures, States};
use crate::listing::Panel;
use crate::palette::{Palette, State as CpuState};
use crate::state::{Counted, Motion, Overlay, Prediction, State};
use crate::targets::Target;
use crate::{clock, help, tables, words};

/// Smallest screen on which a view says something.
const COLUMNS_LEAST: u16 = 60;
const ROWS_LEAST: u16 = 16;
/// Share of the time from which pressure is shown as notable, 0 to 1.
const NOTABLE: f64 = 0.1;
/// Share of the time below which nobody is said to have waited, 0 to 1.
const NOTICED: f64 = 0.01;
/// Times as many people as are here: for more, it is not memory that limits.
const MORE_MOST: f64 = 100.0;

/// Columns that the widest line of pressure takes.
const PRESSURE_COLUMNS: usize = 72;
/// Rows from which disks and network interfaces are shown below the users too.
const DEVICES_ROWS: u16 = 30;
/// Fewest rows of the details of a control group, with that of its path.
const DETAILS_ROWS: u16 = 6;
/// Fewest cells of a timeline: a shorter one would hit nothing.
const TIMELINE_LEAST: usize = 10;

/// Draws the state.
pub(crate) fn draw(frame: &mut Frame<'_>, state: &State, palette: Palette) {
    let area = frame.area();
    state.targets.clear();
    let mut canvas = Canvas::new(frame.buffer_mut(), area, palette);
    if area.width < COLUMNS_LEAST || area.height < ROWS_LEAST {
        too_small(&mut canvas);
    } else if let Overlay::Help(first) = state.overlay {
        help::draw(&mut canvas, state, first);
    } else {
        view(&mut canvas, state);
    }
}

fn too_small(canvas: &mut Canvas<'_>) {
    let (columns, rows) = (canvas.area.width, canvas.area.height);
    let text = [
        format!("{columns} x {rows} characters are too few:"),
        format!("{COLUMNS_LEAST} x {ROWS_LEAST} are needed."),
        "q: quit".into(),
    ];
    for (y, line) in text.into_iter().enumerate() {
        canvas.row(u16::try_from(y).unwrap_or(0), &[Run::plain(line)]);
    }
}

fn view(canvas: &mut Canvas<'_>, state: &State) {
    title(canvas, state);
    let last = canvas.height() - 1;
    status(canvas, state, last);
    let Some(figures) = &state.figures else {
        let reason =
            if state.is_growing() { "waiting for the first interval" } else { "this log has no samples" };
        canvas.row(2, &[Run::plain(reason)]);
        return;
    };
    canvas.statements(1, &head(figures, state, canvas.palette));
    let limits = limits(figures, state.prediction.as_ref(), canvas.palette);
    canvas.statements(2, &limits);
    capacity(canvas, figures, 3);
    pressure(canvas, figures, 4);
    let mut y = 5;
    if state.has_interactions() {
        responses(canvas, figures, y);
        y += 1;
    }
    panels(canvas, state, figures, y);
    y += 1;
    body(canvas, state, y, last - y);
}

/// What the panel shows, from row `y` on in `rows` rows.
fn body(canvas: &mut Canvas<'_>, state: &State, y: u16, rows: u16) {
    // Room for as many lines as there ever were, so that nothing jumps.
    let wanted = |panel| u16::try_from(state.listing_of(panel).most.get() + 1).unwrap_or(u16::MAX).max(3);
    // Five parts of eight for the list, of which there is more than belongs to one of its lines.
    let first = |panel, rows: u16| (rows * 5 / 8).min(wanted(panel));
    match state.panel {
        Panel::Users => {
            let devices = [Panel::Disks, Panel::Network].into_iter().filter(|panel| state.has(*panel));
            let has_room = rows >= DEVICES_ROWS;
            let below: Vec<_> =
                devices.filter(|_| has_room).map(|panel| (panel, wanted(panel).min(rows / 6))).collect();
            let taken: u16 = below.iter().map(|(_, height)| height).sum();
            let mut at = y + rows - taken;
            for (panel, height) in below {
                tables::list(canvas, state, panel, at, height);
                at += height;
            }
            let rows = rows - taken;
            let users = if state.is_expanded { 0 } else { first(Panel::Users, rows) };
            if users > 0 {
                tables::list(canvas, state, Panel::Users, y, users);
            }
            tables::commands(canvas, state, y + users, rows - users);
        }
        Panel::Groups => {
            let groups = rows.saturating_sub(DETAILS_ROWS).min(wanted(Panel::Groups));
            tables::list(canvas, state, Panel::Groups, y, groups);
            if let Some(details) = &state.details {
                tables::details(canvas, details, y + groups, rows - groups);
            }
        }
        Panel::Disks | Panel::Network => {
            let other = if state.panel == Panel::Disks { Panel::Network } else { Panel::Disks };
            let list = first(state.panel, rows);
            tables::list(canvas, state, state.panel, y, list);
            tables::list(canvas, state, other, y + list, rows - list);
        }
    }
}

/// The panels with their keys, and the place of the interval in the log.
fn panels(canvas: &mut Canvas<'_>, state: &State, figures: &Figures, y: u16) {
    let palette = canvas.palette;
    let mut x = 0;
    for (key, panel) in (1..).zip(Panel::ALL) {
        let is_shown = panel == state.panel;
        let name = format!("{key} {}", panel.name());
        let text = if is_shown { format!("[{name}]") } else { format!(" {name} ") };
        let style = if is_shown { palette.heading() } else { palette.dim() };
        state.targets.add(canvas.cells(x, y, text.len()), Target::Panel(panel));
        let run = Run::new(text, style);
        let width = run.width();
        canvas.write(x, y, &[run]);
        x += width;
    }
    let Some((first_us, last_us)) = state.span.filter(|(first_us, last_us)| first_us < last_us) else {
        return;
    };
    let [first, last] = clock::ends(first_us, last_us);
    let room = canvas.width().saturating_sub(x + 1);
    let with_times = room.saturating_sub(first.len() + last.len() + 2);
    let (cells, is_timed) = if with_times >= TIMELINE_LEAST { (with_times, true) } else { (room, false) };
    if cells < TIMELINE_LEAST {
        return;
    }
    let share = figures.sample.start_us.saturating_sub(first_us) as f64 / (last_us - first_us) as f64;
    let at = ((share * (cells - 1) as f64).round() as usize).min(cells - 1);
    let [before, here, after] = palette.timeline();
    let mut runs = vec![Run::plain(" ")];
    if is_timed {
        runs.push(Run::new(format!("{first} "), palette.dim()));
    }
    let start = x + runs.iter().map(Run::width).sum::<usize>();
    runs.push(Run::new(before.repeat(at), palette.dim()));
    runs.push(Run::new(here, palette.heading()));
    runs.push(Run::new(after.repeat(cells - 1 - at), palette.dim()));
    if is_timed {
        runs.push(Run::new(format!(" {last}"), palette.dim()));
    }
    canvas.write(x, y, &runs);
    state.targets.add(canvas.cells(start, y, cells), Target::Timeline);
}

fn title(canvas: &mut Canvas<'_>, state: &State) {
    let host = state.host().map(|host| format!(" ({})", canvas.clean(host))).unwrap_or_default();
    let left = format!("thinktime live  {}{host}", canvas.clean(&state.title));
    let motion = match state.motion {
        Motion::Following if state.is_growing() => "following".into(),
        Motion::Following => "ended".into(),
        Motion::Paused => "paused".into(),
        Motion::Replaying => format!("replay {}×", state.speed),
    };
    let heading = canvas.palette.heading();
    let mut right = Vec::new();
    if let Some(figures) = &state.figures {
        let sample = &figures.sample;
        // The time at which the interval ends: the gauges are of that moment.
        right.push(Run::plain(format!(
            "{}  {}  ",
            clock::shown(sample.end_us()),
            words::duration(sample.length_s)
        )));
    }
    right.push(Run::new(motion, heading));
    canvas.ends(0, &left, heading, &right);
}

/// How many are active, how busy the CPUs are, and how much memory is left.
fn head(figures: &Figures, state: &State, palette: Palette) -> Vec<Run> {
    let sample = &figures.sample;
    let mut said = Vec::new();
    let active = sample.active_users.map(|active| words::count(active as usize, "active user"));
    let present = figures.people.map(|people| format!("{} present", people_words(people)));
    if let Some(active) = active {
        said.push(Run::new(active, palette.heading()));
    }
    if let Some(busy) = figures.busy() {
        let cpus = figures.cpus.map(|cpus| format!(" of {}", words::count(cpus as usize, "CPU")));
        said.push(Run::plain(format!("{} busy{}", words::percent(busy), cpus.unwrap_or_default())));
    }
    if let (Some(available), Some(total)) = (sample.memory_available_bytes, sample.memory_total_bytes) {
        let text = format!("{} of {} memory available", words::bytes(available), words::bytes(total));
        let is_short = total > 0.0 && available / total < NOTABLE;
        said.push(Run::new(text, if is_short { palette.notable() } else { Style::default() }));
    }
    if let Some(text) = present {
        said.push(Run::plain(text));
    }
    if let (Some(total), Some(free)) = (sample.swap_total_bytes, sample.swap_free_bytes) {
        if total > free {
            said.push(Run::plain(format!("{} of swap used", words::bytes(total - free))));
        }
    }
    if let Some((number, all)) = state.ordinal() {
        said.push(Run::new(format!("interval {number} of {all}"), palette.dim()));
    }
    said
}

fn people_words(people: usize) -> String {
    if people == 1 { "1 person".into() } else { format!("{people} people") }
}

/// What limits, as far as the log or a prediction says.
fn limits(figures: &Figures, prediction: Option<&Result<Prediction, String>>, palette: Palette) -> Vec<Run> {
    let mut said = Vec::new();
    if let Some(Ok(prediction)) = prediction {
        said.extend(predicted(prediction, figures).into_iter().map(Run::plain));
    }
    match figures.waited_most() {
        Some((_, share)) if share < NOTICED => said.push(Run::plain("hardly any task waited")),
        Some((what, share)) => {
            let style = if share >= NOTABLE { palette.notable() } else { Style::default() };
            said.push(Run::new(
                format!("waited for most: {what}, {} of the time", words::percent(share)),
                style,
            ));
        }
        None => {}
    }
    if let (Some(share), Some(available)) = (figures.share, figures.sample.memory_available_bytes) {
        let more = (available / share.mean_bytes).floor();
        if more < MORE_MOST * share.people as f64 {
            said.push(Run::plain(format!(
                "memory for {more:.0} more like the {} here",
                people_words(share.people)
            )));
        }
    }
    said
}

/// The prediction in statements.
fn predicted(prediction: &Prediction, figures: &Figures) -> Vec<String> {
    let mut said = Vec::new();
    let between =
        |low: u64, high: u64| if low == high { format!("{low}") } else { format!("{low} to {high}") };
    if let Some(fits) = prediction.fits {
        let range = match (prediction.low, prediction.high) {
            (Some(low), Some(high)) if low != high => format!(" ({low} to {high})"),
            (Some(low), None) => format!(" ({low} or more)"),
            _ => String::new(),
        };
        said.push(format!(
            "{} fit{range}",
            words::count(usize::try_from(fits).unwrap_or(usize::MAX), "user")
        ));
    }
    if let Some((low, high)) = prediction.knee {
        said.push(format!("knee at {}", between(low, high)));
    }
    if prediction.fits.is_some() {
        said.push(format!("limited by {}", prediction.limit));
    }
    let now = match prediction.counted {
        Counted::Population => figures.responses.and_then(|responses| responses.population),
        Counted::People => figures.people.map(|people| people as f64),
    };
    if let (Some(fits), Some(now)) = (prediction.fits, now) {
        let room = fits as f64 - now;
        said.push(match room {
            room if room >= 1.0 => format!("room for {room:.0} more"),
            room if room > -1.0 => "no room for more".into(),
            room => format!("{:.0} too many", -room),
        });
    }
    said
}

/// The CPUs by state: a bar and its figures.
fn capacity(canvas: &mut Canvas<'_>, figures: &Figures, y: u16) {
    let label = Run::plain("CPU ");
    let Some(states) = figures.states() else {
        canvas.row(y, &[label, Run::new("states not recorded", canvas.palette.dim())]);
        return;
    };
    let palette = canvas.palette;
    let parts = parts(states);
    let mut legend = Vec::new();
    for (state, name, share) in parts {
        // Where no hypervisor takes anything, there is nothing to say about it.
        if state == CpuState::Steal && share < 0.0005 {
            continue;
        }
        legend.push(Run::plain("  "));
        legend.push(Run::new(palette.fill(state), palette.state(state)));
        legend.push(Run::plain(format!(" {name} {}", words::percent(share))));
    }
    let legend_width: usize = legend.iter().map(Run::width).sum();
    let width = canvas.width().saturating_sub(legend_width + label.width());
    let mut runs = vec![label];
    for ((state, ..), cells) in parts.into_iter().zip(cells(parts.map(|(.., share)| share), width)) {
        runs.push(Run::new(palette.fill(state).repeat(cells), palette.state(state)));
    }
    runs.extend(legend);
    canvas.row(y, &runs);
}

fn parts(states: States) -> [(CpuState, &'static str, f64); 5] {
    [
        (CpuState::User, "user", states.user),
        (CpuState::System, "system", states.system),
        (CpuState::Steal, "stolen", states.steal),
        (CpuState::Wait, "wait", states.wait),
        (CpuState::Idle, "idle", states.idle),
    ]
}

/// Cells of a bar of `width` for shares that add up to one: the ends are rounded, so that the cells add up too.
fn cells(shares: [f64; 5], width: usize) -> [usize; 5] {
    let mut sum = 0.0;
    let mut before = 0;
    shares.map(|share| {
        sum += share;
        let end = ((sum * width as f64).round() as usize).min(width);
        let cells = end.saturating_sub(before);
        before = end;
        cells
    })
}

/// Pressure: the share of the time in which some task waited, and in which all did.
fn pressure(canvas: &mut Canvas<'_>, figures: &Figures, y: u16) {
    let sample = &figures.sample;
    let palette = canvas.palette;
    let some = [
        ("CPU", sample.psi_cpu_some_s),
        ("memory", sample.psi_memory_some_s),
        ("disks", sample.psi_disk_some_s),
    ];
    let all = [("memory", sample.psi_memory_full_s), ("disks", sample.psi_disk_full_s)];
    if some.iter().chain(&all).all(|(_, seconds)| seconds.is_none()) {
        let text = "not recorded: the log has no figures of it (PSI)";
        canvas.row(y, &[Run::plain("pressure  "), Run::new(text, palette.dim())]);
        return;
    }
    // Half a line is left out whole.
    let has_room = canvas.width() >= PRESSURE_COLUMNS;
    let mut runs = vec![Run::plain("pressure  ")];
    for (at, (name, seconds)) in some.into_iter().enumerate() {
        if at > 0 {
            runs.push(Run::new(palette.separator(), palette.dim()));
        }
        runs.push(Run::plain(format!("{name} ")));
        runs.push(share(figures, seconds, palette));
        if let Some((_, seconds)) = all.iter().find(|(other, _)| *other == name && has_room) {
            runs.push(Run::plain(" (all "));
            runs.push(share(figures, *seconds, palette));
            runs.push(Run::plain(")"));
        }
    }
    canvas.row(y, &runs);
}

/// Share of the time, which stands out where it is large.
fn share(figures: &Figures, seconds: Option<f64>, palette: Palette) -> Run {
    let share = figures.of_time(seconds);
    let is_notable = share.is_some_and(|share| share >= NOTABLE);
    let style = if is_notable { palette.notable() } else { Style::default() };
    Run::new(words::percent_or_absent(share), style)
}

/// Response times of the last minute up to the interval's end.
fn responses(canvas: &mut Canvas<'_>, figures: &Figures, y: u16) {
    let Some(found) = figures.responses else {
        let text = "no interaction was completed in the last 60 s";
        canvas.row(y, &[Run::plain("responses "), Run::new(text, canvas.palette.dim())]);
        return;
    };
    let mut said = vec![
        Run::plain(format!("responses mean {}", words::duration(found.mean_s))),
        Run::plain(format!("median {}", words::duration(found.median_s))),
        Run::plain(format!("90 % within {}", words::duration(found.p90_s))),
        Run::plain(format!("{} in 60 s", found.n)),
    ];
    if let Some(population) = found.population {
        said.push(Run::plain(format!("{} playing", words::count(population as usize, "user"))));
    }
    canvas.statements(y, &said);
}

/// The last row: keys, what is typed, or what has happened.
fn status(canvas: &mut Canvas<'_>, state: &State, y: u16) {
    let palette = canvas.palette;
    if let Overlay::Time(typed) = &state.overlay {
        let text = format!("go to: {typed}");
        canvas.row(
            y,
            &[
                Run::new(text, palette.heading()),
                Run::new(" ", Style::default().add_modifier(Modifier::REVERSED)),
                Run::new("  14:30, 2026-11-24 14:30, +5m, -1h; Esc: back", palette.dim()),
            ],
        );
        return;
    }
    if state.overlay == Overlay::Filter {
        let text = format!("find {}: {}", state.panel.name(), canvas.clean(&state.listing().filter));
        let cursor = Run::new(" ", Style::default().add_modifier(Modifier::REVERSED));
        let help = Run::new("  part of the name; Enter: keep, Esc: all", palette.dim());
        canvas.row(y, &[Run::new(text, palette.heading()), cursor, help]);
        return;
    }
    let cost = state.cost;
    let each = (cost.refreshes > 0).then(|| words::duration(cost.cpu_s / cost.refreshes as f64));
    let right = each.map(|each| Run::new(format!("{each} a refresh"), palette.dim()));
    if let Some(text) = trouble(state) {
        let text = canvas.fitted(&canvas.clean(&text), canvas.width());
        canvas.row(y, &[Run::new(text, palette.notable())]);
        return;
    }
    let pause = if state.motion == Motion::Paused { "space go on" } else { "space pause" };
    let arrows = if palette.unicode() { "←→ step" } else { "arrows step" };
    let keys = ["q quit", "? help", pause, arrows, "t time", "< > sort", "/ find", "Enter open"];
    let taken: usize = right.iter().map(|run| run.width() + 2).sum();
    let mut left = String::new();
    for key in keys {
        // Whole keys or none: half of an explanation explains nothing.
        if left.width() + 2 + key.width() + taken <= canvas.width() {
            let before = if left.is_empty() { "" } else { "  " };
            left.push_str(before);
            left.push_str(key);
        }
    }
    canvas.ends(y, &left, palette.dim(), right.as_slice());
}

/// What the reader must know before anything else.
fn trouble(state: &State) -> Option<String> {
    if let Some(notice) = &state.notice {
        return Some(notice.clone());
    }
    let since_s = state.overdue_s()?;
    Some(format!(
        "no sample for {}: the recorder was stopped, killed, or waits for a CPU",
        words::duration(since_s)
    ))
}
