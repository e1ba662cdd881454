//! Rows of a table as a design of the library, and its times to an event.

use provi::Design;
use provi::target::Time;
use provi_table::DesignRows;

/// Dense, unless there are groups: then each row has few entries among many columns.
pub fn design(rows: &DesignRows) -> provi::Result<Design> {
    if rows.groups.is_empty() {
        return Design::dense(rows.rows, rows.columns, &rows.population);
    }
    let compressed = rows.compressed();
    Design::csr(rows.rows, rows.columns, compressed.starts, compressed.columns, compressed.values)
}

/// What is known of times to an event, in the library's words.
pub(super) fn times(spans: &[[f64; 3]]) -> Vec<Time> {
    spans.iter().map(|&[entry, from, to]| Time::between(from, to).entered(entry)).collect()
}
