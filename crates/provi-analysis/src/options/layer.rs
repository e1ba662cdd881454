//! Options in layers: values of the upper layer (such as a command line) override those of the lower (such as a run
//! file).

/// An option that may be unset: a value, a list, a flag, or a group of these.
pub trait Layer: Sized {
    /// True if no option is set.
    fn is_unset(&self) -> bool;

    /// The value of this layer if it is set, otherwise that of `below`.
    fn over(self, below: Self) -> Self;
}

impl<T> Layer for Option<T> {
    fn is_unset(&self) -> bool {
        self.is_none()
    }

    fn over(self, below: Self) -> Self {
        self.or(below)
    }
}

/// A list overrides the lower layer's as a whole.
impl<T> Layer for Vec<T> {
    fn is_unset(&self) -> bool {
        self.is_empty()
    }

    fn over(self, below: Self) -> Self {
        if self.is_empty() { below } else { self }
    }
}

impl Layer for bool {
    fn is_unset(&self) -> bool {
        !self
    }

    fn over(self, below: Self) -> Self {
        self || below
    }
}

/// A group of options: a struct whose every field is a [`Layer`]. In files its fields are keys in kebab case; unset
/// ones are left out, and unknown keys are refused. A `below` rule says what of the lower layer remains under this
/// one, if options of the group depend on each other.
macro_rules! options {
    (
        $(#[$outer:meta])*
        pub struct $name:ident { $($(#[$inner:meta])* pub $field:ident: $kind:ty,)+ }
        $(below $rule:path)?
    ) => {
        $(#[$outer])*
        #[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "clap", derive(clap::Args))]
        #[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
        pub struct $name {
            $($(#[$inner])* #[serde(skip_serializing_if = "crate::options::Layer::is_unset")] pub $field: $kind,)+
        }

        impl crate::options::Layer for $name {
            fn is_unset(&self) -> bool {
                $(crate::options::Layer::is_unset(&self.$field))&&+
            }

            fn over(self, below: Self) -> Self {
                $(let below = $rule(&self, below);)?
                Self { $($field: crate::options::Layer::over(self.$field, below.$field),)+ }
            }
        }
    };
}
pub(crate) use options;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_above_hides_what_is_said_below() {
        assert_eq!(Some(1).over(Some(2)), Some(1));
        assert_eq!(None.over(Some(2)), Some(2));
        assert_eq!(vec![1].over(vec![2, 3]), [1]);
        assert_eq!(Vec::new().over(vec![2, 3]), [2, 3]);
        assert!(false.over(true) && true.over(false) && !false.over(false));
        assert!(None::<u8>.is_unset() && Vec::<u8>::new().is_unset() && false.is_unset());
        assert!(!Some(0).is_unset() && !vec![0].is_unset() && !true.is_unset());
    }
}
