//! The program `swaptune`; see the library of this name.

use std::process::ExitCode;

fn main() -> ExitCode {
    swaptune::main()
}
