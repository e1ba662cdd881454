//! Integration tests, one program: each file is a module.

mod compiler;
mod header;
mod program;
