//! Colours and the style sheet.

/// Style of every report, for light and dark screens, wide and narrow.
pub const STYLE: &str = include_str!("style.css");

/// Colours that people who do not tell red from green tell apart (Okabe and Ito), one for each configuration.
const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c8c8c"];

/// Colours of what has an order, from least to most: each is darker than the one before, so that they are told apart without colour too.
pub const STEPS: [&str; 6] = ["#f0e442", "#a5d46a", "#56b4a0", "#2f86a6", "#3b528b", "#440154"];

/// The colour of the configuration at this place.
pub const fn colour(place: usize) -> &'static str {
    COLOURS[place % COLOURS.len()]
}
