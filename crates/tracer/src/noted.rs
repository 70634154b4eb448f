//! What programs cannot find out of tasks that were there before them: noted from `/proc` when they are loaded.

use std::fs;
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::MetadataExt;

use crate::bpf;
use crate::layout::{TASK_BYTES, TASK_KERNEL, TASK_NAME, TASK_OWNER, TASK_PROCESS, TASK_TAG, TASKS};

/// Flag of the kernel's own threads in `/proc/PID/stat`.
const KERNEL_THREAD: u64 = 0x20_0000;
/// Number of the namespace of processes in which they have the kernel's own numbers.
const FIRST_NAMESPACE: u64 = 0xefff_fffc;

/// Name of the program, and whether it is a thread of the kernel, of the text of `/proc/PID/stat`.
fn parse(stat: &[u8]) -> Option<(&[u8], bool)> {
    // A name may have brackets and blanks in it.
    let (begin, end) =
        (stat.iter().position(|byte| *byte == b'(')?, stat.iter().rposition(|byte| *byte == b')')?);
    let name = stat.get(begin + 1..end)?;
    let rest = std::str::from_utf8(stat.get(end + 1..)?).ok()?;
    let flags: u64 = rest.split_ascii_whitespace().nth(6)?.parse().ok()?;
    Some((name, flags & KERNEL_THREAD != 0))
}

/// Puts the processes alive into the table `tasks` of the programs.
///
/// In a container there is nothing to note: processes have other numbers in its `/proc`.
pub(crate) fn note(tasks: BorrowedFd<'_>) -> io::Result<()> {
    if fs::metadata("/proc/self/ns/pid").is_ok_and(|namespace| namespace.ino() != FIRST_NAMESPACE) {
        return Ok(());
    }
    for entry in fs::read_dir("/proc")?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        // One that has ended meanwhile is left out.
        let (Ok(stat), Ok(folder)) = (fs::read(entry.path().join("stat")), entry.metadata()) else {
            continue;
        };
        let Some((name, is_kernel)) = parse(&stat) else { continue };
        let mut task = [0; TASK_BYTES];
        task[TASK_TAG..][..8].copy_from_slice(&u64::from(pid).to_ne_bytes());
        task[TASK_KERNEL] = u8::from(is_kernel);
        task[TASK_PROCESS..][..4].copy_from_slice(&pid.to_ne_bytes());
        task[TASK_NAME..].iter_mut().zip(name.iter().take(15)).for_each(|(to, from)| *to = *from);
        task[TASK_OWNER..][..4].copy_from_slice(&folder.uid().to_ne_bytes());
        // Where two have one place, the later is known and the other is as one that nobody has noted.
        bpf::put(tasks, pid % TASKS, &task)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_threads_of_the_kernel_are_told() {
        let line = b"7 (a) (b 1) S 2 0 0 0 -1 69238880 0 0 0 0\n";
        assert_eq!(parse(line), Some((&b"a) (b 1"[..], true)));
        let line = b"8 (sh) S 2 0 0 0 -1 4194560 0 0 0 0\n";
        assert_eq!(parse(line), Some((&b"sh"[..], false)));
        for cut in 0..20 {
            assert_eq!(parse(&line[..cut]), None);
        }
    }
}
