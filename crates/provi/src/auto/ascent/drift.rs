//! A test of whether steps add up in one direction.
//!
//! In whitened coordinates a step moves the mean along v = −RRᵀg̃. Over n steps, coordinate by coordinate, Σv is
//! compared with the sum of independent v of the same lengths:
//! ```text
//! r = max_i (Σv_i)²/Σv_i²:   below 1 around an answer, a few for noise alone, up to n for one direction
//! ```

/// Steps between two tests, and tests of the same sums: a weak drift needs many steps to show.
const WINDOW: u32 = 64;
const LOOKS: u32 = 8;
/// A χ² variable with one degree of freedom exceeds these with probability 5e-4 and 6e-5.
const FORGIVEN: f64 = 12.0;
const RESTARTED: f64 = 16.0;

#[derive(Debug, Default)]
pub(super) struct Drift {
    sums: Vec<[f64; 2]>,
    steps: u32,
}

/// What the caller must do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Continue.
    None,
    /// Take longer steps.
    Forgive,
    /// Take longer steps and restart the average: so far it holds only the way to the answer.
    Restart,
}

impl Drift {
    /// Adds the direction of a step.
    pub(super) fn add(&mut self, shift: &[f64]) {
        self.sums.resize(shift.len(), [0.0; 2]);
        for (sums, v) in self.sums.iter_mut().zip(shift) {
            sums[0] += v;
            sums[1] += v * v;
        }
        self.steps += 1;
    }

    /// The verdict at the end of a window. The sums restart after a verdict, or if none has come for long.
    pub(super) fn verdict(&mut self) -> Verdict {
        if self.steps == 0 || !self.steps.is_multiple_of(WINDOW) {
            return Verdict::None;
        }
        let ratio = |sums: &[f64; 2]| if sums[1] > 0.0 { sums[0] * sums[0] / sums[1] } else { 0.0 };
        let most = self.sums.iter().map(ratio).fold(0.0, f64::max);
        let verdict = match most {
            r if r > RESTARTED => Verdict::Restart,
            r if r > FORGIVEN => Verdict::Forgive,
            _ => Verdict::None,
        };
        if verdict != Verdict::None || self.steps >= LOOKS * WINDOW {
            self.sums.fill([0.0; 2]);
            self.steps = 0;
        }
        verdict
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first verdict other than `None`, and after how many windows.
    fn verdict(step: impl Fn(u32) -> f64) -> (Verdict, u32) {
        let mut drift = Drift::default();
        for k in 0..LOOKS * WINDOW {
            drift.add(&[step(k), 0.0]);
            match drift.verdict() {
                Verdict::None => {}
                other => return (other, (k + 1) / WINDOW),
            }
        }
        (Verdict::None, LOOKS)
    }

    #[test]
    fn one_direction_restarts_and_to_and_fro_does_nothing() {
        assert_eq!(verdict(|_| 0.1), (Verdict::Restart, 1));
        assert_eq!(verdict(|k| if k % 2 == 0 { 0.1 } else { -0.1 }).0, Verdict::None);
        // One long step and short noise around the answer: the way was made in that step.
        assert_eq!(verdict(|k| if k == 0 { 3.0 } else { 0.01 * f64::from(k % 3) - 0.01 }).0, Verdict::None);
        // Two steps ahead and one back show at once; thirteen ahead and seven back show after two windows.
        assert_eq!(verdict(|k| if k % 3 < 2 { 1.0 } else { -0.3 }), (Verdict::Restart, 1));
        let (slow, windows) = verdict(|k| if k % 20 < 13 { 0.1 } else { -0.1 });
        assert!(slow == Verdict::Forgive && windows == 2, "{slow:?} {windows}");
    }
}
