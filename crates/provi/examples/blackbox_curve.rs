//! How the exact gap f − f* of the black-box ascent falls with the evaluations of the gradient: median and worst of
//! seven seeds, on the breast-cancer logistic regression (W2) and the hierarchical one (W4). Run from the workspace.

use provi::ascent::{Ascent, Options};
use provi::expectation::neg_elbo;
use provi::solve::Solver;
use provi::target::{Glm, Prior, Scratch, Target, hierarchical_logistic};
use provi::{Design, Matrix, Result, Seed};

/// log p and its gradient, and nothing else.
struct BlackBox<'a>(&'a Glm);

impl Target for BlackBox<'_> {
    fn dim(&self) -> usize {
        self.0.dim()
    }
    fn log_density(&self, z: &[f64], gradient: &mut [f64]) -> Result<f64> {
        self.0.log_density(z, gradient)
    }
    fn log_densities(&self, z: &[f64], p: &mut [f64], g: &mut [f64], scratch: &mut Scratch) -> Result<()> {
        self.0.log_densities(z, p, g, scratch)
    }
}

fn rows(name: &str) -> std::io::Result<Vec<Vec<f64>>> {
    let text = std::fs::read_to_string(format!("{}/tests/data/{name}.csv", env!("CARGO_MANIFEST_DIR")))?;
    Ok(text.lines().skip(1).map(|l| l.split(',').filter_map(|x| x.parse().ok()).collect()).collect())
}

fn breast_cancer() -> std::result::Result<Glm, Box<dyn std::error::Error>> {
    let rows = rows("W2")?;
    let x = rows.iter().flat_map(|r| r[..30].iter().copied().chain([1.0])).collect();
    let y: Vec<f64> = rows.iter().map(|r| r[30]).collect();
    Ok(Glm::logistic(Design::from_rows(rows.len(), 31, x)?, &y, Prior::precision(1.0)?)?)
}

fn hierarchical() -> std::result::Result<Glm, Box<dyn std::error::Error>> {
    let rows = rows("W4")?;
    let x = rows.iter().flat_map(|r| r[1..6].iter().copied()).collect();
    let groups: Vec<usize> = rows.iter().map(|r| r[0] as usize).collect();
    let y: Vec<f64> = rows.iter().map(|r| r[6]).collect();
    let unit = Matrix::scaled_identity(5, 1.0);
    Ok(hierarchical_logistic(&Design::from_rows(rows.len(), 5, x)?, &y, &groups, &unit, &unit)?)
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let looks = [
        ("W2", breast_cancer()?, vec![150, 300, 500, 1000, 2000, 4000]),
        ("W4", hierarchical()?, vec![900, 1500, 2500, 5000, 10_000]),
    ];
    for (name, model, looks) in looks {
        let optimum = Solver::default().run(&model)?.neg_elbo;
        let target = BlackBox(&model);
        let mut table = vec![Vec::new(); looks.len() + 1];
        let mut first = 0;
        for seed in 0..7 {
            let mut ascent = Ascent::new(&target, Seed(seed), Options::default())?;
            first = ascent.evaluations();
            table[0].push(neg_elbo(&model, &ascent.current())? - optimum);
            for (look, gaps) in looks.iter().zip(&mut table[1..]) {
                ascent.advance(look - ascent.evaluations())?;
                gaps.push(neg_elbo(&model, &ascent.current())? - optimum);
            }
        }
        println!("{name}: evaluations, median and worst gap of seven seeds (the first line is Laplace)");
        for (evaluations, gaps) in std::iter::once(&first).chain(&looks).zip(&mut table) {
            gaps.sort_by(f64::total_cmp);
            println!("{evaluations:>8} {:>10.5} {:>10.5}", gaps[3], gaps[6]);
        }
    }
    Ok(())
}
