//! What can go wrong, with the numbers that say why and the way out.

/// The library's result type.
pub type Result<T> = std::result::Result<T, Error>;

/// Everything the library refuses. Variants carry values; the message says what was needed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A number outside the range its meaning allows.
    #[error("{what} = {value} is not {needed}")]
    OutOfRange {
        /// The quantity, as the caller knows it.
        what: &'static str,
        /// The value given.
        value: f64,
        /// The condition it fails.
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
    /// A position past the end.
    #[error("index {index} is out of range for {what} of length {length}")]
    Index {
        /// The object indexed.
        what: &'static str,
        /// The position asked for.
        index: usize,
        /// The object's size.
        length: usize,
    },
    /// No data where some is needed.
    #[error("{what} is empty")]
    Empty {
        /// The empty object.
        what: &'static str,
    },
    /// A NaN or an infinity inside an input array.
    #[error("{what} holds {value} at index {index}; every entry must be finite")]
    NotFinite {
        /// The array.
        what: &'static str,
        /// Where in it.
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
    /// A response the family cannot have produced.
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
    /// Bytes that are no checkpoint, or one of another run.
    #[error("the checkpoint {what}; start the run anew")]
    Checkpoint {
        /// What is wrong with it.
        what: &'static str,
    },
    /// A scale is to be chosen for a coefficient whose prior leans on others.
    #[error(
        "coefficient {coefficient} is tied to others by the prior; a scale can be chosen for independent coefficients only"
    )]
    TiedScale {
        /// Its index.
        coefficient: usize,
    },
    /// A method that cannot do with some of the terms.
    #[error("{method} cannot work on a subsample: {why}; use prox-energy or proj-entropy, or {otherwise}")]
    NotSubsampled {
        /// Its name.
        method: &'static str,
        /// What stands in the way.
        why: &'static str,
        /// Another way out.
        otherwise: &'static str,
    },
    /// More terms for a draw than there are, or none.
    #[error(
        "{terms} of {count} terms for each draw is not between 1 and all of them; the whole target needs no subsample"
    )]
    SubsampleSize {
        /// Terms asked for.
        terms: usize,
        /// Terms there are.
        count: usize,
    },
    /// A noise deviation is to be chosen where there is none.
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
    /// The gradient is not that of the log density.
    #[error(
        "the gradient disagrees with finite differences: slope {gradient:.6e} against {difference:.6e} along a random direction at ‖z‖ = {norm:.3e}; check its sign and every term"
    )]
    WrongGradient {
        /// ∇ log p · v as given.
        gradient: f64,
        /// The central difference of log p along v.
        difference: f64,
        /// Norm of the point.
        norm: f64,
    },
    /// The target reported a failure of its own.
    #[error("the target failed: {message}")]
    Target {
        /// The target's words.
        message: String,
    },
    /// A source of rows failed.
    #[error("the data could not be read: {message}")]
    Source {
        /// The source's words: which file, which part of it, and why.
        message: String,
    },
    /// A block of rows that no model can be made of, or not this one.
    #[error("block {block} of the data: {error}")]
    Block {
        /// The block, from zero, in the order of a pass.
        block: usize,
        /// What is wrong with it.
        error: Box<Error>,
    },
    /// A block of rows that was checked for another likelihood.
    #[error(
        "the rows are those of family {found}, the model's is {expected}; make them with `Rows::new` for that family"
    )]
    OtherFamily {
        /// The family of the rows.
        found: &'static str,
        /// The model's.
        expected: &'static str,
    },
    /// The data are not what they were.
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
        /// Its blocks.
        blocks: usize,
    },
    /// Another process of a distributed run failed.
    #[error("rank {rank} of {size} failed; its own message says why")]
    Rank {
        /// Which one.
        rank: usize,
        /// How many there are.
        size: usize,
    },
    /// The processes of a distributed run cannot be reached.
    #[error("the processes of this run lost each other: {message}")]
    Reduce {
        /// What the transport says.
        message: String,
    },
    /// A theorem's hypothesis is missing.
    #[error("{wanted} needs {constant}, which the target does not give; {way_out}")]
    MissingConstant {
        /// What was asked for.
        wanted: &'static str,
        /// The missing constant.
        constant: &'static str,
        /// What to do.
        way_out: &'static str,
    },
    /// A step size outside the range a theorem covers.
    #[error("step size γ = {gamma:.6e} is outside the proven range (0, {limit:.6e}] of [{key}]; {way_out}")]
    StepOutsideProof {
        /// The step asked for.
        gamma: f64,
        /// The largest step the statement covers.
        limit: f64,
        /// The ledger key of the statement.
        key: &'static str,
        /// What to do.
        way_out: &'static str,
    },
    /// An accuracy no affordable number of steps can promise.
    #[error(
        "no plan to E‖w−w*‖² ≤ {accuracy:.3e}: the bound needs about {steps:.2e} steps, more than {limit:.2e}; ask for less, or run without an a-priori promise"
    )]
    OutOfReach {
        /// The accuracy asked for.
        accuracy: f64,
        /// The steps needed.
        steps: f64,
        /// The most a plan will hold.
        limit: f64,
    },
    /// An accuracy below what quadrature and rounding leave of an exact gradient, whatever the number of steps.
    #[error(
        "no plan to E‖w−w*‖² ≤ {accuracy:.3e}: the exact gradient is known up to quadrature and rounding, which alone leave {floor:.3e}; ask for more than that, or use a method that draws"
    )]
    BelowRounding {
        /// The accuracy asked for.
        accuracy: f64,
        /// (ε/μ)², ε the error of the gradient.
        floor: f64,
    },
    /// The search for the mode ended without one.
    #[error("no mode found after {iterations} iterations ({why}): ‖∇ log p‖ = {gradient_norm:.3e}")]
    NoMode {
        /// Iterations made.
        iterations: usize,
        /// Gradient norm at the last point.
        gradient_norm: f64,
        /// The reason.
        why: &'static str,
    },
    /// No point to start from.
    #[error(
        "no point with a finite log density and gradient among {tries} tried: the start, then uniform points within ±{radius} of it in every coordinate; give a start where the model is defined"
    )]
    NoStart {
        /// Points tried.
        tries: u64,
        /// Half the width of the cube they came from.
        radius: f64,
    },
    /// A run that failed on a target which had refused points, and said why.
    #[error("{error}; the target refused {count} point(s), saying: {message}")]
    Refused {
        /// What ended the run.
        error: Box<Error>,
        /// Points refused.
        count: u64,
        /// One of the reasons, in the target's own words.
        message: String,
    },
    /// An estimator and a step that do not go together.
    #[error("this estimator and step do not go together: {why}")]
    Pairing {
        /// The reason.
        why: &'static str,
    },
    /// A word that names nothing.
    #[error("unknown {what} `{found}`; known: {known}")]
    UnknownName {
        /// What was named.
        what: &'static str,
        /// The word.
        found: String,
        /// The words that would do.
        known: &'static str,
    },
    /// A run that would not fit into memory.
    #[error(
        "{method} needs about {needed} of memory, most of it for {largest}, and {available} are to be had; the least is {least} by `{least_method}` with one draw a step: choose it, or make the model smaller"
    )]
    Memory {
        /// The way that was asked for.
        method: String,
        /// What it needs.
        needed: crate::base::bytes::Bytes,
        /// Its largest part.
        largest: &'static str,
        /// What there is.
        available: crate::base::bytes::Bytes,
        /// The way with the smallest need.
        least_method: String,
        /// That need.
        least: crate::base::bytes::Bytes,
    },
    /// Work that was stopped while there was nothing to keep of it.
    #[error("stopped during {during}, before it had a result; allow more time")]
    Stopped {
        /// What was being done.
        during: &'static str,
    },
    /// Iterates left the domain or became non-finite.
    #[error("the iterate is not finite after step {step} (γ = {gamma:.3e}); a smaller step is needed")]
    Diverged {
        /// The step, from zero.
        step: u64,
        /// Its size.
        gamma: f64,
    },
}

impl Error {
    /// Whether it says nothing about a model or a point of it: its data, or the processes that share them, are out of reach.
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
