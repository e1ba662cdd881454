//! How a scan is learned: in passes, each in as many parts as there are processes.

mod kinds;
mod pass;

use std::sync::Arc;

use super::{
    Scan,
    moments::Moments,
    notes::Notes,
    part::{Budget, Part},
    questions::{Questions, refuse_whole_columns},
    source::Source,
    survey::{Findings, Survey},
    surveyed::Surveyed,
};
use crate::{
    cells::{Spot, Tally},
    error::{BadFormula, BadModel, BadShards, BadValue, Error, Purpose, Result, UnfitColumn},
    formula::{Expression, Formula},
    frame::{Dropped, FrameOptions, Learner, Missing, Recipe, columns_in_use},
    shards::Shards,
};

/// A scan that is being learned: one pass over Parquet files; two over text files, whose columns must be typed
/// first; and one more if columns are standardized.
///
/// Each process surveys its own part, all surveys are merged, and every process takes the merged one:
/// ```no_run
/// use provi_table::{Budget, Formula, FrameOptions, Learned, Learning, Part, Scan, Shards, Survey};
///
/// # fn exchange(own: provi_table::Result<Survey>) -> provi_table::Result<Survey> { own }
/// # fn learn(shards: Shards, formula: &Formula, rank: usize, of: usize) -> provi_table::Result<Scan> {
/// let mut learning = Learning::new(shards, formula, &FrameOptions::default(), Budget { bytes: 64 << 20 })?;
/// loop {
///     let survey = exchange(learning.survey(Part { rank, of }))?; // merged over all ranks
///     match learning.take(survey)? {
///         Learned::Further(next) => learning = next,
///         Learned::Done(scan) => return Ok(*scan),
///     }
/// }
/// # }
/// ```
#[derive(Debug)]
pub struct Learning {
    task: Box<Task>,
    stage: Stage,
}

/// The result of a pass.
#[derive(Debug)]
pub enum Learned {
    /// Another pass is needed.
    Further(Learning),
    /// That was the last pass.
    Done(Box<Scan>),
}

/// What was asked for.
#[derive(Debug)]
struct Task {
    shards: Arc<Shards>,
    formula: Formula,
    options: FrameOptions,
    budget: Budget,
}

#[derive(Debug)]
enum Stage {
    /// The first question: what do these columns of text hold?
    Kinds { columns: Vec<String> },
    /// The second question: what does the formula need to know?
    Facts(Box<Asked>),
    /// The third question: how are the columns of the design spread?
    Spreads(Box<Draft>),
}

/// A formula applied to columns of known types.
#[derive(Debug)]
struct Asked {
    source: Source,
    /// The formula with its `.` expanded.
    formula: Formula,
    tallies: Vec<(String, Tally)>,
    questions: Questions,
}

/// A recipe whose columns are not standardized yet.
#[derive(Debug)]
struct Draft {
    asked: Asked,
    notes: Notes,
    recipe: Recipe,
    counts: Vec<Vec<usize>>,
    levels: Option<[String; 2]>,
    categories: Vec<String>,
    dropped: Dropped,
}

impl Learning {
    /// Starts; what the headers of the files alone can refuse is refused here.
    pub fn new(shards: Shards, formula: &Formula, options: &FrameOptions, budget: Budget) -> Result<Self> {
        refuse_whole_columns(formula)?;
        for name in columns_in_use(formula, options) {
            shards.check_column(name).map_err(|error| error.at(formula.place_of(name)))?;
        }
        let shards = Arc::new(shards);
        let task = Box::new(Task { shards, formula: formula.clone(), options: options.clone(), budget });
        let stage = match task.shards.is_text() {
            true => Stage::Kinds { columns: task.columns() },
            false => Stage::Facts(Box::new(task.declared()?)),
        };
        Ok(Self { task, stage })
    }

    /// Makes the next pass over a part of the data.
    pub fn survey(&self, part: Part) -> Result<Survey> {
        Ok(Survey(match &self.stage {
            Stage::Kinds { columns } => self.task.kinds(columns, part)?,
            Stage::Facts(asked) => Findings::Notes(Box::new(self.task.notes(asked, part)?)),
            Stage::Spreads(draft) => self.task.spreads(draft, part)?,
        }))
    }

    /// Takes the merged surveys of all parts.
    pub fn take(self, survey: Survey) -> Result<Learned> {
        let Self { task, stage } = self;
        match (stage, survey.0) {
            (Stage::Kinds { columns }, Findings::Kinds { tallies, files }) => {
                let asked = task.typed(columns, tallies, files)?;
                Ok(Learned::Further(Self { stage: Stage::Facts(Box::new(asked)), task }))
            }
            (Stage::Facts(asked), Findings::Notes(notes)) => {
                let draft = task.draft(*asked, *notes)?;
                match task.options.standardize {
                    true => Ok(Learned::Further(Self { stage: Stage::Spreads(Box::new(draft)), task })),
                    false => Ok(Learned::Done(Box::new(task.scan(draft, &[])?))),
                }
            }
            (Stage::Spreads(draft), Findings::Spreads { rows, blocks }) => {
                if rows != draft.notes.kept {
                    return Err(incomplete(rows, draft.notes.kept));
                }
                Ok(Learned::Done(Box::new(task.scan(*draft, &blocks)?)))
            }
            _ => Err(Error::Shards(BadShards::Survey { reason: "it is of another pass".to_owned() })),
        }
    }
}

fn incomplete(found: usize, expected: usize) -> Error {
    Error::Shards(BadShards::Survey { reason: format!("they cover {found} of {expected} rows") })
}

impl Task {
    /// The recipe, without the standardization of its columns.
    fn draft(&self, asked: Asked, mut notes: Notes) -> Result<Draft> {
        let (source, options) = (&asked.source, &self.options);
        if notes.read != source.total() {
            return Err(incomplete(notes.read, source.total()));
        }
        notes.digests.sort_unstable();
        notes.digests.dedup_by_key(|(shard, _)| *shard);
        if notes.digests.len() != source.shards.files.len() {
            return Err(incomplete(notes.digests.len(), source.shards.files.len()));
        }
        let dropped = self.dropped(&asked, &notes)?;
        let facts = asked.facts(&notes);
        let learner = Learner { facts: &facts, formula: &asked.formula, options, whole: false };
        let (levels, categories) = (learner.response_levels()?, learner.categories()?);
        self.refuse_no_weight(&asked, &notes)?;
        let (recipe, counts) = learner.recipe(asked.source.dates.clone())?;
        Ok(Draft { asked, notes, recipe, counts, levels, categories, dropped })
    }

    /// The rows left out, or the error for their missing values.
    fn dropped(&self, asked: &Asked, notes: &Notes) -> Result<Dropped> {
        let source = &asked.source;
        let refuse = |error: Error| Err(asked.formula.point_column(error));
        let mut columns = Vec::new();
        for ((name, _), found) in source.columns.iter().zip(&notes.columns) {
            let Some(first) = &found.first_missing else { continue };
            if found.missing == notes.read {
                return Err(self.empty_column(asked, name));
            }
            if self.options.missing == Missing::Error {
                return refuse(Error::Value(BadValue::MissingValue {
                    table: source.file(first),
                    column: name.clone(),
                    line: first.line,
                    found: first.text.as_str().into(),
                    count: found.missing,
                    span: None,
                }));
            }
            columns.push((name.clone(), found.missing));
        }
        if notes.kept == 0 {
            let table = source.shards.name().to_owned();
            return Err(Error::Model(BadModel::NoRowsLeft { table, rows: notes.read, columns }));
        }
        Ok(Dropped { rows: notes.read - notes.kept, columns })
    }

    fn empty_column(&self, asked: &Asked, name: &str) -> Error {
        let (table, column) = (self.shards.name().to_owned(), name.to_owned());
        match self.formula.dot_over(name) {
            Some(span) => Error::Formula(BadFormula::UselessUnderDot { table, column, dates: false, span }),
            None => asked.formula.point_column(Error::Column(UnfitColumn::EmptyColumn {
                table,
                column,
                span: None,
            })),
        }
    }

    fn refuse_no_weight(&self, asked: &Asked, notes: &Notes) -> Result<()> {
        let Some(column) = &self.options.weights else { return Ok(()) };
        let x = Expression::Column(column.clone());
        let place = asked.questions.numbers.iter().position(|other| *other == x);
        let weights: Option<Moments> = place.and_then(|place| notes.numbers[place]);
        match (weights, &notes.first) {
            (Some(weights), Some(Spot { shard, line, .. })) if weights.max <= 0.0 => {
                Err(Error::Value(BadValue::OutOfRange {
                    table: asked.source.shards.files[*shard].name().to_owned(),
                    purpose: Purpose::SomeWeight,
                    column: column.clone(),
                    line: *line,
                    value: weights.max.to_string().into(),
                    span: asked.formula.place_of(column),
                }))
            }
            _ => Ok(()),
        }
    }

    /// The scan; `spreads` are those of the design, if it is standardized.
    fn scan(&self, draft: Draft, spreads: &[Vec<Option<Moments>>]) -> Result<Scan> {
        let Draft { asked, notes, mut recipe, counts, levels, categories, dropped } = draft;
        let facts = asked.facts(&notes);
        let (formula, options) = (&asked.formula, &self.options);
        let learner = Learner { facts: &facts, formula, options, whole: false };
        let spreads: Vec<Vec<_>> =
            spreads.iter().map(|block| block.iter().flatten().map(Moments::spread).collect()).collect();
        learner.standardize(&mut recipe, &spreads);
        let in_use: Vec<&str> = asked.source.columns.iter().map(|(name, _)| name.as_str()).collect();
        let head = learner.head(&in_use, &recipe, counts)?;
        Scan::new(super::Parts {
            head,
            recipe,
            levels,
            categories,
            dropped,
            notes: &notes,
            questions: &asked.questions,
            source: asked.source.clone(),
            formula: asked.formula.clone(),
            options: self.options.clone(),
            budget: self.budget,
        })
    }
}

impl Asked {
    fn facts<'a>(&'a self, notes: &'a Notes) -> Surveyed<'a> {
        Surveyed { source: &self.source, questions: &self.questions, notes, tallies: &self.tallies }
    }
}
