//! `/proc/PID/cgroup`: the control group of a process.

use super::lines;

/// Path of the control group that identifies a process, `None` if the file names none.
///
/// Taken from the unified hierarchy if it is in use, else from systemd's own, whose groups are units
/// and sessions, else from the one that accounts CPU time. Source: cgroups(7), `/proc/PID/cgroup`.
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
            // The root group holds everybody: any other answer says more about the process.
            () if path == b"/" => 1,
            () if number == b"0" && controllers.is_empty() => 4,
            () if controllers == b"name=systemd" => 3,
            () if accounts => 2,
            () => continue,
        };
        if best.is_none_or(|(best_rank, _)| rank > best_rank) {
            best = Some((rank, path));
        }
    }
    best.map(|(_, path)| String::from_utf8_lossy(path).into_owned())
}
