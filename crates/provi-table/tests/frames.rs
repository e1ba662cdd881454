//! Exact designs, by hand and by R's rules.

use provi_table::{
    BadFormula, BadModel, Error, Formula, FrameOptions, INTERCEPT, Missing, ModelFrame, Result, Role, Table,
    UnfitColumn, Warning,
};

fn frame_with(csv: &str, formula: &str, options: &FrameOptions) -> Result<ModelFrame> {
    ModelFrame::new(&Table::read(csv.as_bytes(), "t.csv")?, &Formula::parse(formula)?, options)
}

fn frame(csv: &str, formula: &str) -> Result<ModelFrame> {
    frame_with(csv, formula, &FrameOptions::default())
}

const FOUR: &str = "a,y,b,c\n1,0,2,3\n4,1,5,6\n";

/// Two categories, `f` of three levels and `g` of two, in every combination, and a number.
const CROSSED: &str = "y,f,g,x\n1,p,u,1\n0,q,u,2\n1,r,u,3\n0,p,v,4\n1,q,v,5\n0,r,v,6\n";

fn names(formula: &str) -> Vec<String> {
    frame(CROSSED, formula).unwrap().names
}

fn column(frame: &ModelFrame, name: &str) -> Vec<f64> {
    let place = frame.names.iter().position(|other| other == name).unwrap();
    (0..frame.rows).map(|row| frame.design.population_row(row)[place]).collect()
}

#[test]
fn the_design_is_row_major_and_the_intercept_first() {
    let f = frame(FOUR, "y ~ c + a").unwrap();
    assert_eq!(f.names, [INTERCEPT, "c", "a"]);
    assert_eq!(f.design.population, [1.0, 3.0, 1.0, 1.0, 6.0, 4.0]);
    assert_eq!((f.rows, f.design.columns, f.intercept), (2, 3, true));
    assert_eq!((f.response.as_slice(), f.response_name.as_str()), (&[0.0, 1.0][..], "y"));
    assert_eq!(f.roles, [Role::Intercept, Role::Population { term: 0 }, Role::Population { term: 1 }]);
}

#[test]
fn a_dot_is_all_other_columns_in_file_order() {
    assert_eq!(frame(FOUR, "y ~ .").unwrap().names, [INTERCEPT, "a", "b", "c"]);
    assert_eq!(frame(FOUR, "y ~ 0 + c + .").unwrap().names, ["c", "a", "b"]);
    assert_eq!(frame(FOUR, "y ~ . + b").unwrap().formula, "y ~ a + c + b");
    assert_eq!(frame(FOUR, "c ~ 0 + . - y").unwrap().formula, "c ~ 0 + a + b");
    assert_eq!(frame(FOUR, "y ~ . + (1 | b)").unwrap().formula, "y ~ a + c + (1 | b)");
    assert_eq!(frame(FOUR, "y ~ . + offset(b)").unwrap().formula, "y ~ a + c + offset(b)");
    let options = FrameOptions { weights: Some("b".to_owned()), ..FrameOptions::default() };
    assert_eq!(frame_with(FOUR, "y ~ .", &options).unwrap().formula, "y ~ a + c");
    assert!(matches!(frame("y\n1\n", "y ~ ."), Err(Error::Formula(BadFormula::NothingUnderDot { .. }))));
}

#[test]
fn an_intercept_alone_is_a_column_of_ones() {
    let f = frame(FOUR, "y ~ 1").unwrap();
    assert_eq!((f.design.population.as_slice(), f.formula.as_str()), (&[1.0, 1.0][..], "y ~ 1"));
}

#[test]
fn a_row_knows_its_line() {
    let f = frame("y,x,\"a\nb\"\n1,2,\"u\nv\"\n0,3,w\n", "y ~ x").unwrap();
    assert_eq!((f.line_of_row(0), f.line_of_row(1), f.line_of_row(2)), (Some(3), Some(5), None));
}

#[test]
fn categories_are_coded_against_their_first_level() {
    let f = frame(CROSSED, "y ~ f").unwrap();
    assert_eq!(f.names, [INTERCEPT, "f[q]", "f[r]"]);
    let rows = [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 0.0, 1.0]];
    assert_eq!(f.design.population, [rows, rows].concat().concat());
    let options = FrameOptions { references: vec![("f".into(), "q".into())], ..FrameOptions::default() };
    assert_eq!(frame_with(CROSSED, "y ~ f", &options).unwrap().names, [INTERCEPT, "f[p]", "f[r]"]);
}

/// The column names are those of R's model.matrix for the same formulas, in our spelling.
#[test]
fn the_coding_of_categories_follows_r() {
    assert_eq!(names("y ~ 0 + f + g"), ["f[p]", "f[q]", "f[r]", "g[v]"]);
    assert_eq!(names("y ~ 0 + x + g"), ["x", "g[u]", "g[v]"]);
    assert_eq!(
        names("y ~ f * g"),
        [INTERCEPT, "f[q]", "f[r]", "g[v]", "f[q]:g[v]", "f[r]:g[v]"],
        "all margins are there"
    );
    assert_eq!(
        names("y ~ f:g"),
        [INTERCEPT, "f[p]:g[u]", "f[q]:g[u]", "f[r]:g[u]", "f[p]:g[v]", "f[q]:g[v]", "f[r]:g[v]"],
        "no margin is there"
    );
    assert_eq!(
        names("y ~ f + f:g"),
        [INTERCEPT, "f[q]", "f[r]", "f[p]:g[v]", "f[q]:g[v]", "f[r]:g[v]"],
        "the margin of g is there, that of f is not"
    );
    assert_eq!(names("y ~ x * g"), [INTERCEPT, "x", "g[v]", "x:g[v]"]);
    assert_eq!(names("y ~ g + x:g"), [INTERCEPT, "g[v]", "x:g[u]", "x:g[v]"]);
    assert_eq!(names("y ~ 0 + f:x"), ["f[p]:x", "f[q]:x", "f[r]:x"]);
}

#[test]
fn an_interaction_is_the_product_of_its_columns() {
    let f = frame(CROSSED, "y ~ f * x").unwrap();
    assert_eq!(column(&f, "f[q]:x"), [0.0, 2.0, 0.0, 0.0, 5.0, 0.0]);
    assert_eq!(column(&f, "f[r]:x"), [0.0, 0.0, 3.0, 0.0, 0.0, 6.0]);
}

#[test]
fn arithmetic_and_scales_are_what_they_say() {
    let f = frame(CROSSED, "y ~ I(x^2 - 1) + log(x) + center(x) + scale(x)").unwrap();
    assert_eq!(f.names[1..], ["I(x^2 - 1)", "log(x)", "center(x)", "scale(x)"]);
    assert_eq!(column(&f, "I(x^2 - 1)"), [0.0, 3.0, 8.0, 15.0, 24.0, 35.0]);
    assert_eq!(column(&f, "log(x)")[..2], [0.0, 2f64.ln()]);
    assert_eq!(column(&f, "center(x)"), [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5]);
    // sd = √(17.5/5)
    let expected = [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5].map(|x: f64| x / 3.5f64.sqrt());
    for (found, expected) in column(&f, "scale(x)").into_iter().zip(expected) {
        assert!((found - expected).abs() < 1e-15);
    }
}

#[test]
fn numbers_become_categories_in_their_own_order() {
    let f = frame("y,k\n1,10\n0,9\n1,-1\n0,9\n", "y ~ factor(k)").unwrap();
    assert_eq!(f.names, [INTERCEPT, "k[9]", "k[10]"]);
    assert_eq!(frame("y,k\n1,true\n0,false\n", "y ~ factor(k)").unwrap().names, [INTERCEPT, "k[true]"]);
    assert_eq!(frame("y,k\n1,true\n0,false\n", "y ~ k").unwrap().design.population, [1.0, 1.0, 1.0, 0.0]);
    let dates = "y,d\n1,2024-01-31\n0,2024-02-01\n";
    assert_eq!(frame(dates, "y ~ factor(d)").unwrap().names, [INTERCEPT, "d[2024-02-01]"]);
}

#[test]
fn group_terms_have_a_block_each_and_a_row_its_own_level() {
    let f = frame(CROSSED, "y ~ x + (1 | f) + (0 + x | g)").unwrap();
    assert_eq!(
        f.names,
        [INTERCEPT, "x", "(1 | f)[p]", "(1 | f)[q]", "(1 | f)[r]", "(x | g)[u]", "(x | g)[v]"]
    );
    assert_eq!(f.roles[4], Role::Group { term: 0, level: 2, column: 0 });
    let rows = f.design.compressed();
    let row = |i: usize| -> Vec<(usize, f64)> {
        (rows.starts[i]..rows.starts[i + 1]).map(|e| (rows.columns[e], rows.values[e])).collect()
    };
    assert_eq!(row(0), [(0, 1.0), (1, 1.0), (2, 1.0), (5, 1.0)]);
    assert_eq!(row(5), [(0, 1.0), (1, 6.0), (4, 1.0), (6, 6.0)]);
    assert_eq!((f.groups[0].first, f.groups[1].first, f.design.columns), (2, 5, 7));
    assert_eq!((f.groups[0].counts.as_slice(), f.groups[1].text.as_str()), (&[2, 2, 2][..], "(0 + x | g)"));
}

#[test]
fn the_columns_of_a_level_stand_together() {
    let f = frame(CROSSED, "y ~ x + (x || g)").unwrap();
    assert_eq!(f.names[2..], ["(1 | g)[u]", "(x | g)[u]", "(1 | g)[v]", "(x | g)[v]"]);
    assert_eq!(f.groups[0].columns, [INTERCEPT, "x"]);
    assert!(!f.groups[0].correlated);
    assert_eq!(f.roles[5], Role::Group { term: 0, level: 1, column: 1 });
    assert_eq!(f.design.predictor(&[1.0, 0.0, 10.0, 100.0, 1000.0, 10000.0])[..2], [111.0, 211.0]);
}

#[test]
fn nested_groups_have_the_levels_that_occur() {
    let csv = "y,a,b\n1,2,u\n0,2,v\n1,10,u\n0,10,u\n";
    let f = frame(csv, "y ~ 1 + (1 | a/b)").unwrap();
    assert_eq!(f.groups[0].levels, ["2", "10"], "numbers in their order");
    assert_eq!(f.groups[1].levels, ["2:u", "2:v", "10:u"]);
    assert_eq!(f.names[3], "(1 | a:b)[2:u]");
}

#[test]
fn a_category_varies_by_group_under_the_same_rules() {
    let f = frame(CROSSED, "y ~ 1 + (f | g)").unwrap();
    assert_eq!(f.groups[0].columns, [INTERCEPT, "f[q]", "f[r]"]);
    let f = frame(CROSSED, "y ~ 1 + (0 + f | g)").unwrap();
    assert_eq!(f.groups[0].columns, ["f[p]", "f[q]", "f[r]"]);
    let twice = frame(CROSSED, "y ~ 1 + (1 | g) + (1 + x | g)").unwrap_err();
    assert!(matches!(twice, Error::Model(BadModel::RepeatedName { name }) if name == "(1 | g)[u]"));
}

#[test]
fn binomial_responses_have_trials() {
    let csv = "s,f,n,x\n2,1,3,1\n0,4,4,2\n";
    let f = frame(csv, "cbind(s, f) ~ x").unwrap();
    assert_eq!((f.response.as_slice(), f.trials.as_deref()), (&[2.0, 0.0][..], Some(&[3.0, 4.0][..])));
    let g = frame(csv, "s | trials(n) ~ x").unwrap();
    assert_eq!((&g.response, &g.trials), (&f.response, &f.trials));
    assert_eq!(frame(csv, "s | trials(5) ~ x").unwrap().trials, Some(vec![5.0, 5.0]));
    assert_eq!(
        frame(csv, "n | trials(s) ~ x").unwrap_err().to_string(),
        "successes column `n` of `t.csv` is 3 on line 2; it must be at most the number of trials"
    );
}

#[test]
fn times_to_an_event_have_events() {
    let csv = "t,e,x\n2.5,1,3\n4,0,4\n";
    let f = frame(csv, "surv(t, e) ~ x").unwrap();
    let spans = [[0.0, 2.5, 2.5], [0.0, 4.0, f64::INFINITY]];
    assert_eq!((f.response.as_slice(), f.spans.as_deref()), (&[2.5, 4.0][..], Some(&spans[..])));
    assert!(f.trials.is_none() && f.response_name == "surv(t, e)");
    assert_eq!(frame(csv, "surv(t, e) ~ .").unwrap().names, ["(Intercept)", "x"]);
    let refusal = |csv: &str, formula: &str| frame(csv, formula).unwrap_err().to_string();
    let found = refusal("t,e\n2,1\n-1,0\n", "surv(t, e) ~ 1");
    assert!(
        found.contains("time column `t` of `t.csv` is -1 on line 3; it must be a time above 0"),
        "{found}"
    );
    let found = refusal("t,e\n2,1\n0,0\n", "surv(t, e) ~ 1");
    assert!(found.contains("is 0 on line 3") && found.contains("start the clock earlier"), "{found}");
    let found = refusal("t,e\n2,1\n3,2\n", "surv(t, e) ~ 1");
    assert!(found.contains("event column `e` of `t.csv` is 2 on line 3; it must be 1 where"), "{found}");
    let parse = |formula: &str| Formula::parse(formula).unwrap_err().to_string();
    assert!(parse("surv(t) ~ x").contains("the column of events"), "{}", parse("surv(t) ~ x"));
    let found = parse("surv(a, b, e, f) ~ x");
    assert!(found.contains("at most three columns"), "{found}");
}

#[test]
fn entries_and_intervals_are_read_with_their_open_ends() {
    let inf = f64::INFINITY;
    let csv = "s,t,e,x\n0,2.5,1,3\n1,4,0,4\n";
    let f = frame(csv, "surv(s, t, e) ~ .").unwrap();
    assert_eq!(f.spans, Some(vec![[0.0, 2.5, 2.5], [1.0, 4.0, inf]]));
    assert_eq!((f.names, f.response), (vec!["(Intercept)".to_owned(), "x".to_owned()], vec![2.5, 4.0]));
    // Left, right by a gap and by infinity, between, at; nothing known.
    let csv = "a,b,x\n,2,1\n3,,2\n4,inf,3\n1,2,4\n5,5,5\n,,6\n0,7,8\n";
    let drop = FrameOptions { missing: Missing::Drop, ..FrameOptions::default() };
    let table = Table::read(csv.as_bytes(), "t.csv").unwrap();
    let f = ModelFrame::new(&table, &Formula::parse("interval(a, b) ~ x").unwrap(), &drop).unwrap();
    let spans =
        [[0.0, 2.0], [3.0, inf], [4.0, inf], [1.0, 2.0], [5.0, 5.0], [0.0, 7.0]].map(|[a, b]| [0.0, a, b]);
    assert_eq!(f.spans.as_deref(), Some(&spans[..]));
    assert_eq!((f.response, f.dropped.rows), (vec![2.0, 3.0, 4.0, 2.0, 5.0, 7.0], 1));
    assert_eq!(f.response_name, "interval(a, b)");
    let f = frame("s,a,b\n0.5,1,2\n", "interval(s, a, b) ~ 1").unwrap();
    assert_eq!(f.spans, Some(vec![[0.5, 1.0, 2.0]]));
    let refused = |csv: &str, formula: &str, words: &[&str]| {
        let found = frame(csv, formula).unwrap_err().to_string();
        assert!(words.iter().all(|word| found.contains(word)), "{found}");
    };
    refused(
        "a,b\n1,2\n3,2\n",
        "interval(a, b) ~ 1",
        &["upper end column `b`", "line 3", "not before the lower end"],
    );
    refused("a,b\n1,2\n0,\n", "interval(a, b) ~ 1", &["lower end column `a`", "line 3", "no upper end"]);
    refused("a,b\n-1,2\n", "interval(a, b) ~ 1", &["lower end column `a`", "is -1"]);
    refused("s,t,e\n2,2,1\n", "surv(s, t, e) ~ 1", &["time column `t`", "after the row's entry"]);
    refused("s,t,e\n-2,2,1\n", "surv(s, t, e) ~ 1", &["entry column `s`", "from 0 up"]);
    let parse = Formula::parse("interval(a) ~ x").unwrap_err().to_string();
    assert!(parse.contains("where the intervals end"), "{parse}");
}

#[test]
fn an_ordered_response_is_numbered_from_its_lowest_level() {
    let csv = "size,grade,x\nlarge,10,1\nsmall,2,2\nmedium,9,3\nsmall,2,4\n";
    let f = frame(csv, "ordered(size, levels = c('small', 'medium', 'large')) ~ x").unwrap();
    assert_eq!((f.response, f.categories.join(" ")), (vec![3.0, 1.0, 2.0, 1.0], "small medium large".into()));
    // Numbers are in their own order, not in that of their names.
    let f = frame(csv, "ordered(grade) ~ x").unwrap();
    assert_eq!((f.response, f.categories.join(" ")), (vec![3.0, 1.0, 2.0, 1.0], "2 9 10".into()));
    assert_eq!(f.response_name, "grade");
    assert!(frame(csv, "x ~ grade").unwrap().categories.is_empty());
    for (formula, words) in [
        ("ordered(size) ~ x", "no order of its levels is known; write ordered(size, levels = c(..))"),
        ("ordered(size, levels = c('small', 'medium')) ~ x", "large"),
        (
            "ordered(size, levels = c('tiny', 'small', 'medium', 'large')) ~ x",
            "no row used of `t.csv` has the level `tiny`",
        ),
        ("ordered(grade) ~ grade", "grade"),
    ] {
        let error = frame(csv, formula).unwrap_err().to_string();
        assert!(error.contains(words), "{formula}: {error}");
    }
    let many: String = (0..12).map(|i| format!("{i},1\n")).collect();
    let error = frame(&format!("y,x\n{many}"), "ordered(y) ~ 1").unwrap_err().to_string();
    assert!(error.contains("12 level(s); 2 to 11 are possible"), "{error}");
}

#[test]
fn a_response_of_two_words_is_zero_and_one() {
    let csv = "case,x\nyes,1\nno,2\nno,3\n";
    let f = frame(csv, "case ~ x").unwrap();
    assert_eq!((f.response, f.response_levels), (vec![1.0, 0.0, 0.0], Some(["no".into(), "yes".into()])));
    let options = FrameOptions { references: vec![("case".into(), "yes".into())], ..FrameOptions::default() };
    assert_eq!(frame_with(csv, "case ~ x", &options).unwrap().response, [0.0, 1.0, 1.0]);
    assert!(
        matches!(frame(CROSSED, "f ~ x"), Err(Error::Column(UnfitColumn::ResponseLevels { levels, .. })) if levels.len() == 3)
    );
    assert_eq!(frame(CROSSED, "log(x) ~ f").unwrap().response[..2], [0.0, 2f64.ln()]);
}

#[test]
fn offsets_add_up() {
    let csv = "y,e,o,w,x\n1,1,0.5,1,1\n0,4,0.25,2,2\n";
    let options = FrameOptions {
        exposure: Some("e".into()),
        offset: Some("o".into()),
        weights: Some("w".into()),
        ..FrameOptions::default()
    };
    let f = frame_with(csv, "y ~ x + offset(2 * o)", &options).unwrap();
    assert_eq!(f.offsets.unwrap(), [1.5, 0.75 + 4f64.ln()]);
    assert_eq!(f.weights.unwrap(), [1.0, 2.0]);
    assert_eq!(f.formula, "y ~ x + offset(2 * o)");
    let none = csv.replace(",4,", ",0,");
    assert_eq!(
        frame_with(&none, "y ~ x", &options).unwrap_err().to_string(),
        "exposure column `e` of `t.csv` is 0 on line 3; it must be a positive number, since its logarithm is taken"
    );
}

#[test]
fn rows_with_missing_values_in_use_are_dropped_and_counted() {
    let csv = "y,x,z,town\n1,1,NA,Bern\n0,NA,1,Basel\n1,3,1,\n0,4,1,Bern\n1,5,1,Basel\n";
    let options = FrameOptions { missing: Missing::Drop, ..FrameOptions::default() };
    let f = frame_with(csv, "y ~ x + town", &options).unwrap();
    assert_eq!((f.rows, f.dropped.rows), (3, 2));
    assert_eq!(f.dropped.columns, [("x".to_owned(), 1), ("town".to_owned(), 1)]);
    assert_eq!((f.line_of_row(0), f.line_of_row(1)), (Some(2), Some(5)));
    assert_eq!(f.response, [1.0, 0.0, 1.0]);
    let error = frame(csv, "y ~ x").unwrap_err();
    assert_eq!(
        error.to_string(),
        "column `x` of `t.csv` has 1 missing value(s), the first `NA` on line 3; \
         fill them in, or ask for rows with missing values to be dropped"
    );
    assert_eq!(error.span(), Some(4..5));
    assert!(matches!(
        frame_with("y,x\n1,\n,2\n", "y ~ x", &options),
        Err(Error::Model(BadModel::NoRowsLeft { rows: 2, .. }))
    ));
}

#[test]
fn levels_are_those_of_the_rows_in_use() {
    let csv = "y,x,town\n1,NA,Aarau\n0,2,Basel\n1,3,Bern\n";
    let options = FrameOptions { missing: Missing::Drop, ..FrameOptions::default() };
    assert_eq!(frame_with(csv, "y ~ x + town", &options).unwrap().names, [INTERCEPT, "x", "town[Bern]"]);
}

#[test]
fn standardized_columns_have_mean_zero_and_a_way_back() {
    let options = FrameOptions { standardize: true, ..FrameOptions::default() };
    let (plain, scaled) =
        (frame(CROSSED, "y ~ x * g + (x | f)"), frame_with(CROSSED, "y ~ x * g + (x | f)", &options));
    let (plain, scaled) = (plain.unwrap(), scaled.unwrap());
    let x = column(&scaled, "x");
    assert!(x.iter().sum::<f64>().abs() < 1e-12);
    assert!((x.iter().map(|v| v * v).sum::<f64>() - 5.0).abs() < 1e-12, "n − 1");
    assert_eq!(column(&scaled, "g[v]"), column(&plain, "g[v]"), "indicators stay");
    let b: Vec<f64> = (0..scaled.names.len()).map(|j| 0.5 + j as f64 * 0.25).collect();
    let back = scaled.original_scale().unwrap();
    let pairs = scaled.design.predictor(&b).into_iter().zip(plain.design.predictor(&back.coefficients(&b)));
    for (of_scaled, of_plain) in pairs {
        assert!((of_scaled - of_plain).abs() < 1e-12);
    }
    assert!(plain.original_scale().is_none());

    // The covariance of A·b for b of covariance v·vᵀ is (A·v)(A·v)ᵀ.
    let outer = |v: &[f64]| -> Vec<f64> { v.iter().flat_map(|a| v.iter().map(move |b| a * b)).collect() };
    for (found, expected) in back.covariance(&outer(&b)).iter().zip(outer(&back.coefficients(&b))) {
        assert!((found - expected).abs() < 1e-12);
    }
}

#[test]
fn without_an_intercept_columns_are_scaled_and_not_shifted() {
    let options = FrameOptions { standardize: true, ..FrameOptions::default() };
    let f = frame_with(CROSSED, "y ~ 0 + x", &options).unwrap();
    assert!((f.design.population[1] - 2.0 / 3.5f64.sqrt()).abs() < 1e-15);
    assert_eq!(f.original_scale().unwrap().entries.len(), 1);
}

#[test]
fn dependent_columns_are_named() {
    let csv = "y,a,b,k\n1,1,2,7\n0,2,7,7\n1,4,1,7\n0,3,3,7\n1,9,5,7\n";
    let f = frame(csv, "y ~ a + b + I(2*a - b)").unwrap();
    let found = f.collinearity().dependences;
    assert_eq!((found.len(), found[0].column.as_str(), found[0].exact), (1, "I(2 * a - b)", true));
    let others: Vec<&str> = found[0].others.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(others, ["a", "b"]);
    assert!((found[0].others[0].1 - 2.0).abs() < 1e-12 && (found[0].others[1].1 + 1.0).abs() < 1e-12);
    assert!(frame(csv, "y ~ a + b").unwrap().collinearity().dependences.is_empty());

    let near = frame(csv, "y ~ a + b + I(a + b / 1000)").unwrap().collinearity().dependences;
    assert!(near[0].exact);
    let f = frame(csv, "y ~ a + I(a + b / 1000)").unwrap().collinearity().dependences;
    assert!(!f[0].exact && f[0].residual < 1e-2 && f[0].others.iter().any(|(name, _)| name == "a"));

    // Every level beside an intercept: the full set of indicators sums to it.
    let f = frame(CROSSED, "y ~ f:g").unwrap().collinearity().dependences;
    assert_eq!((f.len(), f[0].column.as_str(), f[0].exact), (1, "f[r]:g[v]", true));
    assert_eq!(f[0].others[0], (INTERCEPT.to_owned(), f[0].others[0].1));
}

#[test]
fn a_shift_is_no_dependence_beside_an_intercept() {
    let csv = "y,year\n1,2000001\n0,2000002\n1,2000003\n0,2000007\n";
    assert!(frame(csv, "y ~ year").unwrap().collinearity().dependences.is_empty());
}

#[test]
fn what_does_not_stop_the_fit_is_said() {
    let csv = "y,id,g\n1,9007199254740993,p\n0,2,p\n";
    let f = frame(csv, "y ~ id + (1 | g)").unwrap();
    assert_eq!(
        f.warnings.iter().map(Warning::to_string).collect::<Vec<_>>(),
        [
            "column `id` has 1 whole number(s) with more digits than a double holds, the first \
             `9007199254740993` on line 2; they are rounded",
            "group term `(1 | g)` has the one level `p`; its spread depends on the prior alone",
        ]
    );
    let wide = frame("y,a,b\n1,2,3\n0,3,5\n", "y ~ a + b").unwrap();
    assert_eq!(wide.warnings, [Warning::MoreColumnsThanRows { columns: 3, rows: 2 }]);
    let ids: String = (0..30).map(|i| format!("{},id{i}\n", i % 2)).collect();
    let f = frame(&format!("y,name\n{ids}"), "y ~ name").unwrap();
    assert!(f.warnings[0].to_string().contains("a group term `(1 | name)` may be meant"));
}
