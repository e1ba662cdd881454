//! Times to an event that were seen, that come later, or that lie in an interval.
//!
//! With κ(t) = (t/u)^k, k = 1/σ, the cumulative hazard of a time t is κ(t)eˢ. A row that is watched from its entry e on has the potential
//! ```text
//! at t             (κ(t) − κ(e))eˢ − s − log(kκ(t)/t)                          = e^{s'} − s' + const
//! after t          (κ(t) − κ(e))eˢ                                             = e^{s'}
//! within (a, b]    (κ(a) − κ(e))eˢ − log(1 − exp(−(κ(b) − κ(a))eˢ))            = ρe^{s'} − log(1 − e^{−r'}),   r' = e^{s'}
//! ```
//! s' = s + o, where e^o is the factor of eˢ that belongs to the last span, from e or a on, and ρ = (κ(a) − κ(e))/(κ(b) − κ(a)). All three are
//! convex in s. The last is a row with the complementary log-log link ([`provi_kernels::Cloglog`]), and the others are such rows too.

use crate::base::error::{Error, Result};
use provi_kernels::Cloglog;

/// What is known of the time of an event. Times are above 0 and in the units of the table.
///
/// ```
/// use provi::target::Time;
///
/// let seen = [Time::at(3.5), Time::after(7.0), Time::before(2.0), Time::between(2.0, 4.0)];
/// let late = Time::after(7.0).entered(5.0);
/// assert!(seen.iter().all(|time| time.check().is_ok()) && late.check().is_ok());
/// assert!(Time::at(3.5).entered(4.0).check().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Time {
    entry: f64,
    from: f64,
    to: f64,
}

impl Time {
    /// The event was seen at t.
    pub fn at(t: f64) -> Self {
        Self { entry: 0.0, from: t, to: t }
    }

    /// The event comes after t: censored on the right.
    pub fn after(t: f64) -> Self {
        Self { entry: 0.0, from: t, to: f64::INFINITY }
    }

    /// The event was seen at t if `event` is 1, and comes after t if it is 0.
    pub fn seen(t: f64, event: f64) -> std::result::Result<Self, &'static str> {
        match event {
            1.0 => Ok(Self::at(t)),
            0.0 => Ok(Self::after(t)),
            _ => Err("an event of 1 (seen at that time) or 0 (censored: not seen until then)"),
        }
    }

    /// The event came at t or earlier: censored on the left.
    pub fn before(t: f64) -> Self {
        Self::between(0.0, t)
    }

    /// The event came after `from`, and at `to` or earlier. An infinite `to` is [`Time::after`], equal ends are [`Time::at`].
    pub fn between(from: f64, to: f64) -> Self {
        Self { entry: 0.0, from, to }
    }

    /// The row is watched from this time on: were its event earlier, there would be no row. An interval begins no earlier.
    pub fn entered(self, entry: f64) -> Self {
        Self { entry, ..self }
    }

    /// Refuses what is no time.
    pub fn check(self) -> std::result::Result<(), &'static str> {
        let Self { entry, from, to } = self;
        let numbers = entry.is_finite() && from.is_finite() && !to.is_nan();
        if !numbers || entry < 0.0 || from < 0.0 || to <= 0.0 {
            return Err(
                "a time above 0; drop the row, or add to all times what the clock missed before its start",
            );
        }
        if to < from {
            return Err("an interval whose end is not before its start");
        }
        // What is known ends here.
        let last = if to.is_finite() { to } else { from };
        if last <= 0.0 {
            return Err("a time above 0; drop the row: that its event comes some day says nothing");
        }
        if last <= entry {
            return Err("a time after the row's entry; drop the row, or mend its entry");
        }
        Ok(())
    }

    /// The latest time about which something is known: that of the event, the end of its interval, or when the row was last seen.
    pub fn last(self) -> f64 {
        if self.to.is_finite() { self.to } else { self.from }
    }

    /// When the interval begins; for an event that was seen, its time.
    pub fn start(self) -> f64 {
        self.from.max(self.entry)
    }

    /// Whether the event came before the row was last seen.
    pub fn is_event(self) -> bool {
        self.to.is_finite()
    }

    /// When the row was first watched.
    pub fn entry(self) -> f64 {
        self.entry
    }

    /// A time given that it is after the entry e, from one that was drawn without this condition:
    /// ```text
    /// κ(T) = κ(e) + κ(t),   for κ(t)eˢ is exponential
    /// ```
    pub(crate) fn later(self, t: f64, shape: f64) -> f64 {
        let (high, low) = if self.entry > t { (self.entry, t) } else { (t, self.entry) };
        // (e^k + t^k)^{1/k} without overflow.
        if low > 0.0 { high * ((low / high).powf(shape).ln_1p() / shape).exp() } else { high }
    }

    /// What would be known of a row like this one whose event comes at t: censored at the same time if this one was, else at `last`; within one
    /// of the intervals of the same width that follow one another, if this one lies in an interval.
    pub(crate) fn like(self, t: f64, last: f64) -> Self {
        let end = if self.is_event() { last } else { self.last() };
        let width = self.last() - self.start();
        let time = match self.how() {
            _ if t > end => Self::after(end),
            Seen::Within => {
                let from = self.start() + width * (((t - self.start()) / width).ceil() - 1.0);
                // The last interval ends where rows are censored.
                let (from, to) = (from.max(self.entry), (from + width).min(end));
                if from < to { Self::between(from, to) } else { Self::at(t) }
            }
            Seen::At | Seen::After => Self::at(t),
        };
        time.entered(self.entry)
    }

    fn how(self) -> Seen {
        match self {
            Self { to, .. } if !to.is_finite() => Seen::After,
            Self { from, to, .. } if to <= from => Seen::At,
            _ => Seen::Within,
        }
    }

    fn span(self) -> Span {
        let (Self { entry, to, .. }, from) = (self, self.start());
        match self.how() {
            Seen::At | Seen::After => Span { width: log_ratio(entry, self.last()), lead: 0.0 },
            Seen::Within => Span { width: log_ratio(from, to), lead: log_ratio(entry, from) },
        }
    }
}

/// log(b/a) for 0 ≤ a ≤ b, infinite for a = 0 < b, without cancellation where they are close.
fn log_ratio(a: f64, b: f64) -> f64 {
    if b <= a {
        0.0
    } else if b < 2.0 * a {
        ((b - a) / a).ln_1p()
    } else {
        b.ln() - a.ln()
    }
}

/// How the time of an event is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    At,
    After,
    Within,
}

/// Logarithms of ratios of times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Span {
    /// log(t/e), or log(b/a) of an interval.
    pub(super) width: f64,
    /// log(a/e) of an interval.
    pub(super) lead: f64,
}

impl Span {
    /// A row that is watched from the beginning on.
    pub(super) const WHOLE: Self = Self { width: f64::INFINITY, lead: 0.0 };
}

/// A time in units of u.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Known {
    pub(super) seen: Seen,
    /// log(t/u), of the last time.
    pub(super) log: f64,
    pub(super) span: Span,
}

/// How a row that is coded for one noise changes with it: a time; or with the gaps between cut points: an ordered category.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Lever {
    /// k∂o/∂k, o the part of the offset that the noise determines.
    pub(crate) shift: f64,
    /// k∂ρ/∂k of an interval; k log(t/u) − k∂o/∂k of an event.
    pub(crate) turn: f64,
    /// The category, from 1 on; 0 for other families.
    pub(crate) category: usize,
}

/// A time as a row with the complementary log-log link, for one noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Coded {
    /// o.
    pub(super) offset: f64,
    /// ρ.
    pub(super) before: f64,
    pub(super) lever: Lever,
    /// o − k log(t/u).
    pub(super) short: f64,
}

impl Known {
    /// ```text
    /// B = k·width, A = k·lead:   o = k log(t/u) + log(1 − e^{−B}),   ρ = (1 − e^{−A})/(e^B − 1)
    /// k∂o/∂k = k log(t/u) + B/(e^B − 1),   k∂ρ/∂k = Ae^{−A}/(e^B − 1) − ρB/(1 − e^{−B})
    /// ```
    pub(super) fn coded(self, shape: f64) -> Coded {
        let at = shape * self.log;
        let (b, a) = (shape * self.span.width, shape * self.span.lead);
        let rise = b.exp_m1();
        // Both are 0 where the span begins at 0, and where B is large.
        let (short, slant) = if rise.is_finite() { ((-(-b).exp_m1()).ln(), b / rise) } else { (0.0, 0.0) };
        let (before, turn) = match self.seen {
            Seen::Within if rise.is_finite() => {
                // Without an entry A is infinite, and e^{−A} and Ae^{−A} are 0.
                let early = if a.is_finite() { a * (-a).exp() } else { 0.0 };
                let before = -(-a).exp_m1() / rise;
                (before, early / rise + before * b / (-b).exp_m1())
            }
            // e^B overflows, and e^{−B} is all that is left.
            Seen::Within if b.is_finite() => {
                let before = -(-a).exp_m1() * (-b).exp();
                (before, -before * b)
            }
            Seen::Within | Seen::After => (0.0, 0.0),
            Seen::At => (0.0, -slant),
        };
        Coded { offset: at + short, before, lever: Lever { shift: at + slant, turn, category: 0 }, short }
    }

    /// Whether the ends of an interval are so far apart for a noise that the hazard before it is lost beside that within it.
    pub(super) fn is_too_wide(self, shape: f64) -> bool {
        self.seen == Seen::Within && self.span.width.is_finite() && shape * self.span.width > WIDEST
    }

    /// The response of the row that a time is coded as.
    pub(super) fn response(self, coded: Coded, coarse: bool) -> f64 {
        match (self.seen, coarse) {
            (Seen::At, false) => 1.0,
            (Seen::At, true) => -1.0,
            (Seen::After, _) => 0.0,
            (Seen::Within, _) => Cloglog::within(coded.before),
        }
    }

    /// log((t − e)/u), t the last time and e the entry.
    pub(super) fn log_watched(self) -> f64 {
        self.log + (-(-(self.span.width + self.span.lead)).exp_m1()).ln()
    }

    /// The times that were given.
    pub(super) fn time(self, unit: f64) -> Time {
        let (last, Span { width, lead }) = (self.log.exp() * unit, self.span);
        match self.seen {
            Seen::At => Time::at(last).entered(last * (-width).exp()),
            Seen::After => Time::after(last).entered(last * (-width).exp()),
            Seen::Within => {
                let from = last * (-width).exp();
                Time::between(from, last).entered(from * (-lead).exp())
            }
        }
    }

    /// The constant of an event, log t − log k + o − k log(t/u), and the sum of the absolute values of its terms.
    pub(super) fn constant(self, shape: f64, unit: f64) -> [f64; 2] {
        match self.seen {
            Seen::At => {
                let terms = [self.log, unit.ln(), -shape.ln(), self.coded(shape).short];
                [terms.iter().sum(), terms.iter().map(|x| x.abs()).sum()]
            }
            Seen::After | Seen::Within => [0.0; 2],
        }
    }
}

/// The largest (1/σ) log(b/a) of an interval: e^{−700} is still a normal number.
const WIDEST: f64 = 700.0;

/// The times in units, and whether some of them lie in intervals or have entries.
pub(super) struct Times {
    pub(super) logs: Vec<f64>,
    pub(super) seen: Vec<Seen>,
    /// `None` if all rows are watched from the beginning on and none lies in an interval.
    pub(super) spans: Option<Vec<Span>>,
    pub(super) coarse: bool,
}

impl Times {
    pub(super) fn new(family: &'static str, times: &[Time], unit: f64) -> Result<Self> {
        for (row, time) in times.iter().enumerate() {
            time.check().map_err(|needed| Error::Response { family, row, value: time.last(), needed })?;
        }
        let seen: Vec<Seen> = times.iter().map(|time| time.how()).collect();
        let coarse = seen.contains(&Seen::Within);
        let spans = (coarse || times.iter().any(|time| time.entry > 0.0))
            .then(|| times.iter().map(|time| time.span()).collect());
        Ok(Self { logs: times.iter().map(|time| (time.last() / unit).ln()).collect(), seen, spans, coarse })
    }
}

#[cfg(test)]
impl Time {
    /// Times of all kinds.
    pub(crate) fn mixed(count: usize) -> Vec<Self> {
        let kinds = [
            Self::at(1.4),
            Self::after(0.9),
            Self::between(0.4, 1.1),
            Self::before(0.6),
            Self::at(0.8).entered(0.3),
            Self::between(0.7, 0.9).entered(0.2),
            Self::after(1.2).entered(0.5),
        ];
        kinds.into_iter().cycle().take(count).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::glm::Family;
    use crate::glm::design::Design;
    use crate::glm::rows::Rows;

    const TIMES: [Time; 12] = [
        Time { entry: 0.0, from: 2.0, to: 2.0 },
        Time { entry: 0.5, from: 2.0, to: 2.0 },
        Time { entry: 1.9999, from: 2.0, to: 2.0 },
        Time { entry: 0.0, from: 3.0, to: f64::INFINITY },
        Time { entry: 1.0, from: 3.0, to: f64::INFINITY },
        Time { entry: 0.0, from: 0.0, to: 0.7 },
        Time { entry: 0.0, from: 1.5, to: 4.0 },
        Time { entry: 1.0, from: 1.5, to: 4.0 },
        Time { entry: 1.5, from: 1.5, to: 4.0 },
        Time { entry: 1.5, from: 0.5, to: 4.0 },
        Time { entry: 0.3, from: 2.0, to: 2.0001 },
        Time { entry: 0.0, from: 1.0, to: 6e7 },
    ];
    const UNIT: f64 = 1.7;

    fn rows(noise_sd: f64, which: &[usize]) -> Rows {
        let family = Family::Weibull { noise_sd, unit: UNIT, coarse: false };
        let times: Vec<Time> = which.iter().map(|&n| TIMES[n]).collect();
        let design = Design::dense(times.len(), 1, &vec![1.0; times.len()]).unwrap();
        Rows::times(family, design, &times).unwrap()
    }

    /// −log p of a time, as a textbook writes it.
    fn textbook(time: Time, s: f64, sigma: f64) -> f64 {
        let (k, from) = (1.0 / sigma, time.from.max(time.entry));
        let hazard = |t: f64| (t / UNIT).powf(k) * s.exp();
        let entry = hazard(time.entry);
        match time.how() {
            Seen::At => hazard(time.to) - entry - (k / time.to * hazard(time.to)).ln(),
            Seen::After => hazard(from) - entry,
            Seen::Within => hazard(from) - entry - (-(hazard(from) - hazard(time.to)).exp_m1()).ln(),
        }
    }

    /// −log p of row n as it is coded, and its slope in log σ as claimed.
    fn coded(rows: &Rows, s: f64) -> [f64; 2] {
        let law = rows.likelihood_of(0);
        let at = s + rows.offsets.as_ref().unwrap()[0];
        [-law.log_density(at), rows.family.noise_slope(rows.response[0], at, 0.0, rows.lever(0))]
    }

    /// Each kind alone and among intervals, where it is coded for the complementary log-log link: value, slope in s and slope in log σ.
    #[test]
    fn times_are_coded_as_a_textbook_has_them() {
        for n in 0..TIMES.len() {
            for with_interval in [false, true] {
                let which: &[usize] = if with_interval { &[n, 6] } else { &[n] };
                for (sigma, s) in [(1.0, 0.3), (0.4, -1.0), (2.3, 0.8)] {
                    let found = rows(sigma, which);
                    assert_eq!(found.family().is_coarse(), with_interval || n > 4);
                    let near = |a: f64, b: f64, room: f64| {
                        assert!((a - b).abs() < room * (1.0 + b.abs()), "{n} {sigma}: {a} {b}");
                    };
                    near(coded(&found, s)[0], textbook(TIMES[n], s, sigma), 1e-10);
                    let h = 1e-5;
                    let slope = [h, -h]
                        .map(|h: f64| textbook(TIMES[n], s, sigma * h.exp()))
                        .into_iter()
                        .reduce(|a, b| (a - b) / (2.0 * h));
                    near(coded(&found, s)[1], slope.unwrap(), 2e-6);
                    let at = s + found.offsets.as_ref().unwrap()[0];
                    let own = found.family().derivatives(at, found.response[0])[1];
                    let slope =
                        (textbook(TIMES[n], s + h, sigma) - textbook(TIMES[n], s - h, sigma)) / (2.0 * h);
                    near(own, slope, 2e-6);
                    // The same under another noise, whichever way it is asked.
                    let (law, moved) = found
                        .likelihood_of(0)
                        .with_family(found.family().with_noise_sd(1.3 * sigma).unwrap())
                        .unwrap();
                    near(-law.log_density(at + moved), textbook(TIMES[n], s, 1.3 * sigma), 1e-10);
                    let again = found.clone().with_family(found.family().with_noise_sd(1.3 * sigma).unwrap());
                    near(coded(&again.unwrap(), s)[0], textbook(TIMES[n], s, 1.3 * sigma), 1e-10);
                    let time = found.time(0).unwrap();
                    near(time.last(), TIMES[n].last(), 1e-12);
                    near(time.entry(), TIMES[n].entry(), 1e-12);
                    near(time.start(), TIMES[n].start(), 1e-12);
                    let watched = TIMES[n].last() - TIMES[n].entry();
                    near(found.plain_offsets().unwrap()[0], (watched / UNIT).ln(), 1e-10);
                }
            }
        }
    }

    /// P(new ≤ the row's time | it is after the entry), from both sides of an interval.
    #[test]
    fn what_comes_before_a_time_is_given_its_entry() {
        for (n, &time) in TIMES.iter().enumerate() {
            let (sigma, s) = (0.6, 0.2);
            let found = rows(sigma, &[n]);
            let at = s + found.offsets.as_ref().unwrap()[0];
            let hazard = |t: f64| (t / UNIT).powf(1.0 / sigma) * f64::exp(s);
            let passed = |t: f64| -(hazard(time.entry) - hazard(t)).exp_m1();
            let expected = match time.how() {
                Seen::At => [passed(time.to); 2],
                Seen::After => [passed(time.from), 1.0],
                Seen::Within => [passed(time.start()), passed(time.to)],
            };
            let law = found.likelihood_of(0).cumulative(at);
            assert!(
                law.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-10),
                "{n}: {law:?} {expected:?}"
            );
        }
    }

    /// Cells of an interval's width hold the time that is drawn, and whoever enters late has later times.
    #[test]
    fn rows_like_others_are_known_as_these_are() {
        let row = Time::between(2.0, 3.0).entered(0.7);
        for (t, from, to) in [
            (2.5, 2.0, 3.0),
            (3.0, 2.0, 3.0),
            (4.2, 4.0, 5.0),
            (8.7, 8.0, 8.9),
            (0.9, 0.7, 1.0),
            (1.5, 1.0, 2.0),
        ] {
            let found = row.like(t, 8.9);
            assert!(
                (found.start() - from).abs() < 1e-12 && (found.last() - to).abs() < 1e-12,
                "{t}: {found:?}"
            );
            assert!(found.check().is_ok() && found.entry() > 0.6);
        }
        assert_eq!(row.like(9.5, 9.0), Time::after(9.0).entered(0.7));
        assert_eq!(Time::after(4.0).like(5.0, 9.0), Time::after(4.0));
        assert_eq!(Time::after(4.0).like(3.0, 9.0), Time::at(3.0));
        assert_eq!(Time::at(4.0).like(5.0, 9.0), Time::at(5.0));
        // P(T > t | T > e) = exp(κ(e) − κ(t)): the quantiles agree.
        let (shape, entry, u) = (1.7f64, 0.8f64, 0.35f64);
        let (plain, later) = ((-u.ln()).powf(1.0 / shape), Time::at(2.0).entered(entry));
        let expected = (entry.powf(shape) - u.ln()).powf(1.0 / shape);
        assert!(
            (later.later(plain, shape) - expected).abs() < 1e-12
                && Time::at(2.0).later(1.3, shape).to_bits() == 1.3f64.to_bits()
        );
    }

    #[test]
    fn what_is_no_time_is_named() {
        let needed = |time: Time| time.check().unwrap_err();
        assert!(needed(Time::at(-1.0)).contains("above 0") && needed(Time::at(f64::NAN)).contains("above 0"));
        assert!(needed(Time::after(0.0)).contains("says nothing"));
        assert!(needed(Time::between(3.0, 2.0)).contains("not before its start"));
        assert!(needed(Time::at(2.0).entered(2.0)).contains("after the row's entry"));
        assert!(
            Time::between(2.0, 2.0) == Time::at(2.0) && Time::between(2.0, f64::INFINITY) == Time::after(2.0)
        );
        let within = rows(1.0, &[6]);
        let exact = Family::Weibull { noise_sd: 1.0, unit: UNIT, coarse: false };
        assert!(within.with_family(exact).unwrap_err().to_string().contains("intervals"));
    }
}
