//! The hot passes of provi.
