//! `bench disk`: what a disk does under the loads that swapping makes, driven by fio.
//!
//! Nothing that holds data is written to. Loads run on scratch files without a name, on an unused swap area behind its
//! header, or on a device that the user gives up ([`safety`]). Job files are in `jobs/` and can be run by hand.

pub mod area;
pub mod fio;
mod identity;
pub mod layout;
pub mod output;
pub mod run;
pub mod safety;
pub mod shapes;

pub use area::{LoadedArea, PlaceError};
pub use fio::{Fio, FioError};
pub use identity::identity;
pub use run::{DiskBench, DiskError, DiskOptions, Placed};
