//! The room that touches a machine: reads it below a root, applies changes to it, takes them back, and runs the proof.
//!
//! Reading goes through [`machine::Machine`], writing through one module of [`transaction`], and every unsafe call is in `sys.rs` and `sys/`.
//! What is wanted is decided in `swaptune-core`, never here.

pub mod aside;
pub mod capture;
pub mod cgroup;
pub mod checkpoint;
pub mod child;
pub mod counted;
pub mod daemon_status;
mod error_chain;
mod folder_guardian;
pub mod inspect;
pub mod journal;
pub mod keep;
pub mod kernel;
pub mod lock;
pub mod machine;
pub mod processes;
pub mod prove;
pub mod sampling;
pub mod service;
pub mod stamp;
pub mod stop;
pub mod swap_header;
pub mod sys;
pub mod temporary;
#[cfg(test)]
mod testing;
pub mod transaction;
pub mod work_trace;

pub use error_chain::error_chain;
