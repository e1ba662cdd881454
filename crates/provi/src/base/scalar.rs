//! Numbers that are checked once, when they are constructed.

use crate::base::error::{Error, Result};

macro_rules! checked_scalar {
    ($(#[$doc:meta])* $name:ident, $needed:literal, |$x:ident| $ok:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
        pub struct $name(f64);

        impl $name {
            /// Checks `value`; `what` is its name in the error.
            pub fn new(what: &'static str, value: f64) -> Result<Self> {
                let $x = value;
                // Adding 0 turns −0 into 0, so that a division by it has the right sign.
                if $ok { Ok(Self(value + 0.0)) } else { Err(Error::OutOfRange { what, value, needed: $needed }) }
            }

            /// The number.
            pub fn get(self) -> f64 {
                self.0
            }
        }
    };
}

checked_scalar!(
    /// A finite number above zero.
    Positive, "a finite number above 0", |x| x > 0.0 && x.is_finite()
);
checked_scalar!(
    /// A finite number, zero or more.
    NonNegative, "a finite number of at least 0", |x| x >= 0.0 && x.is_finite()
);
checked_scalar!(
    /// A number strictly between 0 and 1.
    Probability, "strictly between 0 and 1", |x| x > 0.0 && x < 1.0
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doors_refuse_what_their_names_exclude() {
        for bad in [f64::NAN, f64::INFINITY, -1.0] {
            assert!(Positive::new("x", bad).is_err());
            assert!(NonNegative::new("x", bad).is_err());
            assert!(Probability::new("x", bad).is_err());
        }
        assert!(Positive::new("x", 0.0).is_err());
        assert!(NonNegative::new("x", -0.0).unwrap().get().is_sign_positive());
        assert!(Probability::new("δ", 1.0).is_err());
        assert_eq!(
            Positive::new("prior precision", -1.0).unwrap_err().to_string(),
            "prior precision = -1 is not a finite number above 0"
        );
    }
}
