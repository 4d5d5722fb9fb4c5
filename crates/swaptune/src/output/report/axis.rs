//! Axes of values: where a value is, and which round numbers stand at it.

/// What is drawn on one axis of values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    /// An axis on which all of these are, with a little room.
    pub fn over(values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = values
            .filter(|value| value.is_finite())
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        if low > high {
            return Self { low: 0.0, high: 1.0 };
        }
        let room = ((high - low) * 0.06).max(high.abs() * 0.01).max(1e-9);
        Self { low: low - room, high: high + room }
    }

    /// The same from zero.
    pub fn from_zero(values: impl Iterator<Item = f64>) -> Self {
        let high = Self::over(values.chain([0.0])).high;
        // What never was more than nothing has an axis all the same.
        Self { low: 0.0, high: if high < 1e-6 { 1.0 } else { high } }
    }

    /// From nothing to all.
    pub const fn of_shares() -> Self {
        Self { low: 0.0, high: 100.0 }
    }

    /// Where a value is, in percent of the way.
    pub fn at(self, value: f64) -> f64 {
        (value - self.low) / (self.high - self.low) * 100.0
    }

    /// Round numbers within, four to nine of them.
    pub fn marks(self) -> Vec<f64> {
        let span = self.high - self.low;
        let power = 10f64.powf((span / 5.0).log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
        let step = steps.into_iter().find(|step| span / step <= 8.0).unwrap_or(span);
        let first = (self.low / step).ceil() as i64;
        (first..).map(|number| number as f64 * step).take_while(|mark| *mark <= self.high).take(20).collect()
    }
}

/// A number with as many digits as its axis needs.
pub fn number(value: f64) -> String {
    match value.abs() {
        large if large >= 1e6 => format!("{:.1} M", value / 1e6),
        large if large >= 1e4 => format!("{:.0} k", value / 1e3),
        round if round >= 20.0 || value == 0.0 => format!("{value:.0}"),
        small if small >= 2.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_round_and_within() {
        for (low, high) in [(0.0, 1.0), (0.93, 1.08), (3.0, 212.0), (0.0, 4e9), (99.0, 99.1)] {
            let axis = Axis { low, high };
            let marks = axis.marks();
            assert!((3..=9).contains(&marks.len()), "{low} to {high}: {marks:?}");
            assert!(marks.iter().all(|mark| (low - 1e-9..=high + 1e-9).contains(mark)), "{marks:?}");
        }
    }

    #[test]
    fn an_axis_without_values_or_with_one_is_one() {
        assert_eq!(Axis::over(std::iter::empty()), Axis { low: 0.0, high: 1.0 });
        let one = Axis::over([5.0, f64::NAN].into_iter());
        assert!(one.low < 5.0 && one.high > 5.0);
        assert_eq!(Axis::from_zero([0.0].into_iter()), Axis { low: 0.0, high: 1.0 });
    }
}
