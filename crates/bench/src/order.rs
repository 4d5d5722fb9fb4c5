//! Orders by chance.

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};

/// The numbers from 0 to below `count`, in an order by chance.
pub(crate) fn shuffled(count: usize, seed: u64) -> Vec<usize> {
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        order.swap(last, (uniform(&mut rng) * (last + 1) as f64) as usize);
    }
    order
}

/// From 0 to below 1.
pub(crate) fn uniform(rng: &mut Pcg64Mcg) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_there_once_in_another_order_for_each_seed() {
        let mut order = shuffled(50, 3);
        assert_eq!(order, shuffled(50, 3));
        assert!(order != shuffled(50, 4) && order != (0..50).collect::<Vec<_>>());
        order.sort_unstable();
        assert_eq!(order, (0..50).collect::<Vec<_>>());
        assert_eq!(shuffled(0, 1), Vec::<usize>::new());
    }
}
