//! A listening socket that systemd hands over (sd_listen_fds(3), systemd.socket(5)).

use std::io;
use std::net::TcpListener;
use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// The first descriptor that is handed over.
const FIRST: i32 = 3;

/// The one socket that systemd handed to this process; `None` when it handed over none, or when it was taken already.
///
/// # Errors
/// InvalidInput for several of them, and when it is no listening socket of TCP.
pub fn inherited_listener() -> io::Result<Option<TcpListener>> {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    let said = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u32>().ok());
    match count(said("LISTEN_PID"), said("LISTEN_FDS"), std::process::id()) {
        0 => return Ok(None),
        1 => {}
        more => return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("systemd hands over {more} sockets, not one"))),
    }
    if TAKEN.swap(true, Ordering::SeqCst) {
        return Ok(None);
    }
    // SAFETY: systemd says that this descriptor is open and ours, nothing else in this program takes it, and it is taken once.
    let socket = unsafe { OwnedFd::from_raw_fd(FIRST) };
    rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC)?;
    let listener = TcpListener::from(socket);
    listener
        .local_addr()
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "systemd hands over something that is no TCP socket"))?;
    Ok(Some(listener))
}

/// How many are for us: the variables are inherited by processes that they were not meant for.
fn count(pid: Option<u32>, sockets: Option<u32>, own: u32) -> u32 {
    if pid == Some(own) { sockets.unwrap_or(0) } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_of_another_process_are_not_ours() {
        assert_eq!(count(Some(7), Some(1), 7), 1);
        assert_eq!(count(Some(8), Some(1), 7), 0);
        assert_eq!(count(None, Some(1), 7), 0);
        assert_eq!(count(Some(7), None, 7), 0);
    }
}
