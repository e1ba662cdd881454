//! Scalars such as `b.2.1`, assembled into the arrays whose entries they are.

use provi::Matrix;

use super::Store;

/// An array of a Stan model, and the column that each entry is in, row by row.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Variable {
    name: String,
    shape: Vec<usize>,
    columns: Vec<usize>,
}

impl Variable {
    /// Every variable, in the order of its first entry. Names that do not form a full array stay alone.
    pub(super) fn all(names: &[String]) -> Vec<Self> {
        let mut out: Vec<Self> = Vec::new();
        let parsed: Vec<(&str, Vec<usize>)> = names.iter().map(|name| parse(name)).collect();
        let mut begin = 0;
        while begin < names.len() {
            let (name, _) = &parsed[begin];
            let end = begin + parsed[begin..].iter().take_while(|(other, _)| other == name).count();
            match array(name, &parsed[begin..end], begin) {
                Some(variable) => out.push(variable),
                None => out.extend((begin..end).map(|k| Self {
                    name: names[k].clone(),
                    shape: Vec::new(),
                    columns: vec![k],
                })),
            }
            begin = end;
        }
        out
    }

    pub(super) fn write(&self, store: &mut Store, chains: usize, points: &Matrix) {
        let dimensions: Vec<String> =
            (0..self.shape.len()).map(|k| format!("{}_dim_{k}", self.name)).collect();
        let mut shape = vec![("chain", chains), ("draw", points.rows() / chains)];
        shape.extend(dimensions.iter().map(String::as_str).zip(self.shape.iter().copied()));
        let entries = (0..points.rows()).flat_map(|row| self.columns.iter().map(move |&k| points[(row, k)]));
        let values: Vec<f64> = entries.collect();
        store.floats(&format!("posterior/{}", self.name), &shape, &values);
    }
}

/// Splits `b.2.1` into b and (2, 1).
fn parse(name: &str) -> (&str, Vec<usize>) {
    let (base, rest) = name.split_once('.').unwrap_or((name, ""));
    let indices: Option<Vec<usize>> =
        rest.split('.').filter(|word| !word.is_empty()).map(|word| word.parse().ok()).collect();
    match indices {
        Some(indices) if !base.contains(':') => (base, indices),
        _ => (name, Vec::new()),
    }
}

/// The array with these entries, if they are complete.
fn array(name: &str, entries: &[(&str, Vec<usize>)], begin: usize) -> Option<Variable> {
    let rank = entries[0].1.len();
    if entries.iter().any(|(_, indices)| indices.len() != rank || indices.contains(&0)) {
        return None;
    }
    let shape: Vec<usize> =
        (0..rank).map(|k| entries.iter().map(|(_, indices)| indices[k]).max().unwrap_or(1)).collect();
    if shape.iter().product::<usize>() != entries.len() {
        return None;
    }
    let mut columns = vec![None; entries.len()];
    for (k, (_, indices)) in entries.iter().enumerate() {
        let at = indices.iter().zip(&shape).fold(0, |at, (i, length)| at * length + i - 1);
        columns[at] = Some(begin + k);
    }
    let columns = columns.into_iter().collect::<Option<Vec<usize>>>()?;
    Some(Variable { name: name.to_owned(), shape, columns })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(names: &str) -> Vec<(String, Vec<usize>, Vec<usize>)> {
        let names: Vec<String> = names.split(',').map(str::to_owned).collect();
        Variable::all(&names).into_iter().map(|v| (v.name, v.shape, v.columns)).collect()
    }

    #[test]
    fn entries_in_stans_order_become_arrays_row_by_row() {
        let found = all("mu,b.1.1,b.2.1,b.1.2,b.2.2,b.1.3,b.2.3,theta.1");
        assert_eq!(found[0], ("mu".into(), vec![], vec![0]));
        assert_eq!(found[1], ("b".into(), vec![2, 3], vec![1, 3, 5, 2, 4, 6]));
        assert_eq!(found[2], ("theta".into(), vec![1], vec![7]));
    }

    #[test]
    fn entries_that_make_no_array_stand_alone() {
        let names = |text| all(text).into_iter().map(|(name, ..)| name).collect::<Vec<_>>();
        assert_eq!(names("a.1,a.3"), ["a.1", "a.3"]);
        assert_eq!(names("a.1,a.1"), ["a.1", "a.1"]);
        assert_eq!(names("t:1.1,t:2"), ["t:1.1", "t:2"]);
    }
}
