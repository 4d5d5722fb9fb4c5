//! Pure room.
