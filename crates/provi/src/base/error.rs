//! Errors: each says what happened, with which values, and the way out.

/// The library's result type.
pub type Result<T> = std::result::Result<T, Error>;

/// All errors of the library. Variants carry values; the message says what was needed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A number outside the range its meaning allows.
    #[error("{what} = {value} is not {needed}")]
    OutOfRange {
        /// The quantity, in the caller's words.
        what: &'static str,
        /// The value given.
        value: f64,
        /// The condition that the value fails.
        needed: &'static str,
    },
    /// Two sizes that must agree do not.
    #[error("{what} has length {found}, expected {expected}")]
    Shape {
        /// The object with the wrong size.
        what: &'static str,
        /// Its size.
        found: usize,
        /// The size it must have.
        expected: usize,
    },
    /// A position past the end of an object.
    #[error("index {index} is out of range for {what} of length {length}")]
    Index {
        /// The object indexed.
        what: &'static str,
        /// The position asked for.
        index: usize,
        /// The object's size.
        length: usize,
    },
    /// Data are needed, and there are none.
    #[error("{what} is empty")]
    Empty {
        /// The empty object.
        what: &'static str,
    },
    /// A number beyond what was proved of it: an error of this library, which must not be passed over.
    #[error(
        "log q/p is {value} above its mean at a distance of {radius} from the answer; this, or its distance from its cubic there, is beyond what \
         was proved of every point: a fault of provi, and nothing that rests on it is certified; please report it"
    )]
    Envelope {
        /// What was found.
        value: f64,
        /// Where.
        radius: f64,
    },
    /// A NaN or an infinity inside an input array.
    #[error("{what} holds {value} at index {index}; every entry must be finite")]
    NotFinite {
        /// The array.
        what: &'static str,
        /// Index of the entry, from zero.
        index: usize,
        /// The offending entry.
        value: f64,
    },
    /// A NaN or an infinity inside a design.
    #[error("the design holds {value} at row {row}, column {column} (from zero); every entry must be finite")]
    DesignEntry {
        /// Row of the data, from zero.
        row: usize,
        /// Column of the design, from zero.
        column: usize,
        /// The offending entry.
        value: f64,
    },
    /// A response that the family cannot produce.
    #[error("response {value} at row {row} is not {needed} (family {family})")]
    Response {
        /// The model family.
        family: &'static str,
        /// Row of the data, from zero.
        row: usize,
        /// The value found.
        value: f64,
        /// What the family needs.
        needed: &'static str,
    },
    /// Bytes that are not a checkpoint, or the checkpoint of another run.
    #[error("the checkpoint {what}; start the run anew")]
    Checkpoint {
        /// What is wrong with it.
        what: &'static str,
    },
    /// Bytes that are not a sparse factor.
    #[error("the sparse factor {what}")]
    SparseFactor {
        /// What is wrong with it.
        what: &'static str,
    },
    /// A scale was requested for a coefficient whose prior depends on other coefficients.
    #[error(
        "coefficient {coefficient} is tied to others by the prior; a scale can be chosen for independent coefficients only"
    )]
    TiedScale {
        /// Index of the coefficient, from zero.
        coefficient: usize,
    },
    /// A method that needs all terms was asked to work on a subsample.
    #[error("{method} cannot work on a subsample: {why}; use prox-energy or proj-entropy, or {otherwise}")]
    NotSubsampled {
        /// Name of the method.
        method: &'static str,
        /// Why the method cannot use a subsample.
        why: &'static str,
        /// Another way out.
        otherwise: &'static str,
    },
    /// The number of terms for each draw is zero, or above the number of terms.
    #[error(
        "{terms} of {count} terms for each draw is not between 1 and all of them; the whole target needs no subsample"
    )]
    SubsampleSize {
        /// Terms asked for.
        terms: usize,
        /// Terms of the sum.
        count: usize,
    },
    /// Trials for a family that counts no successes.
    #[error("family {family} has no trials; use binomial or cloglog")]
    NoTrials {
        /// The model family.
        family: &'static str,
    },
    /// Events for a family whose responses are not times.
    #[error("family {family} has no times to an event; use weibull or exponential")]
    NoEvents {
        /// The model family.
        family: &'static str,
    },
    /// Gaps between cut points for a family without categories.
    #[error("family {family} has no ordered categories; use ordered")]
    NoGaps {
        /// The model family.
        family: &'static str,
    },
    /// A noise deviation was to be chosen for a family that has none.
    #[error("family {family} has no noise deviation to choose")]
    NoNoise {
        /// The model family.
        family: &'static str,
    },
    /// A matrix that must be symmetric positive definite is not.
    #[error("{what} is not symmetric positive definite (pivot {pivot} of {dim} fails)")]
    NotPositiveDefinite {
        /// The matrix.
        what: &'static str,
        /// Its size.
        dim: usize,
        /// The first row whose Cholesky pivot is not positive.
        pivot: usize,
    },
    /// An eigendecomposition that did not converge.
    #[error(
        "the eigendecomposition of {what} (size {dim}) did not converge; look for huge or non-finite entries"
    )]
    Eigen {
        /// The matrix.
        what: &'static str,
        /// Its size.
        dim: usize,
    },
    /// The target's value or gradient is not finite where the run needs it.
    #[error(
        "{quantity} is {value} at step {step}, draw {draw}, ‖z‖ = {norm:.3e}; no bound holds where the target is not finite: check the model at such a point, or start closer to the mode"
    )]
    TargetNotFinite {
        /// "log-density" or "gradient".
        quantity: &'static str,
        /// The value found.
        value: f64,
        /// The step, from zero.
        step: u64,
        /// The draw within the step.
        draw: usize,
        /// Norm of the point.
        norm: f64,
    },
    /// The gradient disagrees with finite differences of the log density.
    #[error(
        "the gradient disagrees with finite differences: slope {gradient:.6e} against {difference:.6e} along a random direction at ‖z‖ = {norm:.3e}; check its sign and every term{}",
        slightly(*.gradient, *.difference)
    )]
    WrongGradient {
        /// ∇ log p · v as given.
        gradient: f64,
        /// The central difference of log p along v.
        difference: f64,
        /// Norm of the point.
        norm: f64,
    },
    /// Neighbouring values of the log density scatter too much for its gradient to be checked.
    #[error(
        "neighbouring values of the log density scatter by {scatter:.1e} at ‖z‖ = {norm:.3e}, so that no difference can tell whether its gradient is right (slope {gradient:.3e}, differences {difference:.3e}): this is noise, such as that of a solver for differential equations, not a wrong gradient; make the solver's tolerances (rtol, atol) a hundred times tighter"
    )]
    NoisyDensity {
        /// The standard deviation of the noise.
        scatter: f64,
        /// ∇ log p · v as given.
        gradient: f64,
        /// A central difference of log p along v.
        difference: f64,
        /// Norm of the point.
        norm: f64,
    },
    /// A parameter with a domain that cannot be used as it was given.
    #[error("parameter {name}: {why}")]
    Parameter {
        /// Its name.
        name: String,
        /// What is wrong.
        why: String,
    },
    /// The target reported an error.
    #[error("the target failed: {message}")]
    Target {
        /// The target's own message.
        message: String,
    },
    /// A source of rows reported an error.
    #[error("the data could not be read: {message}")]
    Source {
        /// The source's own message: which file, which part of it, and why.
        message: String,
    },
    /// A block of rows from which this model cannot be made.
    #[error("block {block} of the data: {error}")]
    Block {
        /// Number of the block, from zero, in the order of a pass.
        block: usize,
        /// The error inside the block.
        error: Box<Error>,
    },
    /// A block of rows was checked for another likelihood than the model's.
    #[error(
        "the rows are those of family {found}, the model's is {expected}; make them with `Rows::new` for that family"
    )]
    OtherFamily {
        /// The family of the rows.
        found: &'static str,
        /// The family of the model.
        expected: &'static str,
    },
    /// The data changed between two passes.
    #[error(
        "a pass over the data found {found} rows in {found_blocks} blocks, the first one {rows} in {blocks}: leave the data as they are while a run lasts"
    )]
    DataChanged {
        /// Rows found.
        found: usize,
        /// Blocks found.
        found_blocks: usize,
        /// Rows of the first pass.
        rows: usize,
        /// Blocks of the first pass.
        blocks: usize,
    },
    /// Another process of a distributed run failed.
    #[error("rank {rank} of {size} failed; its own message says why")]
    Rank {
        /// Rank of the failed process.
        rank: usize,
        /// Number of processes.
        size: usize,
    },
    /// The processes of a distributed run cannot reach each other.
    #[error("the processes of this run lost each other: {message}")]
    Reduce {
        /// The transport's own message.
        message: String,
    },
    /// A constant is missing that a theorem needs.
    #[error("{wanted} needs {constant}, which the target does not give; {way_out}")]
    MissingConstant {
        /// What the user asked for.
        wanted: &'static str,
        /// The missing constant.
        constant: &'static str,
        /// The way out.
        way_out: &'static str,
    },
    /// A step size outside the range that a theorem covers.
    #[error("step size γ = {gamma:.6e} is outside the proven range (0, {limit:.6e}] of [{key}]; {way_out}")]
    StepOutsideProof {
        /// The step size asked for.
        gamma: f64,
        /// The largest step the statement covers.
        limit: f64,
        /// The ledger key of the statement.
        key: &'static str,
        /// The way out.
        way_out: &'static str,
    },
    /// No affordable number of steps can promise the accuracy.
    #[error(
        "no plan to E‖w−w*‖² ≤ {accuracy:.3e}: the bound needs about {steps:.2e} steps, more than {limit:.2e}; ask for less, or run without an a-priori promise"
    )]
    OutOfReach {
        /// The accuracy asked for.
        accuracy: f64,
        /// The steps needed.
        steps: f64,
        /// The largest number of steps that a plan may have.
        limit: f64,
    },
    /// The accuracy is below the error that quadrature and rounding leave in an exact gradient. More steps do not
    /// help.
    #[error(
        "no plan to E‖w−w*‖² ≤ {accuracy:.3e}: the exact gradient is known up to quadrature and rounding, which alone leave {floor:.3e}; ask for more than that, or use a method that draws"
    )]
    BelowRounding {
        /// The accuracy asked for.
        accuracy: f64,
        /// (ε/μ)², where ε bounds the error of the gradient.
        floor: f64,
    },
    /// Draws of the posterior itself that would take too many proposals.
    #[error(
        "an exact draw would take up to {proposals:.1e} proposals, and at most {most:.0e} are tried; allow a total variation from the posterior, or take draws of the fitted Gaussian"
    )]
    ExactDrawsCost {
        /// A bound of the expected proposals for one draw.
        proposals: f64,
        /// The most that are tried.
        most: f64,
    },
    /// Draws near the posterior of which too little can be proved.
    #[error(
        "no draws within {most} of the posterior in total variation: {found:.1e} is all that is proved; allow more, or take draws of the fitted Gaussian"
    )]
    NearDraws {
        /// The bound.
        found: f64,
        /// The most that was asked for.
        most: f64,
    },
    /// Draws of the posterior itself whose law rounding could move too far.
    #[error(
        "rounding may move the law of an exact draw by {distance:.1e} in total variation, more than {most:.0e}; draws of the fitted Gaussian are not affected"
    )]
    ExactDrawsRounding {
        /// What it may be moved by.
        distance: f64,
        /// The most that is allowed.
        most: f64,
    },
    /// A proposal whose density is above its proved bound.
    #[error(
        "the posterior density is above its proved bound by {excess:.1e} nats at proposal {proposal}, more than rounding explains; no draw made here is to be trusted, and this is a bug in provi: please report it"
    )]
    AboveEnvelope {
        /// log of the density over the bound.
        excess: f64,
        /// Its number.
        proposal: u64,
    },
    /// Draws of the posterior itself of a target whose curvature is not bounded on both sides.
    #[error(
        "draws of the posterior itself need a model with a linear predictor, or bounds μ > 0 and M of the curvature, proved or declared; declare both (a large M costs little), or take draws of the fitted Gaussian"
    )]
    ExactDrawsCurvature,
    /// A proposal whose density is above what the lower bound of the curvature allows.
    #[error(
        "at ‖z‖ = {norm:.3e} log p is above what the lower bound of its curvature allows by {excess:.1e} nats: the bound does not hold, and no draw made here is to be trusted; declare a smaller one"
    )]
    AboveTangent {
        /// log of the density over the bound.
        excess: f64,
        /// ‖z‖ of the proposal.
        norm: f64,
    },
    /// The search for the mode ended without a mode.
    #[error("no mode found after {iterations} iterations ({why}): ‖∇ log p‖ = {gradient_norm:.3e}")]
    NoMode {
        /// Iterations made.
        iterations: usize,
        /// Gradient norm at the last point.
        gradient_norm: f64,
        /// The reason.
        why: &'static str,
    },
    /// No starting point with a finite log density and gradient was found.
    #[error(
        "no point with a finite log density and gradient among {tries} tried: the start, then uniform points within ±{radius} of it in every coordinate; give a start where the model is defined"
    )]
    NoStart {
        /// Points tried.
        tries: u64,
        /// Half the width of the cube in which points were tried.
        radius: f64,
    },
    /// A run failed after its target had refused points and said why.
    #[error("{error}; the target refused {count} point(s), saying: {message}")]
    Refused {
        /// The error that ended the run.
        error: Box<Error>,
        /// Points refused.
        count: u64,
        /// One of the reasons, in the target's own words.
        message: String,
    },
    /// An estimator and a step that cannot be combined.
    #[error("this estimator and step do not go together: {why}")]
    Pairing {
        /// The reason.
        why: &'static str,
    },
    /// A base law of u that the estimator, the method or the question does not admit.
    #[error("the base law `{law}` does not go with this: {why}")]
    BaseLaw {
        /// The law.
        law: String,
        /// The reason, and the way out.
        why: &'static str,
    },
    /// A family of q that the model or the method does not admit.
    #[error("the family of q `{family}` does not go with this: {why}")]
    Pattern {
        /// The family.
        family: String,
        /// Why, and the way out.
        why: String,
    },
    /// An unknown name.
    #[error("unknown {what} `{found}`; known: {known}")]
    UnknownName {
        /// What the name should denote.
        what: &'static str,
        /// The unknown name.
        found: String,
        /// The known names.
        known: &'static str,
    },
    /// A run that would not fit into memory.
    #[error(
        "{method} needs about {needed} of memory, mostly for {largest}; {available} available; the least is {least} by `{least_method}` with one draw a step: choose it, or make the model smaller"
    )]
    Memory {
        /// The method that was asked for.
        method: String,
        /// The memory that it needs.
        needed: crate::base::bytes::Bytes,
        /// The largest part of that memory.
        largest: &'static str,
        /// The memory that is available.
        available: crate::base::bytes::Bytes,
        /// The method that needs the least memory.
        least_method: String,
        /// The memory that it needs.
        least: crate::base::bytes::Bytes,
    },
    /// Work was stopped before it had any result to keep.
    #[error("stopped during {during}, before it had a result; allow more time")]
    Stopped {
        /// What the work was doing.
        during: &'static str,
    },
    /// The density does not fall off along a coordinate.
    #[error(
        "the log density {how} along `{name}`: between the centre and ten standard deviations of {sd:.3e} it falls by {fall:.3e} nats, where a normal density falls by 50; is the posterior proper? give `{name}` a prior"
    )]
    Improper {
        /// "is flat", or "grows without end".
        how: &'static str,
        /// The coordinate.
        name: String,
        /// The standard deviation that the search reached there.
        sd: f64,
        /// By how much log p falls.
        fall: f64,
    },
    /// The iterate is not finite, or left the domain.
    #[error("the iterate is not finite after step {step} (γ = {gamma:.3e}); a smaller step is needed")]
    Diverged {
        /// The step, from zero.
        step: u64,
        /// Step size γ of that step.
        gamma: f64,
    },
}

impl Error {
    /// Whether the error is about the data or the processes that share them, not about the model or a point: the
    /// data cannot be read, or a process cannot be reached.
    pub(crate) fn is_of_the_data(&self) -> bool {
        matches!(
            self,
            Self::Source { .. }
                | Self::Block { .. }
                | Self::DataChanged { .. }
                | Self::Rank { .. }
                | Self::Reduce { .. }
        )
    }
}

/// A hint where a slope is only slightly off.
fn slightly(gradient: f64, difference: f64) -> &'static str {
    match (gradient - difference).abs() < 0.05 * difference.abs() {
        true => {
            ", or, as they differ by less than 5 %, whether it belongs to the computed density: the adjoint of a differential equation needs tighter tolerances of its solver"
        }
        false => "",
    }
}
