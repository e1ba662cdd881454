//! The provi command.
fn main() {}
