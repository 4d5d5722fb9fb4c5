//! What can be typed behind `watch`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::sample::within;

/// `watch`.
#[derive(Debug, Args)]
pub struct WatchArgs {
    /// Print one look and end: a line for each value, or JSON with --json. It takes an interval, since rates need two samples
    #[arg(long)]
    pub once: bool,
    /// Print one CSV line per tick: machine-wide values, in bytes and seconds
    #[arg(long)]
    pub csv: bool,
    /// Time from one tick to the next: 200ms, 1s, 5m
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = interval)]
    pub interval: Duration,
    /// Serve OpenMetrics at http://ADDR/metrics until stopped [ADDR: 127.0.0.1:9877, or the socket that systemd hands over]
    #[arg(long, value_name = "ADDR", num_args = 0..=1, default_missing_value = "127.0.0.1:9877", conflicts_with_all = ["once", "csv", "textfile", "record"])]
    pub listen: Option<SocketAddr>,
    /// Write metrics to FILE at each tick, replaced as a whole: for node_exporter's textfile collector; with --once one time
    #[arg(long, value_name = "FILE", conflicts_with = "csv")]
    pub textfile: Option<PathBuf>,
    /// Append each sample to FILE, compressed, which survives a kill
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Show what FILE recorded instead of a machine
    #[arg(long, value_name = "FILE", conflicts_with_all = ["record", "listen", "textfile"])]
    pub replay: Option<PathBuf>,
}

fn interval(text: &str) -> Result<Duration, String> {
    within(text, Duration::from_millis(100), Duration::from_secs(3600), "from 100ms to 1h")
}
