//! Host room.

pub mod apply;
pub mod capture;
pub mod checkpoint;
pub mod inspect;
pub mod journal;
pub mod kernel;
pub mod lock;
pub mod machine;
pub mod prove;
pub mod rollback;
pub mod service;
pub mod swap_header;
pub mod swapfile;
mod sys;
