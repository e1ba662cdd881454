use super::*;

/// With every key that run files had when options were keys of the file one by one.
const TABLE: &str = r#"
provi = "0.1.0"
data = "cases.csv"
data-sha256 = "00"
formula = "case ~ age"
method = "prox-energy"
distance = 0.25
steps = 9
seed = 3
threads = 2
time-limit = 60.0
memory = "2GiB"
processes = 4
checkpoint-every = "0.25"
contrast = ["age - dose"]

[step]
draws = 8
coordinates = "laplace"
subsample = 16
sampling = "importance"

[audit]
accuracy = 0.001
failure-probability = 1e-9
audit-draws = 4000

[model]
family = "bernoulli"
prior = ["age=normal(0, 0.5)"]
missing = "drop"
"#;

const LIBRARY: &str = r#"
provi = "0.1.0"
data = "data.json"
seed = 3

[compiled]
stan = "model.so"
sha256 = "11"
init = "init.json"
init-sha256 = "22"
mu = 1.0
smoothness = 4.0
starts = 2
transformed = true
generated = true
bridgestan = "bs"
"#;

#[test]
fn old_files_mean_what_they_meant() {
    let file = RunFile::parse(TABLE).unwrap();
    let run = &file.run;
    assert_eq!(run.method.unwrap().to_string(), "prox-energy");
    assert_eq!((run.distance, run.steps, run.seed, run.threads), (Some(0.25), Some(9), Some(3), Some(2)));
    assert_eq!((run.time_limit, &run.contrasts[..]), (Some(60.0), &["age - dose".to_owned()][..]));
    assert_eq!(file.files.memory.unwrap().0.0, 2 << 30);
    assert_eq!(file.files.checkpoint_every.unwrap().0.as_millis(), 250);
    assert_eq!(file.processes, Some(4));
    assert_eq!((run.step.draws, run.step.subsample), (Some(8), Some(16)));
    assert_eq!(run.step.sampling.unwrap().to_string(), "importance");
    assert_eq!((run.audit.accuracy, run.audit.audit_draws), (Some(0.001), Some(4000)));
    assert_eq!(file.model.prior[0].to_string(), "age=normal(0, 0.5)");
    let compiled = RunFile::parse(LIBRARY).unwrap().compiled.unwrap();
    assert_eq!(compiled.library.stan, Some("model.so".into()));
    assert_eq!((compiled.library.mu, compiled.library.smoothness), (Some(1.0), Some(4.0)));
    assert_eq!((compiled.sha256.as_deref(), compiled.init_sha256.as_deref()), (Some("11"), Some("22")));
    assert_eq!((compiled.search.starts, compiled.transformed, compiled.generated), (Some(2), true, true));
}

#[test]
fn a_file_comes_back_as_it_was_written() {
    for text in [TABLE, LIBRARY] {
        let file = RunFile::parse(text).unwrap();
        assert_eq!(RunFile::parse(&file.to_toml().unwrap()).unwrap(), file);
    }
}

#[test]
fn a_key_in_the_wrong_table_is_refused_where_it_stands() {
    let refused = |text: &str| RunFile::parse(text).unwrap_err().to_string();
    let stray = refused("formula = 'y ~ x'\n[compiled]\nstan = 'm.so'\naccuracy = 1\n");
    assert!(stray.contains("line 4, column 1") && stray.contains("unknown field `accuracy`"), "{stray}");
    let stray = refused("formula = 'y ~ x'\n[step]\nseed = 1\n");
    assert!(stray.contains("line 3, column 1") && stray.contains("unknown field `seed`"), "{stray}");
    let typed = refused("formula = 'y ~ x'\nseed = 'one'\n");
    assert!(typed.contains("line 2, column 8"), "{typed}");
    let word = refused("formula = 'y ~ x'\n[model]\nfamily = 'laplace'\n");
    assert!(word.contains("`laplace` is not a family; the families are gaussian"), "{word}");
    assert!(refused("compiled = 3\n").contains("must be a table"));
}
