//! Options in layers: what is said here, and otherwise what is said below, as on a command line over a run file.

/// What may be left unsaid: a value, a list, a flag, or a group of these.
pub trait Layer: Sized {
    /// True if nothing is said.
    fn is_unset(&self) -> bool;

    /// What is said here, and otherwise what is said below.
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

/// A list is said whole.
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

/// A group of options: a struct whose every field is a [`Layer`]. Its fields are keys of files, in kebab case, left out
/// where they are unset; unknown keys are refused. A `below` rule says what of the lower layer is left under this one,
/// where options of the group speak for each other.
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
