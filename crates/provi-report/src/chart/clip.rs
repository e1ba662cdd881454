//! Lines clipped at the edges of their frame.

/// A frame in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Frame {
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) top: f64,
    pub(crate) bottom: f64,
}

impl Frame {
    pub(crate) fn holds(&self, (x, y): (f64, f64)) -> bool {
        x >= self.left && x <= self.right && y >= self.top && y <= self.bottom
    }

    pub(crate) fn clamp_x(&self, x: f64) -> f64 {
        x.clamp(self.left, self.right)
    }

    pub(crate) fn clamp_y(&self, y: f64) -> f64 {
        y.clamp(self.top, self.bottom)
    }

    /// The part of a segment inside (Liang and Barsky).
    fn segment(&self, a: (f64, f64), b: (f64, f64)) -> Option<((f64, f64), (f64, f64))> {
        let (dx, dy) = (b.0 - a.0, b.1 - a.1);
        let (mut enter, mut leave) = (0.0f64, 1.0f64);
        let edges =
            [(-dx, a.0 - self.left), (dx, self.right - a.0), (-dy, a.1 - self.top), (dy, self.bottom - a.1)];
        for (slope, room) in edges {
            if slope.abs() < 1e-300 {
                if room < 0.0 {
                    return None;
                }
            } else if slope < 0.0 {
                enter = enter.max(room / slope);
            } else {
                leave = leave.min(room / slope);
            }
        }
        let at = |t: f64| (self.clamp_x(a.0 + t * dx), self.clamp_y(a.1 + t * dy));
        (enter <= leave).then(|| (at(enter), at(leave)))
    }

    /// The parts of a polyline inside; a position that is not finite ends a part.
    pub(crate) fn polyline(&self, points: impl Iterator<Item = (f64, f64)>) -> Vec<Vec<(f64, f64)>> {
        let mut runs: Vec<Vec<(f64, f64)>> = Vec::new();
        let mut before: Option<(f64, f64)> = None;
        let mut open = false;
        for point in points {
            let finite = point.0.is_finite() && point.1.is_finite();
            match (before.filter(|_| finite), finite) {
                (Some(last), _) => match self.segment(last, point) {
                    Some((from, to)) => {
                        if !open {
                            runs.push(vec![from]);
                        }
                        if let Some(run) = runs.last_mut() {
                            run.push(to);
                        }
                        // It leaves the frame where its end was cut.
                        open = self.holds(point);
                    }
                    None => open = false,
                },
                _ => open = false,
            }
            before = finite.then_some(point);
        }
        runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FRAME: Frame = Frame { left: 0.0, right: 10.0, top: 0.0, bottom: 10.0 };

    proptest! {
        #[test]
        fn nothing_leaves_the_frame(points in prop::collection::vec((-50.0..50.0f64, -50.0..50.0f64), 0..30)) {
            let runs = FRAME.polyline(points.iter().copied());
            prop_assert!(runs.iter().flatten().all(|&p| FRAME.holds(p)));
            let inside = points.windows(2).filter(|w| FRAME.holds(w[0]) && FRAME.holds(w[1])).count();
            prop_assert!(runs.iter().map(|r| r.len() - 1).sum::<usize>() >= inside);
        }
    }

    #[test]
    fn a_line_is_broken_where_a_value_is_missing() {
        let points = [(1.0, 1.0), (2.0, 2.0), (3.0, f64::NAN), (4.0, 4.0), (5.0, 5.0)];
        assert_eq!(FRAME.polyline(points.into_iter()).len(), 2);
        assert_eq!(FRAME.polyline([(-5.0, 5.0), (15.0, 5.0)].into_iter()), [[(0.0, 5.0), (10.0, 5.0)]]);
    }
}
