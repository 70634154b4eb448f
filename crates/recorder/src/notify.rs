//! Status messages to systemd: datagrams to the socket that `NOTIFY_SOCKET` names (sd_notify(3)).

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Instant;

use crate::recording::control::Progress;

/// Connection to the service manager, if there is one.
#[derive(Debug)]
pub struct Notifier {
    socket: Option<(UnixDatagram, SocketAddr)>,
    is_ready: bool,
    last_status: Option<Instant>,
}

/// Time between two lines of status [s].
const STATUS_EVERY_S: u64 = 30;

impl Notifier {
    /// The connection that the environment names; without `NOTIFY_SOCKET`, nothing is ever sent.
    pub fn from_environment() -> Notifier {
        let name = std::env::var("NOTIFY_SOCKET").ok().filter(|name| !name.is_empty());
        Notifier { socket: name.and_then(|name| connect(&name)), is_ready: false, last_status: None }
    }

    /// Reports that recording has begun, and a line of status every 30 seconds.
    pub fn progress(&mut self, progress: &Progress) {
        if !self.is_ready {
            self.is_ready = true;
            self.send("READY=1");
        }
        if self.last_status.is_none_or(|sent| sent.elapsed().as_secs() >= STATUS_EVERY_S) {
            self.last_status = Some(Instant::now());
            // The watchdog too: a recording that hangs in a system call is restarted by the manager.
            self.send(&format!("STATUS={} samples recorded\nWATCHDOG=1", progress.samples));
        }
    }

    /// Reports a line of status now.
    pub fn status(&self, text: &str) {
        self.send(&format!("STATUS={text}"));
    }

    fn send(&self, message: &str) {
        if let Some((socket, address)) = &self.socket {
            // The manager may have ended or be busy: recording continues.
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
