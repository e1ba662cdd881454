//! Integration tests, one program: each file is a module. `hostile` runs under a checker of memory, `genuine` and `reference`
//! need compiled models: these stay apart.

mod compile;
mod native;
mod probe;
mod stan;

#[path = "fixture/libraries.rs"]
mod libraries;
#[path = "fixture/w2.rs"]
mod w2;
