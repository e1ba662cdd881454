//! Smooth terms: their frames, their recipes, and what is refused.

use provi_table::{
    BadValue, Error, Formula, FrameOptions, Missing, ModelFrame, NewLevels, Recipe, Role, Table, Values,
};

fn table(by: f64) -> Table {
    let at = |i: usize| 0.2 * i as f64 + 0.05 * ((i * i) % 7) as f64 + by;
    let x = (0..40).map(at).collect();
    let y = (0..40).map(|i| (i as f64 / 5.0).sin()).collect();
    let g = (0..40).map(|i| Some(["a", "b", "c"][i % 3].to_owned())).collect();
    let few = (0..40).map(|i| (i % 5) as f64).collect();
    let columns = [
        ("y", Values::Numbers(y)),
        ("x", Values::Numbers(x)),
        ("g", Values::Text(g)),
        ("few", Values::Numbers(few)),
    ];
    Table::from_columns("t", columns.map(|(name, values)| (name.to_owned(), values)).to_vec()).unwrap()
}

fn frame(formula: &str) -> ModelFrame {
    ModelFrame::new(&table(0.0), &Formula::parse(formula).unwrap(), &FrameOptions::default()).unwrap()
}

fn refused(formula: &str) -> Error {
    ModelFrame::new(&table(0.0), &Formula::parse(formula).unwrap(), &FrameOptions::default()).unwrap_err()
}

#[test]
fn a_smooth_is_a_line_of_the_population_and_a_curve_after_the_groups() {
    let frame = frame("y ~ s(x, k = 5) + few + (1 | g)");
    assert_eq!(frame.names[..3], ["(Intercept)", "s(x)", "few"]);
    assert_eq!(frame.names[3], "(1 | g)[a]");
    assert_eq!(frame.names[6..], ["s(x)[1]", "s(x)[2]", "s(x)[3]"]);
    assert_eq!(frame.formula, "y ~ s(x, k = 5) + few + (1 | g)");
    let curve = &frame.groups[1];
    assert!(curve.is_smooth() && !frame.groups[0].is_smooth());
    assert_eq!((curve.text.as_str(), curve.first, curve.counts.as_slice()), ("s(x)", 6, &[40][..]));
    assert_eq!(frame.roles[7], Role::Group { term: 1, level: 0, column: 1 });
    assert!(frame.warnings.is_empty(), "{:?}", frame.warnings);
    // The line is centred; the curve is unit-free.
    let line: f64 = (0..40).map(|row| frame.design.population_row(row)[1]).sum();
    let size: f64 = frame.design.groups[1].values.iter().map(|z| z * z).sum::<f64>() / 40.0;
    assert!(line.abs() < 1e-12 && (size - 1.0).abs() < 1e-12, "{line}, {size}");
}

#[test]
fn a_cyclic_smooth_has_no_line() {
    let frame = frame("y ~ s(x, period = 3, k = 6)");
    assert_eq!(frame.names, ["(Intercept)", "s(x)[1]", "s(x)[2]", "s(x)[3]", "s(x)[4]"]);
    // A period later is the same time.
    let recipe = frame.recipe();
    let later = recipe.rows(&table(3.0), NewLevels::Refuse).unwrap();
    for (a, b) in later.design.groups[0].values.iter().zip(&frame.design.groups[0].values) {
        assert!((a - b).abs() < 1e-10, "{a} and {b}");
    }
}

#[test]
fn the_recipe_gives_the_design_to_the_bit_and_survives_storage() {
    for formula in ["y ~ s(x)", "y ~ s(x, k = 4) + s(few, k = 5) + (1 | g)", "y ~ s(x, period = 2.3)"] {
        let frame = frame(formula);
        let stored = serde_json::to_string(frame.recipe()).unwrap();
        let recipe: Recipe = serde_json::from_str(&stored).unwrap();
        assert_eq!(&recipe, frame.recipe(), "{formula}");
        assert_eq!(recipe.rows(&table(0.0), NewLevels::Refuse).unwrap().design, frame.design, "{formula}");
    }
}

#[test]
fn new_rows_use_the_knots_of_the_fit_and_go_on_in_straight_lines() {
    let frame = frame("y ~ s(x, k = 6)");
    let recipe = frame.recipe();
    let values = |x: &[f64]| {
        let columns = vec![("x".to_owned(), Values::Numbers(x.to_vec()))];
        let new = Table::from_columns("new", columns).unwrap();
        recipe.rows(&new, NewLevels::Refuse).unwrap().design.groups[0].values.clone()
    };
    // Rows alone and together are the same, and beyond the data each column is a straight line.
    let far = values(&[-1.0, -2.0, -3.0, 20.0, 30.0, 40.0]);
    assert_eq!(values(&[-2.0]), far[4..8]);
    for j in 0..4 {
        let bend = |i: usize| far[4 * i + j] - 2.0 * far[4 * (i + 1) + j] + far[4 * (i + 2) + j];
        assert!(bend(0).abs() < 1e-10 && bend(3).abs() < 1e-10);
    }
}

#[test]
fn constants_of_another_recipe_are_kept() {
    let first = frame("y ~ s(x, k = 5)");
    let recipe = first.recipe();
    let terms = || recipe.population.terms.iter().chain(recipe.groups.iter().flat_map(|g| &g.block.terms));
    let coded = terms().flat_map(|term| term.factors.clone()).collect();
    let options = FrameOptions { coded, ..FrameOptions::default() };
    let again = |text: &str| ModelFrame::new(&table(0.7), &Formula::parse(text).unwrap(), &options).unwrap();
    let kept = again("y ~ s(x, k = 5)");
    assert_eq!(kept.recipe().groups, recipe.groups);
    assert_eq!(kept.recipe().population, recipe.population);
    assert_ne!(again("y ~ s(x, k = 6)").recipe().groups, recipe.groups);
}

#[test]
fn standardizing_leaves_the_curve_alone() {
    let formula = Formula::parse("y ~ s(x, k = 5)").unwrap();
    let options = FrameOptions { standardize: true, ..FrameOptions::default() };
    let standard = ModelFrame::new(&table(0.0), &formula, &options).unwrap();
    let plain = frame("y ~ s(x, k = 5)");
    assert_eq!(standard.recipe().groups, plain.recipe().groups);
    assert!(standard.recipe().population.columns[1].sd > 1.5);
}

#[test]
fn a_dot_does_not_take_in_the_number_of_a_smooth() {
    assert_eq!(frame("y ~ . - g + s(x)").terms, ["few", "s(x)"]);
}

#[test]
fn what_cannot_be_smoothed_is_refused_with_the_way_out() {
    let error = refused("y ~ s(few)");
    assert_eq!(error.span(), Some(6..9));
    assert_eq!(
        error.to_string(),
        "`s(few)` needs 10 distinct values of `few`, and there are 5; write fewer knots: `k = 5`, or fewer"
    );
    let cyclic = refused("y ~ s(few, period = 2)").to_string();
    assert!(cyclic.contains("needs 9 distinct values of `few` within a period, and there are 2"), "{cyclic}");
    assert!(cyclic.contains("`few` or `factor(few)`"), "{cyclic}");
    let text = refused("y ~ s(g)");
    assert!(text.to_string().contains("column `g` of `t` holds text"), "{text}");
    assert_eq!(text.span(), Some(6..7));
    assert!(matches!(refused("y ~ s(few, k = 6)"), Error::Value(BadValue::TooFewForSmooth { .. })));
    assert!(
        refused("y ~ s(x) + s(x, k = 5)").to_string().contains("two coefficients would be called `s(x)`")
    );
}

#[test]
fn a_recipe_with_a_damaged_curve_is_refused() {
    let frame = frame("y ~ s(x, k = 5)");
    let text = serde_json::to_string(frame.recipe()).unwrap();
    for (from, to) in
        [("\"levels\":[[]]", "\"levels\":[[],[]]"), ("\"kind\":\"smooth\"", "\"kind\":\"smoth\"")]
    {
        assert!(text.contains(from), "{text}");
        let damaged = serde_json::from_str::<Recipe>(&text.replace(from, to));
        assert!(damaged.is_err() || damaged.unwrap().rows(&table(0.0), NewLevels::Refuse).is_err(), "{to}");
    }
    let mut short = frame.recipe().clone();
    if let provi_table::CodedFactor::Smooth { basis, .. } = &mut short.groups[0].block.terms[0].factors[0] {
        basis.values[0].pop();
    }
    assert!(short.rows_with(&table(0.0), NewLevels::Refuse, Missing::Error).is_err());
}
