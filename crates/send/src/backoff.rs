//! How long to wait between tries.

use std::time::Duration;

/// The wait after a number of tries: it doubles from `first` to `ceiling`, and is random
/// between half and the whole of that, so that many sends do not act at the same moment.
pub(crate) fn wait_after(tries: u32, first: Duration, ceiling: Duration) -> Duration {
    let growth = 2_u32.saturating_pow(tries);
    let whole = first.saturating_mul(growth).min(ceiling);
    whole.mul_f64(0.5 + 0.5 * rand::random::<f64>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_ceiling() {
        let (first, ceiling) = (Duration::from_secs(30), Duration::from_hours(6));
        for (tries, whole) in [(0, 30), (1, 60), (5, 960), (10, 21_600), (1000, 21_600)] {
            let whole = Duration::from_secs(whole);
            let wait = wait_after(tries, first, ceiling);
            assert!(wait >= whole / 2 && wait <= whole, "{tries}: {wait:?}");
        }
    }
}
