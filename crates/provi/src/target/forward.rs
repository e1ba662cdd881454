//! Forwarding the methods of [`Target`](super::Target) to another target, by one macro.

/// Writes methods of [`Target`](crate::Target) that forward their call to another target, inside an `impl Target
/// for …`.
///
/// After `self =>` comes the target that answers, then what to forward: the names of methods, or `all`, or
/// `all_but_curvature`. The last leaves out `curvature`, `lower_curvature` and `standardized`, for a target that
/// has bounds of its own. Methods that the trait gains later become part of `all` and `all_but_curvature`, so a
/// wrapper written with them stays complete.
/// ```
/// use provi::target::{Closure, Target};
/// use provi::{Curvature, Quadratic};
///
/// /// A density whose owner knows that 1 ≤ V'' ≤ 3.
/// struct Bounded<T>(T);
///
/// impl<T: Target> Target for Bounded<T> {
///     provi::forward_target!(self => self.0; all_but_curvature);
///
///     fn curvature(&self) -> provi::Result<Option<Curvature>> {
///         Curvature::declared(self.dim(), Quadratic::Scalar(1.0), Some(Quadratic::Scalar(3.0))).map(Some)
///     }
/// }
///
/// let density = Closure::new(1, |z: &[f64], gradient: &mut [f64]| {
///     gradient[0] = -2.0 * z[0] - z[0].sin();
///     -z[0] * z[0] + z[0].cos()
/// })?;
/// let target = Bounded(density);
/// assert_eq!((target.dim(), target.curvature()?.unwrap().convexity()), (1, 1.0));
/// # Ok::<(), provi::Error>(())
/// ```
#[macro_export]
macro_rules! forward_target {
    ($self:ident => $inner:expr; $($methods:ident)+) => { $($crate::forward_target!(@$methods $self $inner);)+ };
    (@all $self:ident $inner:expr) => {
        $crate::forward_target!($self => $inner; all_but_curvature curvature lower_curvature standardized);
    };
    (@all_but_curvature $self:ident $inner:expr) => {
        $crate::forward_target!($self => $inner;
            dim log_density log_densities log_densities_alone batch hessian names expectations finite_sum data_size rejections local_curvature
            rounding);
    };
    (@dim $self:ident $inner:expr) => {
        fn dim(&$self) -> usize {
            ($inner).dim()
        }
    };
    (@log_density $self:ident $inner:expr) => {
        fn log_density(&$self, z: &[f64], gradient: &mut [f64]) -> $crate::Result<f64> {
            ($inner).log_density(z, gradient)
        }
    };
    (@log_densities $self:ident $inner:expr) => {
        fn log_densities(
            &$self,
            points: &[f64],
            values: &mut [f64],
            gradients: &mut [f64],
            scratch: &mut $crate::target::Scratch,
        ) -> $crate::Result<()> {
            ($inner).log_densities(points, values, gradients, scratch)
        }
    };
    (@log_densities_alone $self:ident $inner:expr) => {
        fn log_densities_alone(
            &$self,
            points: &[f64],
            values: &mut [f64],
            scratch: &mut $crate::target::Scratch,
        ) -> $crate::Result<bool> {
            ($inner).log_densities_alone(points, values, scratch)
        }
    };
    (@batch $self:ident $inner:expr) => {
        fn batch(&$self) -> usize {
            ($inner).batch()
        }
    };
    (@hessian $self:ident $inner:expr) => {
        fn hessian(&$self, z: &[f64], out: &mut $crate::Matrix) -> $crate::Result<bool> {
            ($inner).hessian(z, out)
        }
    };
    (@curvature $self:ident $inner:expr) => {
        fn curvature(&$self) -> $crate::Result<Option<$crate::Curvature>> {
            ($inner).curvature()
        }
    };
    // Only models of this crate may return true, and only wrappers of this crate may forward it.
    (@proves_its_curvature $self:ident $inner:expr) => {
        fn proves_its_curvature(&$self, word: $crate::target::own::Word) -> bool {
            ($inner).proves_its_curvature(word)
        }
    };
    // Nor may another name what this takes.
    (@model_of_its_own $self:ident $inner:expr) => {
        fn model_of_its_own(&$self, word: $crate::target::own::Word) -> Option<&dyn std::any::Any> {
            ($inner).model_of_its_own(word)
        }
    };
    (@lower_curvature $self:ident $inner:expr) => {
        fn lower_curvature(&$self) -> $crate::Result<Option<$crate::Curvature>> {
            ($inner).lower_curvature()
        }
    };
    (@names $self:ident $inner:expr) => {
        fn names(&$self) -> Vec<String> {
            ($inner).names()
        }
    };
    (@expectations $self:ident $inner:expr) => {
        fn expectations(&$self) -> Option<&dyn $crate::target::Expectations> {
            ($inner).expectations()
        }
    };
    (@finite_sum $self:ident $inner:expr) => {
        fn finite_sum(&$self) -> Option<&dyn $crate::target::FiniteSum> {
            ($inner).finite_sum()
        }
    };
    (@data_size $self:ident $inner:expr) => {
        fn data_size(&$self) -> (usize, usize) {
            ($inner).data_size()
        }
    };
    (@rejections $self:ident $inner:expr) => {
        fn rejections(&$self) -> $crate::target::Rejections {
            ($inner).rejections()
        }
    };
    (@standardized $self:ident $inner:expr) => {
        fn standardized(&$self) -> $crate::Result<Option<$crate::target::Standardized<'_>>> {
            ($inner).standardized()
        }
    };
    (@local_curvature $self:ident $inner:expr) => {
        fn local_curvature<'s>(
            &'s $self,
            q: &$crate::Gaussian<$crate::Triangular>,
        ) -> $crate::Result<Option<Box<dyn $crate::target::LocalCurvature + 's>>> {
            ($inner).local_curvature(q)
        }
    };
    (@rounding $self:ident $inner:expr) => {
        fn rounding(
            &$self,
            q: &$crate::Gaussian<$crate::Triangular>,
            radii: &[f64],
        ) -> $crate::Result<Option<Vec<$crate::target::Rounding>>> {
            ($inner).rounding(q, radii)
        }
    };
}

/// A pointer to a target is a target: it forwards everything.
macro_rules! pointers {
    ($($pointer:ty),+) => {
        $(
            impl<T: super::Target + ?Sized> super::Target for $pointer {
                forward_target!(self => **self; all proves_its_curvature model_of_its_own);
            }
        )+
    };
}

pointers!(&T, Box<T>, std::sync::Arc<T>);
