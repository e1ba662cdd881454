//! Rows of a table as a design of the library, and its times to an event.

use provi::Design;
use provi::target::Time;
use provi_table::DesignRows;

/// Dense, unless there are groups: then each row has few entries among many columns. The curve of a smooth has one level, which all
/// rows have.
pub fn design(rows: &DesignRows) -> provi::Result<Design> {
    if rows.groups.is_empty() {
        return Design::dense(rows.rows, rows.columns, &rows.population);
    }
    let width = rows.groups.iter().map(|group| group.columns).sum::<usize>();
    let all = rows.groups.iter().flat_map(|group| &group.levels).all(|level| *level == Some(0));
    if all && rows.population_columns + width == rows.columns {
        let mut values = Vec::with_capacity(rows.rows * rows.columns);
        for row in 0..rows.rows {
            values.extend_from_slice(rows.population_row(row));
            rows.groups.iter().for_each(|group| values.extend_from_slice(group.row(row)));
        }
        return Design::dense(rows.rows, rows.columns, &values);
    }
    let compressed = rows.compressed();
    Design::csr(rows.rows, rows.columns, compressed.starts, compressed.columns, compressed.values)
}

/// The same for rows that nobody needs afterwards: where the design is dense, their numbers are its own.
pub(super) fn owned(rows: &mut DesignRows) -> provi::Result<Design> {
    match rows.groups.is_empty() {
        true => Design::from_rows(rows.rows, rows.columns, std::mem::take(&mut rows.population)),
        false => design(rows),
    }
}

/// What is known of times to an event, in the library's words.
pub(super) fn times(spans: &[[f64; 3]]) -> Vec<Time> {
    spans.iter().map(|&[entry, from, to]| Time::between(from, to).entered(entry)).collect()
}
