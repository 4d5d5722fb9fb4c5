//! What systemd is told while we run (sd_notify(3)): ready, alive, stopping, and one line of status.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Where messages go; nowhere without a service manager that waits for them.
#[derive(Debug, Default)]
pub(super) struct Notify(Option<(UnixDatagram, SocketAddr)>);

impl Notify {
    /// As `NOTIFY_SOCKET` says.
    pub(super) fn of_environment() -> Self {
        let name = std::env::var("NOTIFY_SOCKET").unwrap_or_default();
        Self(address(&name).ok().and_then(|to| Some((UnixDatagram::unbound().ok()?, to))))
    }

    /// Sends lines of `NAME=value`. One that is not heard changes nothing for us.
    pub(super) fn say(&self, lines: &str) {
        if let Some((socket, to)) = &self.0 {
            let _ = socket.send_to_addr(lines.as_bytes(), to);
        }
    }
}

fn address(name: &str) -> io::Result<SocketAddr> {
    match name.strip_prefix('@') {
        Some(abstract_name) => SocketAddr::from_abstract_name(abstract_name),
        None if name.starts_with('/') => SocketAddr::from_pathname(name),
        None => Err(io::ErrorKind::NotFound.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_arrives() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        let to = address(path.to_str().unwrap()).unwrap();
        Notify(Some((UnixDatagram::unbound().unwrap(), to))).say("READY=1\n");
        let mut bytes = [0; 64];
        let length = socket.recv(&mut bytes).unwrap();
        assert_eq!(&bytes[..length], b"READY=1\n");
        Notify::default().say("READY=1\n");
        assert!(address("").is_err() && address("@swaptune-test").is_ok());
    }
}
