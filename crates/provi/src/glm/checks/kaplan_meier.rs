//! Censored times beside replicated ones, which are not censored.

use super::{Statistic, statistic};

/// As many times as there are, spread evenly over the distribution that Kaplan and Meier estimate:
/// ```text
/// P(time > t) = Π_{t_i ≤ t} (1 − events at t_i / rows with times ≥ t_i)
/// ```
/// What it leaves after the last time is put there.
pub(super) fn uncensored(times: &[f64], events: &[bool]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..times.len()).collect();
    // At equal times, events come before censoring.
    order.sort_by(|&a, &b| times[a].total_cmp(&times[b]).then(events[b].cmp(&events[a])));
    let (mut alive, mut out) = (1.0, Vec::with_capacity(times.len()));
    let level = |i: usize| (i as f64 + 0.5) / times.len() as f64;
    for (place, &n) in order.iter().enumerate() {
        if events[n] {
            alive *= 1.0 - 1.0 / (times.len() - place) as f64;
        }
        while out.len() < times.len() && 1.0 - alive >= level(out.len()) {
            out.push(times[n]);
        }
    }
    let last = order.last().map_or(0.0, |&n| times[n]);
    out.resize(times.len(), last);
    out
}

/// The mean of times that are cut at the last one, and their median.
pub(super) fn statistics(seen: &[f64], replicates: &[&[f64]]) -> Vec<Statistic> {
    let mean = |y: &[f64]| y.iter().sum::<f64>() / y.len() as f64;
    let median = |y: &[f64]| {
        let mut sorted = y.to_vec();
        sorted.sort_by(f64::total_cmp);
        sorted.get(y.len() / 2).copied().unwrap_or(0.0)
    };
    vec![
        statistic("mean up to the last time", seen, replicates, &mean),
        statistic("median time", seen, replicates, &median),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_censoring_the_times_are_themselves() {
        let times = [3.0, 1.0, 2.0, 9.0];
        assert_eq!(uncensored(&times, &[true; 4]), [1.0, 2.0, 3.0, 9.0]);
    }

    /// Censored at 2: the three rows that are left share its quarter, so that 3 holds a third of ¾.
    #[test]
    fn a_censored_row_is_shared_by_the_later_ones() {
        let times: Vec<f64> = [1.0, 2.0, 3.0, 4.0].iter().flat_map(|&t| [t; 300]).collect();
        let events: Vec<bool> = times.iter().map(|&t| (t - 2.0).abs() > 0.5 && t < 3.5).collect();
        let found = uncensored(&times, &events);
        let share = |at: f64| found.iter().filter(|&&t| (t - at).abs() < 0.1).count();
        assert_eq!([share(1.0), share(2.0), share(3.0), share(4.0)], [300, 0, 450, 450]);
    }
}
