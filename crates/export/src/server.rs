//! Answers scrapes over HTTP: `GET /metrics`, and nothing else.
//!
//! Written here because the small servers of crates.io are no longer kept, and those that are kept bring a runtime. It
//! is what a program with the rights of a recorder may afford: one thread, a bounded number of connections, of bytes
//! and of time for each, and a request of which only the first line and one header are looked at.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, pipe_with};

use crate::text::Format;
use crate::totals::SharedTotals;

/// Most connections at a time; the oldest makes room for a new one.
const CONNECTIONS_MAX: usize = 32;
/// Most bytes of a request.
const REQUEST_BYTES_MAX: usize = 8 << 10;
/// Most bytes that are read and ignored after the answer.
const IGNORED_BYTES_MAX: usize = 256 << 10;
/// Longest life of a connection.
const LIFE: Duration = Duration::from_secs(10);

/// True for an address that only this machine reaches.
pub fn is_local(address: &SocketAddr) -> bool {
    match address.ip() {
        IpAddr::V4(ip) => ip.is_loopback(),
        IpAddr::V6(ip) => ip.is_loopback(),
    }
}

/// A thread that answers scrapes until it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    /// Closed to end the thread.
    stop: Option<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Listens on `address`; port 0 takes a free one.
    pub fn start(address: SocketAddr, totals: SharedTotals) -> io::Result<Server> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let (stopped, stop) = pipe_with(PipeFlags::CLOEXEC)?;
        let serving = move || serve(&listener, &stopped, &totals);
        let thread = thread::Builder::new().name("metrics".into()).spawn(serving)?;
        Ok(Server { address, stop: Some(stop), thread: Some(thread) })
    }

    /// Address on which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has nothing left to end.
            let _ = thread.join();
        }
    }
}

/// What a connection waits for.
enum State {
    /// The end of the head of its request, of which this was read.
    Request(Vec<u8>),
    /// Room for the rest of its answer: the answer, and how much of it is written.
    Answer(Vec<u8>, usize),
    /// The end of what the client still sends, so much so far: a connection that is closed before loses its answer.
    End(usize),
}

struct Connection {
    stream: TcpStream,
    state: State,
    ends: Instant,
}

fn serve(listener: &TcpListener, stopped: &OwnedFd, totals: &SharedTotals) {
    let mut connections: Vec<Connection> = Vec::new();
    loop {
        let mut polled = vec![PollFd::new(stopped, PollFlags::empty()), PollFd::new(listener, PollFlags::IN)];
        polled.extend(connections.iter().map(|connection| {
            let flags =
                if matches!(connection.state, State::Answer(..)) { PollFlags::OUT } else { PollFlags::IN };
            PollFd::new(&connection.stream, flags)
        }));
        let now = Instant::now();
        let left = connections.iter().map(|connection| connection.ends.saturating_duration_since(now)).min();
        // Rounded up: a wait that ends a little too early would be repeated at once.
        let left = left.map(|left| Timespec { tv_sec: left.as_secs() as i64 + 1, tv_nsec: 0 });
        match poll(&mut polled, left.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            // Without a poll there is no waiting: better no metrics than a busy loop beside a recording.
            Err(_) => return,
        }
        let is_ready: Vec<bool> = polled.iter().map(|one| !one.revents().is_empty()).collect();
        drop(polled);
        if is_ready[0] {
            return;
        }
        let now = Instant::now();
        let mut ready = is_ready[2..].iter();
        connections.retain_mut(|connection| {
            let is_ready = ready.next().is_some_and(|ready| *ready);
            // An error is the client's, who has gone.
            let goes_on = !is_ready || connection.advance(totals).unwrap_or(false);
            goes_on && connection.ends > now
        });
        if is_ready[1] && !accept(listener, &mut connections, now) {
            // No descriptor is left: those in use may be back in a moment.
            thread::sleep(Duration::from_millis(100));
        }
    }
}

/// Takes the connections that wait; false if the system had no room for one.
fn accept(listener: &TcpListener, connections: &mut Vec<Connection>, now: Instant) -> bool {
    loop {
        let stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
            // The client has gone again.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return false,
        };
        if stream.set_nonblocking(true).is_err() {
            continue;
        }
        if connections.len() >= CONNECTIONS_MAX {
            connections.remove(0);
        }
        connections.push(Connection { stream, state: State::Request(Vec::new()), ends: now + LIFE });
    }
}

impl Connection {
    /// Reads or writes as much as there is; false when the connection is over.
    fn advance(&mut self, totals: &SharedTotals) -> io::Result<bool> {
        if let State::Request(request) = &mut self.state {
            if read(&mut self.stream, |piece| request.extend_from_slice(piece))?.is_none() {
                return Ok(false);
            }
            let is_whole = request.windows(4).any(|four| four == b"\r\n\r\n");
            if !is_whole && request.len() <= REQUEST_BYTES_MAX {
                return Ok(true);
            }
            self.state = State::Answer(answer(request, totals), 0);
        }
        if let State::Answer(answer, written) = &mut self.state {
            while *written < answer.len() {
                match self.stream.write(&answer[*written..]) {
                    Ok(0) => return Ok(false),
                    Ok(length) => *written += length,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
            self.stream.shutdown(Shutdown::Write)?;
            self.state = State::End(0);
        }
        let more = read(&mut self.stream, |_| ())?;
        let State::End(length) = &mut self.state else { return Ok(true) };
        *length += more.unwrap_or(0);
        Ok(more.is_some() && *length <= IGNORED_BYTES_MAX)
    }
}

/// Takes what is there, up to what a request may have; how much it was, or none at the end of the stream.
fn read(stream: &mut TcpStream, mut take: impl FnMut(&[u8])) -> io::Result<Option<usize>> {
    let mut piece = [0; 1024];
    let mut length = 0;
    while length <= REQUEST_BYTES_MAX {
        match stream.read(&mut piece) {
            Ok(0) => return Ok((length > 0).then_some(length)),
            Ok(more) => {
                take(&piece[..more]);
                length += more;
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Some(length))
}

/// The whole answer to a request.
fn answer(request: &[u8], totals: &SharedTotals) -> Vec<u8> {
    let plain = |status: &str, text: &str| reply(status, "text/plain; charset=utf-8", text, true);
    if request.len() > REQUEST_BYTES_MAX {
        return plain("431 Request Header Fields Too Large", "the request is too long\n");
    }
    let head = String::from_utf8_lossy(request);
    let mut lines = head.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (Some(method), Some(target), Some(version)) = (words.next(), words.next(), words.next()) else {
        return plain("400 Bad Request", "this is no request of HTTP\n");
    };
    if !version.starts_with("HTTP/1.") {
        return plain("400 Bad Request", "this is no request of HTTP/1\n");
    }
    if method != "GET" && method != "HEAD" {
        return plain("405 Method Not Allowed", "GET /metrics is all there is\n");
    }
    let path = target.split('?').next().unwrap_or_default();
    if path != "/metrics" {
        let (status, text) = ("404 Not Found", "metrics of a thinktime recording are at /metrics\n");
        return reply(status, "text/plain; charset=utf-8", text, method == "GET");
    }
    let accept = lines
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("accept"))
        .map_or("", |(_, value)| value);
    let format = Format::accepted(accept);
    // A recorder that panicked while it added leaves totals that are still numbers.
    let text = totals.lock().unwrap_or_else(std::sync::PoisonError::into_inner).render(format);
    reply("200 OK", format.content_type(), &text, method == "GET")
}

fn reply(status: &str, content_type: &str, text: &str, with_body: bool) -> Vec<u8> {
    let mut bytes = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\nConnection: close\r\n\
         X-Content-Type-Options: nosniff\r\n\r\n",
        text.len()
    )
    .into_bytes();
    if with_body {
        bytes.extend_from_slice(text.as_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn answered(request: &[u8]) -> String {
        String::from_utf8(answer(request, &SharedTotals::default())).unwrap()
    }

    proptest! {
        /// Whatever is sent, there is one whole answer with a length that is right, and only one path has metrics.
        #[test]
        fn every_request_has_one_answer(noise in proptest::collection::vec(any::<u8>(), 0..200), cut in 0..200_usize) {
            let mut mutated = b"GET /metrics HTTP/1.1\r\nAccept: application/openmetrics-text\r\n\r\n".to_vec();
            let at = cut.min(mutated.len());
            mutated.splice(at..at, noise.iter().copied().take(3));
            for request in [&noise[..], &mutated[..]] {
                let text = answered(request);
                let (head, body) = text.split_once("\r\n\r\n").unwrap();
                prop_assert!(head.starts_with("HTTP/1.1 "));
                let length = format!("Content-Length: {}", body.len());
                prop_assert!(head.split("\r\n").any(|line| line == length));
                prop_assert_eq!(head.starts_with("HTTP/1.1 200"), body.contains("thinktime_recorder_info"));
            }
        }
    }

    #[test]
    fn a_head_has_the_length_of_the_body_that_it_leaves_out() {
        let (with, without) =
            (answered(b"GET /metrics HTTP/1.1\r\n\r\n"), answered(b"HEAD /metrics HTTP/1.1\r\n\r\n"));
        let (head, body) = with.split_once("\r\n\r\n").unwrap();
        assert!(!body.is_empty());
        assert_eq!(without, format!("{head}\r\n\r\n"));
    }
}
