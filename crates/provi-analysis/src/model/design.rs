//! Rows of a table as a design of the library.

use provi::Design;
use provi_table::DesignRows;

/// Dense, unless there are groups: then each row has few entries among many columns.
pub fn design(rows: &DesignRows) -> provi::Result<Design> {
    if rows.groups.is_empty() {
        return Design::dense(rows.rows, rows.columns, &rows.population);
    }
    let compressed = rows.compressed();
    Design::csr(rows.rows, rows.columns, compressed.starts, compressed.columns, compressed.values)
}
