//! Host room.
