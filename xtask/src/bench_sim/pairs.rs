//! Times of several things that were done in turn, and what they say.

/// Seconds of each thing in each round.
pub struct Rounds<const N: usize> {
    names: [&'static str; N],
    rounds: Vec<[f64; N]>,
}

impl<const N: usize> Rounds<N> {
    /// None yet.
    pub fn new(names: [&'static str; N]) -> Self {
        Self { names, rounds: Vec::new() }
    }

    /// One round.
    pub fn add(&mut self, seconds: [f64; N]) {
        self.rounds.push(seconds);
    }

    /// The median time of one thing.
    pub fn median(&self, which: usize) -> f64 {
        median(self.rounds.iter().map(|round| round[which]).collect()).1
    }

    /// `work` per second of each: median, and the best.
    pub fn rates(&self, work: f64) -> String {
        let rate = |which: usize| {
            let best = self.rounds.iter().map(|round| round[which]).fold(f64::INFINITY, f64::min);
            format!("{} {:.1} (best {:.1})", self.names[which], work / self.median(which), work / best)
        };
        (0..N).map(rate).collect::<Vec<_>>().join(", ")
    }

    /// The median over rounds of how many times as long one took as the other, with an interval of at least 95 %.
    pub fn ratio(&self, of: usize, to: usize) -> String {
        let (low, middle, high) = median(self.rounds.iter().map(|round| round[of] / round[to]).collect());
        format!("{middle:.1}× [{low:.1}, {high:.1}]")
    }
}

/// The median, and the values between which the true median lies with at least 95 %: as many from each end as a fair coin makes
/// improbable. With fewer than six values that is none, and the ends are given.
fn median(mut values: Vec<f64>) -> (f64, f64, f64) {
    values.sort_by(f64::total_cmp);
    let count = values.len();
    let (mut term, mut below, mut drop) = (0.5f64.powi(count as i32), 0.0, 0);
    // `below` is the chance that at most `drop` values lie below the true median.
    while drop < count / 2 {
        below += term;
        if below > 0.025 {
            break;
        }
        term *= (count - drop) as f64 / (drop + 1) as f64;
        drop += 1;
    }
    let end = drop.saturating_sub(1);
    let middle = (values[(count - 1) / 2] + values[count / 2]) / 2.0;
    (values[end], middle, values[count - 1 - end])
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn the_interval_is_the_one_of_the_sign_test() {
        let of = |count: u32| median((1..=count).map(f64::from).collect());
        // Tables of the sign test: 10 values leave out one at each end, 20 five, 5 none.
        assert_eq!(of(10), (2.0, 5.5, 9.0));
        assert_eq!(of(20), (6.0, 10.5, 15.0));
        assert_eq!(of(5), (1.0, 3.0, 5.0));
        assert_eq!(of(1), (1.0, 1.0, 1.0));
    }
}
