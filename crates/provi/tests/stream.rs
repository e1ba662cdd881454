//! Rows that come in blocks, and blocks that belong to several processes, give the answers of one model in memory.

#[path = "stream/blocks.rs"]
mod blocks;
#[path = "stream/equal.rs"]
mod equal;
#[path = "stream/failure.rs"]
mod failure;
#[path = "stream/processes.rs"]
mod processes;
