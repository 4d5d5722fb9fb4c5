//! Host room.

pub mod inspect;
pub mod machine;
