//! Censored times beside replicated ones, which are not censored.

use super::{Statistic, statistic};
use crate::glm::{Family, Time};

/// As many times as there are, spread evenly over an estimate of their distribution, which no model is behind. Without intervals it is that of
/// Kaplan and Meier; rows at risk at t are those that entered before t and were last seen at t or later:
/// ```text
/// P(time > t) = Π_{t_i ≤ t} (1 − events at t_i / rows at risk at t_i)
/// ```
/// With intervals it is Turnbull's. What the estimate leaves after the last time is put there.
pub(super) fn uncensored(times: &[Time]) -> Vec<f64> {
    let (at, chance) =
        if times.iter().any(is_coarse) { turnbull(&snapped(times)) } else { kaplan_meier(times) };
    let (mut below, mut out) = (0.0, Vec::with_capacity(times.len()));
    let level = |i: usize| (i as f64 + 0.5) / times.len() as f64;
    for (t, p) in at.iter().zip(chance) {
        below += p;
        while out.len() < times.len() && below >= level(out.len()) {
            out.push(*t);
        }
    }
    let last = times.iter().map(|time| time.last()).fold(0.0, f64::max);
    out.resize(times.len(), last);
    out
}

/// Whether the event lies in an interval.
fn is_coarse(time: &Time) -> bool {
    time.is_event() && time.start() < time.last()
}

/// Times whose ends are equal where they differ by rounding alone: an interval that ends where another begins must not overlap it.
fn snapped(times: &[Time]) -> Vec<Time> {
    const NEAR: f64 = 1e-9;
    let mut ends: Vec<f64> =
        times.iter().flat_map(|time| [time.entry(), time.start(), time.last()]).collect();
    ends.sort_by(f64::total_cmp);
    ends.dedup_by(|later, first| *later - *first <= NEAR * *first);
    let snap = |x: f64| ends[ends.partition_point(|&end| end <= x).saturating_sub(1)];
    let each = |time: &Time| {
        let to = if time.is_event() { snap(time.last()) } else { f64::INFINITY };
        Time::between(snap(time.start()), to).entered(snap(time.entry()))
    };
    times.iter().map(each).collect()
}

/// Replicated times, made comparable with [`uncensored`] ones where rows enter late or lie in intervals: each is drawn anew given that it is later
/// than its row's entry, is known as its row's time is, and is then spread over the estimate of its replicate. `families`: with the noise of
/// each replicate, if it was drawn.
pub(super) fn replicated_alike(family: Family, times: &[Time], families: &[Family], replicated: &mut [f64]) {
    if times.iter().all(|time| time.entry() <= 0.0 && !is_coarse(time)) {
        return;
    }
    let last = times.iter().map(|time| time.last()).fold(0.0, f64::max);
    for (k, replicate) in replicated.chunks_exact_mut(times.len()).enumerate() {
        let shape = families.get(k).unwrap_or(&family).hazard_shape().unwrap_or(1.0);
        let alike = |(time, t): (&Time, &f64)| time.like(time.later(*t, shape), last);
        let drawn: Vec<Time> = times.iter().zip(replicate.iter()).map(alike).collect();
        replicate.copy_from_slice(&uncensored(&drawn));
    }
}

/// Times of events in their order, and the probability of each.
fn kaplan_meier(times: &[Time]) -> (Vec<f64>, Vec<f64>) {
    let mut last: Vec<f64> = times.iter().map(|time| time.last()).collect();
    let mut entries: Vec<f64> = times.iter().map(|time| time.entry()).collect();
    let mut events: Vec<f64> = times.iter().filter(|time| time.is_event()).map(|time| time.last()).collect();
    [&mut last, &mut entries, &mut events].into_iter().for_each(|all| all.sort_by(f64::total_cmp));
    let (mut alive, mut at, mut chance) = (1.0, Vec::new(), Vec::new());
    for same in events.chunk_by(|a, b| a.total_cmp(b).is_eq()) {
        let t = same[0];
        let entered = entries.partition_point(|&e| e < t);
        let gone = last.partition_point(|&x| x < t);
        // A replicated time may be its own entry, by rounding.
        let at_risk = entered.saturating_sub(gone).max(same.len());
        let died = alive * same.len() as f64 / at_risk as f64;
        alive -= died;
        at.push(t);
        chance.push(died);
    }
    (at, chance)
}

/// Turnbull's estimate by its own fixed point, until it stands nearly still: a row gives its weight 1 to the possible times in proportion to their probabilities p, and for a
/// late entry e also the rows that were not seen because their event came before e, P(≤ e)/P(> e) of them:
/// ```text
/// p_j ∝ Σ_n [ p_j·1{a_n < t_j ≤ b_n}/P(a_n, b_n] + p_j·1{t_j ≤ e_n}/P(> e_n) ]
/// ```
/// The possible times are the ends of the intervals and the times of events; one beyond all of them stands for what comes later.
fn turnbull(times: &[Time]) -> (Vec<f64>, Vec<f64>) {
    const ROUNDS: usize = 2000;
    const STILL: f64 = 1e-7;
    let mut at: Vec<f64> = times.iter().filter(|time| time.is_event()).map(|time| time.last()).collect();
    at.push(f64::INFINITY);
    at.sort_by(f64::total_cmp);
    at.dedup();
    let count = at.len();
    // The first time that is later than a.
    let after = |a: f64| at.partition_point(|&t| t <= a);
    let ranges: Vec<[usize; 3]> = times
        .iter()
        .map(|time| {
            let end = if time.is_event() { after(time.last()) } else { count };
            let seen_at = time.is_event() && time.start() >= time.last();
            let start = if seen_at { end - 1 } else { after(time.start()) };
            [start.min(end - 1), end, after(time.entry())]
        })
        .collect();
    let mut p = vec![1.0 / count as f64; count];
    for _ in 0..ROUNDS {
        let mut below = vec![0.0; count + 1];
        (0..count).for_each(|j| below[j + 1] = below[j] + p[j]);
        let mut steps = vec![0.0; count + 1];
        for &[start, end, entry] in &ranges {
            let share = 1.0 / (below[end] - below[start]).max(f64::MIN_POSITIVE);
            steps[start] += share;
            steps[end] -= share;
            if entry > 0 {
                let unseen = 1.0 / (below[count] - below[entry]).max(f64::MIN_POSITIVE);
                steps[0] += unseen;
                steps[entry] -= unseen;
            }
        }
        let (mut sum, mut total) = (0.0, 0.0);
        let before = p.clone();
        for (p, step) in p.iter_mut().zip(&steps) {
            sum += step;
            *p *= sum.max(0.0);
            total += *p;
        }
        p.iter_mut().for_each(|p| *p /= total);
        if p.iter().zip(&before).all(|(p, before)| (p - before).abs() <= STILL / count as f64) {
            break;
        }
    }
    at.pop();
    (at, p)
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
        let times = [3.0, 1.0, 2.0, 9.0].map(Time::at);
        assert_eq!(uncensored(&times), [1.0, 2.0, 3.0, 9.0]);
    }

    fn shares(times: &[Time], at: &[f64]) -> Vec<usize> {
        let found = uncensored(times);
        at.iter().map(|at| found.iter().filter(|&&t| (t - at).abs() < 0.1).count()).collect()
    }

    fn each(kinds: &[Time], count: usize) -> Vec<Time> {
        kinds.iter().flat_map(|&time| std::iter::repeat_n(time, count)).collect()
    }

    /// Censored at 2: the three rows that are left share its quarter, so that 3 holds a third of ¾.
    #[test]
    fn a_censored_row_is_shared_by_the_later_ones() {
        let kinds = [Time::at(1.0), Time::after(2.0), Time::at(3.0), Time::after(4.0)];
        assert_eq!(shares(&each(&kinds, 300), &[1.0, 2.0, 3.0, 4.0]), [300, 0, 450, 450]);
    }

    /// Half of the rows enter at 1.5: at 1 only the others are at risk, of which half have their event.
    #[test]
    fn late_rows_are_not_at_risk_before_they_enter() {
        let late = |time: Time| time.entered(1.5);
        let kinds = [Time::at(1.0), Time::at(3.0), late(Time::at(2.0)), late(Time::at(3.0))];
        // P(1) = ½, P(2) = ½·⅓, P(3) = ⅓.
        assert_eq!(shares(&each(&kinds, 300), &[1.0, 2.0, 3.0]), [600, 200, 400]);
    }

    /// Visits at 1, 2 and 3: ends that differ by rounding do not make intervals overlap, and each holds its own rows.
    #[test]
    fn intervals_that_touch_do_not_overlap() {
        let near = |x: f64| x * (1.0 + 3e-13);
        let kinds = [
            Time::before(near(1.0)),
            Time::between(1.0, near(2.0)),
            Time::between(2.0, 3.0),
            Time::before(1.0),
        ];
        assert_eq!(shares(&each(&kinds, 100), &[1.0, 2.0, 3.0]), [200, 100, 100]);
        let overlapping: Vec<f64> = turnbull(&each(&kinds, 100)).1;
        assert!(overlapping.len() > 4, "without it they do: {overlapping:?}");
    }

    /// Intervals that are points give the same as events, censored or late; an interval is shared by the times in it.
    #[test]
    fn turnbull_agrees_with_kaplan_and_meier_and_shares_intervals() {
        let kinds =
            [Time::at(1.0), Time::after(2.0), Time::at(3.0), Time::after(4.0), Time::at(2.5).entered(2.0)];
        let all = each(&kinds, 40);
        let (at, exact) = kaplan_meier(&all);
        let (also, found) = turnbull(&all);
        assert_eq!(at, also);
        assert!(exact.iter().zip(&found).all(|(a, b)| (a - b).abs() < 1e-6), "{exact:?} {found:?}");
        // Two thirds of the seen events are at 1, so the rows in (0, 2] belong to both times in that ratio.
        let kinds = [Time::at(1.0), Time::at(1.0), Time::at(2.0), Time::before(2.0)];
        assert_eq!(shares(&each(&kinds, 300), &[1.0, 2.0]), [800, 400]);
    }
}
