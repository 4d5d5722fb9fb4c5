//! Rules of the house that no compiler holds, read from the sources of every crate.
#![allow(clippy::disallowed_methods, clippy::unwrap_used)] // A test may look at the tree; the crate may not.

mod circles;
mod sources;
mod type_names;
