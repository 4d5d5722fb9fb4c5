//! Whole trees, with the oddities of real machines.
