//! A prior as text, on the user's scale.

use provi::target::Prior;

use crate::number::plain;

/// Coefficients that share a prior are listed by name up to this many.
const NAMED: usize = 8;

/// The priors of the first `dim` coefficients; the intercept at the means of the columns comes first.
pub(crate) fn describe(prior: &Prior, names: &[String], dim: usize) -> Vec<String> {
    if let Some(centered) = prior.as_centered()
        && let Some(anchor) = centered.intercept.filter(|anchor| *anchor < names.len())
    {
        let (mean, sd) = centered.laws[anchor];
        // The mean of a centred column is zero but for rounding.
        let counts = |(j, (c, _)): &(usize, (&f64, &String))| c.abs() * centered.laws[*j].1 > 1e-12 * sd;
        let at = centered.at.iter().zip(names).enumerate().filter(|one| one.0 == anchor || counts(one));
        let (own, others): (Vec<_>, Vec<_>) = at.partition(|(j, _)| *j == anchor);
        let point: String = own.into_iter().chain(others).map(|(_, (c, name))| term(*c, name)).collect();
        let point = point.strip_prefix(" + ").unwrap_or(&point);
        let first = format!("{} on {point}, the intercept at the means of the columns", normal(mean, sd));
        let slopes: Vec<(String, &String)> = (0..names.len())
            .filter(|j| *j != anchor)
            .map(|j| (normal(centered.laws[j].0, centered.laws[j].1), &names[j]))
            .collect();
        return std::iter::once(first).chain(grouped(&slopes, false)).collect();
    }
    // A prior whose marginals cannot be computed has been refused before.
    let marginals = prior.marginals(dim).unwrap_or_default();
    let laws: Vec<(String, &String)> =
        marginals.iter().zip(names).map(|(&(mean, sd), name)| (normal(mean, sd), name)).collect();
    let mut lines = grouped(&laws, names.len() == dim);
    if prior.is_correlated() {
        lines.push("with correlations between them".to_owned());
    }
    lines
}

/// "normal(0, 2.5)".
fn normal(mean: f64, sd: f64) -> String {
    format!("normal({}, {})", plain(mean), plain(sd))
}

/// " + 4.5*Days", " − 2*x", " + (Intercept)".
fn term(weight: f64, name: &str) -> String {
    let sign = if weight < 0.0 { "-" } else { "+" };
    match plain(weight.abs()).as_str() {
        "1" => format!(" {sign} {name}"),
        size => format!(" {sign} {size}*{name}"),
    }
}

/// The names under each prior, in the order of first names. The largest set becomes "the others" if it is long.
fn grouped(laws: &[(String, &String)], whole: bool) -> Vec<String> {
    let mut sets: Vec<(&String, Vec<&String>)> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for (law, name) in laws {
        let place = *places.entry(law).or_insert_with(|| {
            sets.push((law, Vec::new()));
            sets.len() - 1
        });
        sets[place].1.push(name);
    }
    if let ([(law, names)], true) = (&sets[..], whole)
        && names.len() > 1
    {
        return vec![format!("{law} on every coefficient")];
    }
    let largest = sets.iter().map(|(_, names)| names.len()).max().filter(|most| *most > NAMED);
    let others = largest.and_then(|most| sets.iter().position(|(_, names)| names.len() == most));
    let text = |(place, (law, names)): (usize, &(&String, Vec<&String>))| match others == Some(place) {
        true => format!("{law} on the {} others", names.len()),
        false => format!("{law} on {}", names.iter().map(|n| n.as_str()).collect::<Vec<_>>().join(", ")),
    };
    let mut parts: Vec<String> =
        sets.iter().enumerate().filter(|(i, _)| others != Some(*i)).map(text).collect();
    parts.extend(others.map(|place| text((place, &sets[place]))));
    if parts.is_empty() { Vec::new() } else { vec![parts.join("; ")] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|j| if j == 0 { "(Intercept)".to_owned() } else { format!("x{j}") }).collect()
    }

    #[test]
    fn every_law_is_said() {
        let prior =
            Prior::centered(&[(298.5, 140.0), (0.0, 48.93), (0.0, 2.0)], 0, &[1.0, 4.5, -2.0]).unwrap();
        assert_eq!(
            describe(&prior, &names(3), 3),
            [
                "normal(298.5, 140) on (Intercept) + 4.5*x1 - 2*x2, the intercept at the means of the columns",
                "normal(0, 48.93) on x1; normal(0, 2) on x2"
            ]
        );
        let same = Prior::scale(2.5).unwrap();
        assert_eq!(describe(&same, &names(3), 3), ["normal(0, 2.5) on every coefficient"]);
        assert_eq!(describe(&same, &names(2), 3), ["normal(0, 2.5) on (Intercept), x1"]);
    }

    #[test]
    fn many_of_one_law_are_the_others() {
        let mut sds = vec![2.5; 20];
        sds[3] = 1.0;
        let prior = Prior::scales(&sds).unwrap();
        assert_eq!(describe(&prior, &names(20), 20), ["normal(0, 1) on x3; normal(0, 2.5) on the 19 others"]);
    }

    #[test]
    fn correlations_are_mentioned() {
        let matrix = provi::Matrix::new(2, 2, vec![2.0, 1.0, 1.0, 2.0]).unwrap();
        let lines = describe(&Prior::covariance(matrix).unwrap(), &names(2), 2);
        assert_eq!(lines, ["normal(0, 1.4142) on every coefficient", "with correlations between them"]);
    }
}
