//! Recipes make the same design again, of the same rows and of others.

use std::fs;

use provi_table::{
    BadModel, BadValue, CodedFactor, Error, Formula, FrameOptions, Missing, ModelFrame, NewLevels, Recipe,
    Table,
};
use serde_json::Value;

const CSV: &str = "y,x,z,town,clinic,e\n\
    1,1.5,2,Bern,1,1\n0,2.25,3,Basel,2,2\n1,3.125,1,Chur,1,3\n0,4.7,2,Bern,3,1\n1,5.1,9,Chur,2,2\n\
    0,6.9,4,Basel,3,5\n1,7.3,2,Bern,1,1\n0,8.8,5,Basel,2,2\n";

const FORMULAS: [&str; 8] = [
    "y ~ .",
    "y ~ poly(x, 3) * town",
    "y ~ 0 + bs(x, 5) + scale(z) + center(z):town",
    "y ~ town:z + log(x) + (1 + x | clinic)",
    "y ~ x + (town || clinic) + (1 | clinic:town)",
    "y ~ factor(clinic) + I(x^2 / z) + offset(log(z))",
    "y ~ x + (poly(x, 2) | town)",
    "y ~ 1",
];

fn table(csv: &str) -> Table {
    Table::read(csv.as_bytes(), "new.csv").unwrap()
}

fn frame(formula: &str, standardize: bool) -> ModelFrame {
    let options = FrameOptions { standardize, exposure: Some("e".to_owned()), ..FrameOptions::default() };
    ModelFrame::new(&table(CSV), &Formula::parse(formula).unwrap(), &options).unwrap()
}

#[test]
fn a_recipe_reproduces_its_frame_to_the_bit_even_through_json() {
    let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    for formula in FORMULAS {
        for standardize in [false, true] {
            let frame = frame(formula, standardize);
            let json = serde_json::to_string(frame.recipe()).unwrap();
            let recipe: Recipe = serde_json::from_str(&json).unwrap();
            assert_eq!(&recipe, frame.recipe(), "{formula}");
            let rows = recipe.rows(&table(CSV), NewLevels::Refuse).unwrap();
            assert_eq!(bits(&rows.design.population), bits(&frame.design.population), "{formula}");
            assert_eq!(rows.design, frame.design, "{formula}");
            assert_eq!(bits(&rows.offsets.unwrap()), bits(frame.offsets.as_ref().unwrap()));
        }
    }
}

#[test]
fn factors_of_another_recipe_keep_their_constants() {
    let formula = "y ~ scale(x) + center(z) + poly(x, 2) + bs(z, 3) + town";
    let first = frame(formula, false);
    let factors: Vec<CodedFactor> =
        first.recipe().population.terms.iter().flat_map(|term| term.factors.clone()).collect();
    // Other rows, in other units, among them a town of which the first ones know nothing.
    let other = "y,x,z,town,clinic,e\n1,15,20,Bern,1,1\n0,22,33,Genf,2,2\n1,31,14,Chur,1,3\n0,47,22,Bern,3,1\n1,51,9,Chur,2,2\n";
    let parsed = Formula::parse(formula).unwrap();
    let options = FrameOptions { coded: factors.clone(), ..FrameOptions::default() };
    let second = ModelFrame::new(&table(other), &parsed, &options).unwrap();
    for (a, b) in first.recipe().population.terms.iter().zip(&second.recipe().population.terms) {
        assert_eq!(a == b, a.text != "town", "{}", a.text);
    }
    let own = ModelFrame::new(&table(other), &parsed, &FrameOptions::default()).unwrap();
    assert_ne!(own.recipe().population.terms[0], first.recipe().population.terms[0]);
    let CodedFactor::Scaled { mean, sd, .. } = factors[0] else { panic!("scale(x) is scaled") };
    assert!((mean - 4.959375).abs() < 1e-12);
    assert!((second.design.population_row(0)[1] - (15.0 - mean) / sd).abs() < 1e-12);
    // Another degree is another factor.
    let cubic = Formula::parse("y ~ poly(x, 3)").unwrap();
    let cubic = ModelFrame::new(&table(other), &cubic, &options).unwrap();
    assert!(!factors.contains(&cubic.recipe().population.terms[0].factors[0]));
    // A stored factor may come from anywhere.
    let mut spoiled = factors;
    if let CodedFactor::Scaled { sd, .. } = &mut spoiled[0] {
        *sd = 0.0;
    }
    let options = FrameOptions { coded: spoiled, ..FrameOptions::default() };
    assert!(ModelFrame::new(&table(other), &parsed, &options).is_err());
}

#[test]
fn a_row_gets_the_same_design_whatever_rows_stand_beside_it() {
    for formula in FORMULAS {
        let frame = frame(formula, true);
        let lines: Vec<&str> = CSV.lines().collect();
        for row in 0..frame.rows {
            let alone = table(&format!("{}\n{}\n", lines[0], lines[row + 1]));
            let rows = frame.recipe().rows(&alone, NewLevels::Refuse).unwrap();
            assert_eq!(rows.design.population, frame.design.population_row(row), "{formula}");
        }
    }
}

#[test]
fn new_data_need_neither_response_nor_order() {
    let frame = frame("y ~ x + town", false);
    let rows = frame.recipe().rows(&table("e,town,extra,x\n1,Chur,?,2\n"), NewLevels::Refuse).unwrap();
    assert_eq!(rows.design.population, [1.0, 2.0, 0.0, 1.0]);
    assert_eq!((rows.lines.as_slice(), rows.offsets), (&[2][..], Some(vec![0.0])));
    assert_eq!(frame.recipe().columns(), ["x", "town", "e"]);
}

#[test]
fn a_new_group_is_refused_or_listed() {
    let frame = frame("y ~ x + (1 + x | clinic)", false);
    let new = table("x,clinic,e\n2,2,1\n3,7,1\n");
    assert_eq!(
        frame.recipe().rows(&new, NewLevels::Refuse).unwrap_err().to_string(),
        "column `clinic` of `new.csv` has `7` on line 3, which the fitted data did not have; \
         known are `1`, `2`, `3`; allow new groups, or leave the row out"
    );
    let rows = frame.recipe().rows(&new, NewLevels::Population).unwrap();
    assert_eq!(rows.design.groups[0].levels, [Some(1), None]);
    let new = &rows.new_levels[0];
    assert_eq!((new.row, new.group, new.level.as_str()), (1, 0, "7"));
    assert_eq!(new.values, [1.0, 3.0]);
    let compressed = rows.design.compressed();
    assert_eq!(compressed.columns[compressed.starts[1]..], [0, 1], "the population's entries alone");
}

#[test]
fn a_new_combination_of_known_values_is_a_new_group() {
    let frame = frame("y ~ 1 + (1 | clinic:town)", false);
    let rows = frame.recipe().rows(&table("clinic,town,e\n1,Basel,1\n"), NewLevels::Population).unwrap();
    assert_eq!(rows.new_levels[0].level, "1:Basel");
}

#[test]
fn an_unknown_category_is_refused_whatever_becomes_of_groups() {
    let frame = frame("y ~ town", false);
    let error = frame.recipe().rows(&table("town,e\nBern,1\nThun,1\n"), NewLevels::Population).unwrap_err();
    assert!(
        matches!(&error, Error::Model(BadModel::UnknownLevel { line: 3, level, group: false, .. }) if level == "Thun")
    );
}

#[test]
fn missing_values_in_new_data_are_refused_or_dropped() {
    let frame = frame("y ~ x", false);
    let new = table("x,e\n,1\n2,1\n");
    assert!(matches!(
        frame.recipe().rows(&new, NewLevels::Refuse),
        Err(Error::Value(BadValue::MissingValue { line: 2, .. }))
    ));
    let rows = frame.recipe().rows_with(&new, NewLevels::Refuse, Missing::Drop).unwrap();
    assert_eq!((rows.design.rows, rows.dropped.rows, rows.lines), (1, 1, vec![3]));
}

/// Whatever a stored recipe says, it is used or refused.
#[test]
fn a_recipe_that_does_not_hold_together_is_refused() {
    let sound = serde_json::to_value(frame("y ~ town + poly(x, 2) + bs(x, 4) + (1 | clinic)", true).recipe())
        .unwrap();
    let broken = |path: &str, value: Value| {
        let mut recipe = sound.clone();
        *recipe.pointer_mut(path).unwrap() = value;
        let recipe: Recipe = serde_json::from_value(recipe).unwrap();
        let result = recipe.rows(&table(CSV), NewLevels::Refuse);
        assert!(matches!(result, Err(Error::Model(BadModel::BadRecipe { .. }))), "{path}: {result:?}");
    };
    broken("/version", 2.into());
    broken("/names", Value::Array(vec![]));
    broken("/population/columns", Value::Array(vec![]));
    broken("/population/columns/3/sd", 0.into());
    broken("/population/terms/0/factors/0/levels", Value::Array(vec![]));
    broken("/population/terms/0/factors/0/reference", 9.into());
    broken("/population/terms/1/factors/0/basis/norms", Value::Array(vec![]));
    broken("/population/terms/2/factors/0/basis/range", vec![1.0, 1.0].into());
    broken("/groups/0/levels/0", Value::Array(vec![]));
    broken("/groups/0/factors", Value::Array(vec![]));
}

fn reference() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/bases.json");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    match value.as_array() {
        Some(list) => list.iter().flat_map(numbers).collect(),
        None => vec![value.as_f64().unwrap()],
    }
}

fn one_column(values: &[f64]) -> Table {
    table(&values.iter().fold("x\n".to_owned(), |csv, x| csv + &format!("{x:?}\n")))
}

fn close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-13, "{found} is not {expected}");
    }
}

/// The same bases by QR (polynomials) and by another library (splines): see tests/data/reference.py.
#[test]
fn bases_agree_with_those_of_other_programs() {
    let reference = reference();
    let x = numbers(&reference["x"]);
    let csv = x.iter().fold("y,x\n".to_owned(), |csv, x| csv + &format!("0,{x:?}\n"));
    let frame = |term: &str| {
        let formula = Formula::parse(&format!("y ~ 0 + {term}")).unwrap();
        ModelFrame::new(&table(&csv), &formula, &FrameOptions::default()).unwrap()
    };
    close(&frame("poly(x, 3)").design.population, &numbers(&reference["poly3"]));
    close(&frame("bs(x, 3)").design.population, &numbers(&reference["bs3"]));
    close(&frame("bs(x, 5)").design.population, &numbers(&reference["bs5"]));
    let beyond =
        frame("bs(x, 5)").recipe().rows(&one_column(&numbers(&reference["beyond"])), NewLevels::Refuse);
    close(&beyond.unwrap().design.population, &numbers(&reference["bs5_beyond"]));
}

#[test]
fn polynomials_are_orthonormal_and_splines_sum_to_at_most_one() {
    let csv = (0..40).fold("y,x\n".to_owned(), |csv, i| csv + &format!("0,{}\n", 1e6 + f64::from(i * i)));
    let frame = |term: &str| {
        let formula = Formula::parse(&format!("y ~ 0 + {term}")).unwrap();
        ModelFrame::new(&table(&csv), &formula, &FrameOptions::default()).unwrap()
    };
    let poly = frame("poly(x, 6)").design;
    for i in 0..6 {
        let sum: f64 = (0..40).map(|row| poly.population_row(row)[i]).sum();
        assert!(sum.abs() < 1e-12);
        for j in 0..=i {
            let product: f64 =
                (0..40).map(|row| poly.population_row(row)[i] * poly.population_row(row)[j]).sum();
            assert!((product - f64::from(u8::from(i == j))).abs() < 1e-10, "{i} {j}: {product}");
        }
    }
    let spline = frame("bs(x, 7)");
    for row in 0..40 {
        let row = spline.design.population_row(row);
        assert!(row.iter().all(|value| *value >= 0.0) && row.iter().sum::<f64>() <= 1.0 + 1e-15);
    }
    let last: f64 = spline.design.population_row(39).iter().sum();
    assert!((last - 1.0).abs() < 1e-15, "the function left out is zero at the far end");
    let CodedFactor::Spline { basis, .. } = &spline.recipe().population.terms[0].factors[0] else { panic!() };
    assert_eq!(basis.knots.len(), 4);
}
