//! Telling systemd how it goes: a datagram to the socket that `NOTIFY_SOCKET` names (sd_notify(3)).

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Instant;

use crate::recording::control::Progress;

/// Speaks to the service manager, if there is one.
#[derive(Debug)]
pub struct Notifier {
    socket: Option<(UnixDatagram, SocketAddr)>,
    is_ready: bool,
    told: Option<Instant>,
}

/// Seconds between two lines of status.
const STATUS_EVERY_S: u64 = 30;

impl Notifier {
    /// Speaks to nobody where `NOTIFY_SOCKET` is not set.
    pub fn from_environment() -> Notifier {
        let name = std::env::var("NOTIFY_SOCKET").ok().filter(|name| !name.is_empty());
        Notifier { socket: name.and_then(|name| connect(&name)), is_ready: false, told: None }
    }

    /// Says that recording has begun, and from time to time how it goes.
    pub fn progress(&mut self, progress: &Progress) {
        if !self.is_ready {
            self.is_ready = true;
            self.tell("READY=1");
        }
        if self.told.is_none_or(|told| told.elapsed().as_secs() >= STATUS_EVERY_S) {
            self.told = Some(Instant::now());
            self.tell(&format!("STATUS={} samples recorded\nWATCHDOG=1", progress.samples));
        }
    }

    fn tell(&self, message: &str) {
        if let Some((socket, address)) = &self.socket {
            // The manager may be gone or busy: recording goes on.
            let _ = socket.send_to_addr(message.as_bytes(), address);
        }
    }
}

fn connect(name: &str) -> Option<(UnixDatagram, SocketAddr)> {
    // A leading @ stands for the abstract name space.
    let address = match name.strip_prefix('@') {
        Some(abstract_name) => SocketAddr::from_abstract_name(abstract_name).ok()?,
        None => SocketAddr::from_pathname(name).ok()?,
    };
    let socket = UnixDatagram::unbound().ok()?;
    socket.set_nonblocking(true).ok()?;
    Some((socket, address))
}
