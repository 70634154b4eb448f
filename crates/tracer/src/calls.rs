//! What a task waits for in a system call, by the number of the call on this architecture.

use crate::layout::{CALLS, REASONS};

fn calls(reason: &str) -> Vec<libc::c_long> {
    let mut calls = match reason {
        "futex" => vec![libc::SYS_futex, libc::SYS_futex_waitv, FUTEX_WAIT],
        "timer" => vec![libc::SYS_nanosleep, libc::SYS_clock_nanosleep],
        "child" => vec![libc::SYS_wait4, libc::SYS_waitid],
        "input" => vec![
            libc::SYS_read,
            libc::SYS_readv,
            libc::SYS_pread64,
            libc::SYS_preadv,
            libc::SYS_preadv2,
            libc::SYS_recvfrom,
            libc::SYS_recvmsg,
            libc::SYS_recvmmsg,
            libc::SYS_accept,
            libc::SYS_accept4,
        ],
        "output" => vec![
            libc::SYS_write,
            libc::SYS_writev,
            libc::SYS_pwrite64,
            libc::SYS_pwritev,
            libc::SYS_pwritev2,
            libc::SYS_sendto,
            libc::SYS_sendmsg,
            libc::SYS_sendmmsg,
            libc::SYS_connect,
        ],
        "poll" => vec![
            libc::SYS_ppoll,
            libc::SYS_pselect6,
            libc::SYS_epoll_pwait,
            libc::SYS_epoll_pwait2,
            libc::SYS_io_uring_enter,
        ],
        _ => Vec::new(),
    };
    #[cfg(target_arch = "x86_64")]
    if reason == "poll" {
        calls.extend([libc::SYS_poll, libc::SYS_select, libc::SYS_epoll_wait]);
    }
    calls.retain(|call| usize::try_from(*call).is_ok_and(|call| call < CALLS));
    calls
}

/// `futex_wait(2)`, since Linux 6.7 the same number on every architecture.
const FUTEX_WAIT: libc::c_long = 455;

/// The reason of an interruptible wait in each system call, by its number in the programs.
pub(crate) fn reasons() -> [u8; CALLS] {
    let number = |name: &str| REASONS.iter().position(|reason| *reason == name).unwrap_or(0) as u8;
    let mut reasons = [number("sleep"); CALLS];
    for reason in REASONS {
        for call in calls(reason) {
            reasons[call as usize] = number(reason);
        }
    }
    reasons
}
