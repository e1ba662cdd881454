//! What the answer owes to the prior: the same model with every prior half and twice as wide.

use provi::Gaussian;
use provi::solve::{Solution, Solver};

use crate::failure::Result;
use crate::model::{Data, Model};
use crate::output::columns::{Columns, Side};
use crate::output::fit_file::FitFile;
use crate::output::number::decimals;
use crate::output::style;
use crate::output::wrap::wrapped;
use crate::stored;

/// A coefficient that moves by more of its sd than this leans on the prior.
const VISIBLE: f64 = 0.5;

/// A table: each coefficient's mean under narrower, given and wider priors, conditional on the same scales.
pub(crate) fn describe(
    data: &Data,
    formula: &str,
    model: &Model,
    file: &FitFile,
    q: &Gaussian,
) -> Result<String> {
    let solve = |factor: f64| -> Result<Solution> {
        let options = model.options.with_wider_priors(factor);
        let wider = match &model.prior_gaussian {
            None => stored::rebuild(file, data, formula, &options)?,
            Some(prior) => {
                let packed: Vec<f64> = prior.factor().iter().map(|c| factor * c).collect();
                Model::build(data, formula, &model.options, Some(&Gaussian::new(prior.mean(), &packed)?))?
            }
        };
        Ok(Solver::default().run(&wider.target)?)
    };
    let (narrow, wide) = (solve(0.5)?, solve(2.0)?);
    let heading = [
        ("prior sensitivity", Side::Left),
        ("sd × ½", Side::Right),
        ("as given", Side::Right),
        ("sd × 2", Side::Right),
        ("moves by", Side::Right),
        ("", Side::Left),
    ];
    let mut columns = Columns::new(&heading);
    columns.bold_heading(style::bold());
    let sd = q.standard_deviations();
    let places = sd.iter().take(model.population).copied().reduce(f64::min).map_or(3, decimals);
    let mut leaning = 0;
    for i in 0..model.population {
        let means = [narrow.gaussian.mean()[i], q.mean()[i], wide.gaussian.mean()[i]];
        let moves = means.iter().map(|m| (m - means[1]).abs()).fold(0.0, f64::max) / sd[i];
        leaning += usize::from(moves > VISIBLE);
        let [narrow, given, wide] = means.map(|m| format!("{m:.places$}"));
        let mark = if moves > VISIBLE { "leans on the prior" } else { "" };
        columns.push(vec![
            file.names[i].clone(),
            narrow,
            given,
            wide,
            format!("{moves:.2} sd"),
            mark.to_owned(),
        ]);
    }
    let elbo = |neg: f64| format!("{:.3}", -neg);
    columns.push(vec![
        "ELBO, nats".to_owned(),
        elbo(narrow.neg_elbo),
        elbo(file.neg_elbo),
        elbo(wide.neg_elbo),
        String::new(),
        String::new(),
    ]);
    let verdict = match leaning {
        0 => format!("no coefficient moves by more than {VISIBLE} of its sd"),
        1 => format!("1 coefficient moves by more than {VISIBLE} of its sd: say why its prior is what it is"),
        n => format!(
            "{n} coefficients move by more than {VISIBLE} of their sd: say why their priors are what they are"
        ),
    };
    Ok(format!("{}{}", columns.render(), wrapped("", 0, &verdict)))
}
