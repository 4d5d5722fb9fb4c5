//! What `quickstart` offers.

use swaptune_core::forecast::{CandidateForecast, Forecast};

use super::text::{columns, wrap};

/// What is counted, what fits today, and each offer with what fits.
pub fn offers(forecast: &Forecast, offers: &[&CandidateForecast]) -> String {
    let about = |row: &CandidateForecast| {
        let range = if row.low() == row.high() { String::new() } else { format!(" ({})", row.range()) };
        format!("about {}{range}", row.median())
    };
    let mut out = wrap(&format!("Counted: {}; simulated from {}.", forecast.counted, forecast.measured.told()), 0) + "\n";
    let today = forecast.today.iter().map(|row| vec![String::new(), format!("today: {}", row.candidate), about(row)]);
    let rows = offers
        .iter()
        .enumerate()
        .map(|(number, offer)| vec![(number + 1).to_string(), offer.candidate.to_string(), about(offer)]);
    out += &columns(&today.chain(rows).collect::<Vec<_>>(), &[], 2);
    out
}
