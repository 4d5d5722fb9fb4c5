//! An image: the tree of a machine that does not run.

use serde::{Deserialize, Serialize};

use crate::fact::Fact;

/// What only an image has to say of itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ImageFacts {
    /// Releases of the kernels that are installed in it, the newest first: that one everything is judged by.
    pub kernels: Vec<String>,
    /// The architecture of its programs, when they can be run here in a root of their own.
    pub runs_here: Fact<String>,
    /// The block device whose whole file system its root folder is.
    pub device: Fact<String>,
    /// Generated files of its loader that are there.
    pub loader_files: Vec<String>,
}
