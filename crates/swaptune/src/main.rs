//! swaptune.
fn main() {}
