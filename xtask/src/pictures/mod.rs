//! Pictures of the README, drawn from what was kept of real runs: `docs/evidence/density*.jsonl`, which `bench density --results` wrote, and
//! `docs/evidence/watch.swrec`, which `watch --record` wrote meanwhile.
//!
//! They are pages like those of docs/reference: `make reference` draws them, and the check fails when one is out of date.

mod density;
mod screen;

use std::fmt::Write as _;

/// Draws a picture.
type Draw = fn() -> anyhow::Result<String>;

/// Every picture: its path below the repository, and what draws it.
pub const PICTURES: [(&str, Draw); 3] = [
    ("docs/pictures/density.svg", density::fast),
    ("docs/pictures/density-slow-disk.svg", density::slow),
    ("docs/pictures/watch.svg", screen::draw),
];

/// An SVG file of this size around what was drawn; `about` is for those who cannot see it.
fn file((width, height): (f64, f64), background: &str, about: &str, drawn: &str) -> String {
    let mut file = String::new();
    let _ = writeln!(
        file,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\">\n\
         <title>{}</title>\n<rect width=\"100%\" height=\"100%\" rx=\"6\" fill=\"{background}\"/>",
        escaped(about)
    );
    file + drawn + "</svg>\n"
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_picture_is_drawn_from_what_was_kept() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        std::env::set_current_dir(root).unwrap();
        for (path, draw) in PICTURES {
            let drawn = draw().unwrap();
            assert!(drawn.starts_with("<svg") && drawn.ends_with("</svg>\n"), "{path}");
            assert!(drawn.matches("<text").count() > 5, "{path}: {drawn}");
        }
    }
}
