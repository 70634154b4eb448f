//! `/proc/PID/cgroup`: the control group of a process.

use super::lines;

/// The path of the group by which a process is told apart.
///
/// In the unified hierarchy where it is used, else in systemd's own hierarchy, whose groups are
/// units and sessions, else in the one that accounts CPU time. `None` where the file names none.
pub fn parse(text: &[u8]) -> Option<String> {
    let mut best: Option<(u8, &[u8])> = None;
    for (_, line) in lines(text) {
        // hierarchy:controllers:path, where the path may hold colons.
        let mut parts = line.splitn(3, |byte| *byte == b':');
        let (Some(number), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        let accounts = controllers.split(|byte| *byte == b',').any(|name| name == b"cpuacct");
        let rank = match () {
            () if path == b"/" => 1,
            () if number == b"0" && controllers.is_empty() => 4,
            () if controllers == b"name=systemd" => 3,
            () if accounts => 2,
            () => continue,
        };
        if best.is_none_or(|(known, _)| rank > known) {
            best = Some((rank, path));
        }
    }
    best.map(|(_, path)| String::from_utf8_lossy(path).into_owned())
}
