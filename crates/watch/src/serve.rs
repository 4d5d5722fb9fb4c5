//! The listener: one page of OpenMetrics over HTTP/1.1, one client at a time.
//!
//! It is made for a scraper beside it on the same machine. A client that is slow or says too much is dropped, after a second for its request and
//! one for the answer; nothing that it sends is used but the method and the path.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use swaptune_host::stop::Stop;

use crate::pace::GLANCE;

/// How long one client may take.
const PATIENCE: Duration = Duration::from_secs(1);
/// Longest request.
const REQUEST: usize = 8 << 10;
/// What OpenMetrics is called.
const CONTENT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Answers until asked to stop; `page` makes the exposition of this moment.
///
/// # Errors
/// What the kernel says of the listening socket. An error of one client ends that client.
pub fn serve(listener: &TcpListener, stop: &Stop, mut page: impl FnMut() -> String) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    while !stop.is_asked() {
        // A signal ends the wait; one that comes just before it is seen at the next look.
        let _ = poll(&mut [PollFd::new(listener, PollFlags::IN)], Timespec::try_from(GLANCE).ok().as_ref());
        match listener.accept() {
            Ok((client, _)) => drop(answer(client, &mut page)),
            Err(error) if is_passing(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Errors of accept(2) that are about one client or pass by themselves.
fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, Interrupted, WouldBlock};
    matches!(error.kind(), ConnectionAborted | Interrupted | WouldBlock)
}

fn answer(mut client: TcpStream, page: &mut impl FnMut() -> String) -> io::Result<()> {
    client.set_nonblocking(false)?;
    let request = request(&mut client)?;
    let (status, kind, body) = match target(&request) {
        Some(("GET" | "HEAD", "/metrics" | "/")) => ("200 OK", CONTENT, page()),
        Some(("GET" | "HEAD", _)) => ("404 Not Found", "text/plain", "there is only /metrics\n".to_owned()),
        Some(_) => ("405 Method Not Allowed", "text/plain", "GET /metrics\n".to_owned()),
        None => ("400 Bad Request", "text/plain", "GET /metrics\n".to_owned()),
    };
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    let body = if request.starts_with(b"HEAD ") { "" } else { &body };
    send(&mut client, &[head.as_bytes(), body.as_bytes()].concat())
}

/// Sends all of it. A client that takes a byte now and then is not waited for any longer than one that takes none.
fn send(client: &mut TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    let until = Instant::now() + PATIENCE;
    while !bytes.is_empty() {
        client.set_write_timeout(Some(left(until)?))?;
        match client.write(bytes) {
            Ok(length) => bytes = &bytes[length..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// What is left of a client's time.
fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

/// All up to the empty line.
fn request(client: &mut TcpStream) -> io::Result<Vec<u8>> {
    let until = Instant::now() + PATIENCE;
    let mut bytes = Vec::new();
    let mut piece = [0; 1024];
    while !bytes.windows(4).any(|end| end == b"\r\n\r\n") && bytes.len() < REQUEST {
        client.set_read_timeout(Some(left(until)?))?;
        match client.read(&mut piece)? {
            0 => break,
            length => bytes.extend_from_slice(&piece[..length]),
        }
    }
    Ok(bytes)
}

/// Method and path, without a query.
fn target(request: &[u8]) -> Option<(&str, &str)> {
    let line = request.split(|byte| *byte == b'\r').next()?;
    let mut words = std::str::from_utf8(line).ok()?.split(' ');
    let (method, path, version) = (words.next()?, words.next()?, words.next()?);
    version.starts_with("HTTP/1.").then_some((method, path.split('?').next().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asks one thing of a listener that runs meanwhile.
    fn ask(request: &[u8]) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Stop::default();
        let other = stop.clone();
        let server = std::thread::spawn(move || serve(&listener, &other, || "# EOF\n".to_owned()));
        let mut client = TcpStream::connect(address).unwrap();
        client.write_all(request).unwrap();
        let _ = client.shutdown(std::net::Shutdown::Write);
        let mut answer = String::new();
        let _ = client.read_to_string(&mut answer);
        stop.ask();
        server.join().unwrap().unwrap();
        answer
    }

    #[test]
    fn the_page_is_openmetrics() {
        let answer = ask(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\nContent-Type: application/openmetrics-text; version=1.0.0"), "{answer}");
        assert!(answer.ends_with("\r\n\r\n# EOF\n"), "{answer}");
        assert!(ask(b"HEAD / HTTP/1.0\r\n\r\n").ends_with("Content-Length: 6\r\nConnection: close\r\n\r\n"));
    }

    #[test]
    fn a_client_that_takes_its_answer_byte_by_byte_keeps_no_other_from_its_own() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Stop::default();
        let other = stop.clone();
        // More than any buffer of a socket takes.
        let server = std::thread::spawn(move || serve(&listener, &other, || "a".repeat(64 << 20)));
        let mut slow = TcpStream::connect(address).unwrap();
        slow.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        let waits = std::thread::spawn(move || {
            let mut client = TcpStream::connect(address).unwrap();
            client.write_all(b"HEAD / HTTP/1.1\r\n\r\n").unwrap();
            let mut answer = String::new();
            let _ = client.read_to_string(&mut answer);
            answer
        });
        let mut piece = [0; 4096];
        for _ in 0..3000 {
            if waits.is_finished() {
                break;
            }
            let _ = slow.read(&mut piece);
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(waits.is_finished(), "it still waits for the slow one");
        assert!(waits.join().unwrap().starts_with("HTTP/1.1 200 OK"));
        stop.ask();
        server.join().unwrap().unwrap();
    }

    #[test]
    fn anything_else_is_refused() {
        for (request, status) in [
            (&b"GET /etc/passwd HTTP/1.1\r\n\r\n"[..], "404"),
            (b"POST /metrics HTTP/1.1\r\n\r\n", "405"),
            (b"nonsense\r\n\r\n", "400"),
            (b"\xff\xfe\r\n\r\n", "400"),
            (b"", "400"),
        ] {
            let answer = ask(request);
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{request:?}: {answer}");
        }
        let long = [b"GET /".as_slice(), &[b'a'; 2 * REQUEST]].concat();
        assert!(!ask(&long).contains("200 OK"));
    }
}
