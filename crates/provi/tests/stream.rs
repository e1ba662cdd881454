//! Rows that come in blocks, and blocks that belong to several processes, give the answers of one model in memory.

mod blocks;
mod equal;
mod failure;
mod processes;
mod sparse;
