//! The explanations behind the key `?`.

use unicode_width::UnicodeWidthStr;

use crate::canvas::{Canvas, Run};
use crate::state::State;
use crate::words;

/// The explanations, from line `first` on.
pub(crate) fn draw(canvas: &mut Canvas<'_>, state: &State, first: usize) {
    let width = canvas.width();
    let lines: Vec<String> = lines(canvas, state).into_iter().flat_map(|line| broken(line, width)).collect();
    let rows = usize::from(canvas.height()).saturating_sub(1);
    let last_first = lines.len().saturating_sub(rows);
    state.help_last.set(last_first);
    let first = first.min(last_first);
    for (at, line) in lines.iter().skip(first).take(rows).enumerate() {
        let is_heading = line.chars().next().is_some_and(char::is_uppercase);
        let style = if is_heading { canvas.palette.heading() } else { ratatui::style::Style::default() };
        canvas.row(u16::try_from(at).unwrap_or(0), &[Run::new(line.clone(), style)]);
    }
    let more = if first + rows < lines.len() { "down: more; " } else { "" };
    let last = canvas.height().saturating_sub(1);
    canvas.row(last, &[Run::new(format!("{more}any other key: back; q: quit"), canvas.palette.dim())]);
}

fn lines(canvas: &Canvas<'_>, state: &State) -> Vec<String> {
    let [left, right, up, down] = canvas.palette.arrows();
    let mut lines: Vec<String> = vec![
        "Keys".into(),
        "  1 2 3 4  users, groups, disks, network   Tab     the next of these".into(),
        format!("  {left} {right}      an interval back, forward       space   pause, go on"),
        "  [ ]      a minute back, forward          { }     an hour back, forward".into(),
        "  Home g   the first interval              End G   the last one, and follow".into(),
        "  t        go to a time                    + -     replay faster, slower".into(),
        format!("  {up} {down}      another line (PgUp, PgDn: a page)   Esc     back to the first"),
        "  Enter    the commands of the user on the whole panel, and back; of a".into(),
        "           group: hide the groups below it, and show them again".into(),
        "  /        find by a part of the name      p       people only, or all users".into(),
        "  < >      order by the column beside      r       the other way round".into(),
        "  c w d m i n   order by CPU, wait for a CPU, wait for a disk, memory, I/O,".into(),
        "           name; u: GPU, where there is one; disks: d busy, w wait of a".into(),
        "           request".into(),
        "  M        the mouse on or off: the wheel scrolls; a click chooses a line,".into(),
        "           a panel or the column that gives the order, and goes to a time".into(),
        "           on the timeline; while it is on, text is selected with Shift".into(),
        "  q Ctrl-C   quit                          Ctrl-Z  suspend".into(),
        "What the figures mean".into(),
        "  CPU        100 % is one CPU busy all the time; busy: share of all CPUs".into(),
        "  CPU WAIT   100 % is one task ready to run without a CPU, all the time".into(),
        "  DISK WAIT  the same for tasks that waited for a disk".into(),
        "  MEMORY     shared pages divided among those who share them; with +:".into(),
        "             counted in each process, so that sums are too large; of a group:".into(),
        "             all that is charged to it, page cache included".into(),
        "  GPU        100 % is one engine of a GPU busy all the time; NVIDIA's is sampled".into(),
        "  GPU MEMORY buffers that are resident on GPUs; there only where a driver tells".into(),
        "  THROTTLED  time in which a quota kept tasks from a CPU; 100 % is one CPU".into(),
        "  PSI        share of the time in which some task of the group waited".into(),
        "  LIMIT      - without one; PEAK: the most memory since the group was made".into(),
        "  BUSY       share of the time in which the disk had a request in progress".into(),
        "  WAIT       mean time of a request from issue to completion".into(),
        "  QUEUE      mean number of requests in progress".into(),
        "  pressure   share of the time in which some task, or all, waited (PSI)".into(),
        "  wait       a CPU idle while a task waited for a disk (a hint, no measure)".into(),
        "  responses  due to completed, of interactions completed in the last 60 s".into(),
        "  memory for N more like the people here: memory that new work could get,".into(),
        "             divided by the mean of the people who have a process; it says".into(),
        "             nothing of CPUs and disks".into(),
        "  -          the log does not have it".into(),
        "  Figures of a group are those of all groups below it, too. Dim lines did".into(),
        "  nothing in the interval.".into(),
        "The log".into(),
    ];
    lines.extend(state.provenance().iter().map(|text| format!("  {}", canvas.clean(text))));
    lines.extend(cost(state));
    let (heading, text) = match &state.prediction {
        None => return lines,
        Some(Ok(prediction)) => ("Users fit as long as", &prediction.goal),
        Some(Err(reason)) => ("How many users fit is not known", reason),
    };
    lines.push(heading.into());
    lines.push(format!("  {}", canvas.clean(text)));
    lines
}

/// What it costs to look.
fn cost(state: &State) -> Vec<String> {
    let mut lines = vec!["Cost".to_owned()];
    let cost = state.cost;
    if cost.refreshes > 0 {
        lines.push(format!(
            "  this view: {} of CPU time in {}, {} a refresh",
            words::duration(cost.cpu_s),
            words::duration(cost.elapsed_s),
            words::duration(cost.cpu_s / cost.refreshes as f64),
        ));
    }
    let sample = state.figures.as_ref().map(|figures| &figures.sample);
    if let Some((sample, used_s)) = sample.and_then(|sample| Some((sample, sample.recorder_cpu_s?))) {
        lines.push(format!(
            "  the recorder: {} of CPU time for this sample, {} of one CPU",
            words::duration(used_s),
            words::percent(used_s / sample.length_s),
        ));
    }
    lines
}

/// `line` as it is where it fits, otherwise broken between words.
fn broken(line: String, width: usize) -> Vec<String> {
    if line.width() <= width {
        return vec![line];
    }
    let mut lines: Vec<String> = Vec::new();
    for word in line.split_whitespace() {
        match lines.last_mut() {
            Some(last) if last.width() + 1 + word.width() <= width => {
                last.push(' ');
                last.push_str(word);
            }
            None => lines.push(format!("  {word}")),
            Some(_) => lines.push(format!("    {word}")),
        }
    }
    lines
}
