//! The loads: one row each.

use swaptune_core::measurement::DiskShape;

/// One kind of load.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Its name in results.
    pub shape: DiskShape,
    /// What it stands for, for people.
    pub what: &'static str,
    /// fio's job file.
    pub template: &'static str,
    /// True when it is measured for every number of jobs; otherwise with one.
    pub sweeps: bool,
    /// True when several areas are compared with one.
    pub compares: bool,
    /// True when it keeps several requests in flight, through the engine that was chosen.
    pub is_deep: bool,
}

/// All loads, in the order in which they are measured.
pub const SHAPES: &[Shape] = &[
    Shape {
        shape: DiskShape::Mixed,
        what: "swap under pressure",
        template: include_str!("jobs/mixed.fio"),
        sweeps: true,
        compares: true,
        is_deep: true,
    },
    Shape {
        shape: DiskShape::ClusterWrite,
        what: "reclaim writing clusters",
        template: include_str!("jobs/cluster-write.fio"),
        sweeps: false,
        compares: true,
        is_deep: true,
    },
    Shape {
        shape: DiskShape::PageRead,
        what: "faults on single pages",
        template: include_str!("jobs/page-read.fio"),
        sweeps: true,
        compares: false,
        is_deep: false,
    },
    Shape {
        shape: DiskShape::BufferedRead,
        what: "sequential, from the disk",
        template: include_str!("jobs/buffered-read.fio"),
        sweeps: false,
        compares: false,
        is_deep: false,
    },
    Shape {
        shape: DiskShape::CachedRead,
        what: "sequential, from RAM",
        template: include_str!("jobs/cached-read.fio"),
        sweeps: false,
        compares: false,
        is_deep: false,
    },
];

/// Writes every byte once, before anything is measured.
pub const FILL: &str = include_str!("jobs/fill.fio");

#[cfg(test)]
mod tests {
    use super::*;

    /// fio takes what is missing in its environment for an empty word: each template must use what it is given.
    #[test]
    fn templates_take_what_they_are_given() {
        for shape in SHAPES {
            let text = shape.template;
            for name in ["${PLACES}", "${OFFSET}", "${JOBS}", "${RUNTIME}"] {
                assert!(text.contains(name), "{:?}: {name}", shape.shape);
            }
            assert_eq!(text.contains("${ENGINE}"), shape.is_deep, "{:?}", shape.shape);
            let known = ["PLACES", "OFFSET", "SIZE", "JOBS", "RUNTIME", "ENGINE"];
            for name in text.split("${").skip(1).filter_map(|rest| rest.split('}').next()) {
                assert!(known.contains(&name), "{:?}: {name}", shape.shape);
            }
        }
    }
}
