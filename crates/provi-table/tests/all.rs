//! Integration tests, one program: each file is a module. `scan_memory` counts what its process allocates, and stays apart.

mod frames;
mod laws;
mod nasty;
mod parquet;
mod recipes;
mod scan;
mod shards;
mod smooths;
mod words;

#[path = "support/parquet_writer.rs"]
mod parquet_writer;
