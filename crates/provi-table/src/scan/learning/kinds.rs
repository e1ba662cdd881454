//! The first question: what do the columns hold?

use super::{Asked, Task};
use crate::{
    cells::{CellKind, MissingWords, Tally},
    column::ColumnKind,
    date::DateOrder,
    days::{DateColumn, ambiguous},
    error::{BadDates, BadFile, BadShards, Error, Result, UnfitColumn},
    formula::{Expression, Factor, Formula, Response, Term},
    frame::{FrameOptions, Header, columns_in_use, dates_as_numbers, written_out},
    scan::{part::Part, questions::Questions, source::Source, survey::Findings, surveyed::mixed},
    shards::{Contents, Mark, Shards},
};

impl Task {
    /// The columns whose types matter: those named, or all if a `.` may stand for any.
    pub(super) fn columns(&self) -> Vec<String> {
        match self.formula.has_dot() {
            true => self.shards.names().to_vec(),
            false => columns_in_use(&self.formula, &self.options).into_iter().map(str::to_owned).collect(),
        }
    }

    /// Reads the text files assigned to a part, each as a whole.
    pub(super) fn kinds(&self, columns: &[String], part: Part) -> Result<Findings> {
        let words = MissingWords::new(&self.options.na);
        let mut tallies = vec![Tally::default(); columns.len()];
        let mut files = vec![None; self.shards.files.len()];
        let dealt = dealt(&self.shards, part.of);
        for (index, shard) in self.shards.files.iter().enumerate().filter(|(i, _)| dealt[*i] == part.rank) {
            let Contents::Text(header) = &shard.contents else { continue };
            let found = header.tally(shard, index, columns, &words)?;
            tallies = tallies.into_iter().zip(found.tallies).map(|(one, other)| one.merge(other)).collect();
            files[index] = Some((found.rows, found.marks));
        }
        Ok(Findings::Kinds { tallies, files })
    }

    /// The formula applied to text files, whose column types are now known.
    pub(super) fn typed(
        &self,
        columns: Vec<String>,
        tallies: Vec<Tally>,
        files: Vec<Option<(usize, Vec<Mark>)>>,
    ) -> Result<Asked> {
        let unread = || Error::Shards(BadShards::Survey { reason: "a file was read by nobody".to_owned() });
        if files.len() != self.shards.files.len() || tallies.len() != columns.len() {
            return Err(Error::Shards(BadShards::Survey {
                reason: "it is of other files or columns".to_owned(),
            }));
        }
        let files: Vec<(usize, Vec<Mark>)> =
            files.into_iter().map(|file| file.ok_or_else(unread)).collect::<Result<_>>()?;
        let (rows, marks) = files.into_iter().unzip();
        // If one file is separated by commas, a comma inside a cell is not a decimal comma.
        let comma = self.shards.files.iter().all(|shard| match &shard.contents {
            Contents::Text(header) => header.comma(),
            Contents::Parquet(_) => false,
        });
        let tallies: Vec<(String, Tally)> = columns.into_iter().zip(tallies).collect();
        let kind = |name: &str| {
            let tally = tallies.iter().find(|(other, _)| other == name);
            Ok(tally.map_or(MISSING, |(_, tally)| tally.kind(comma)))
        };
        let (formula, mut source) = self.source(&kind, rows, marks)?;
        source.dates = self.dates(&formula, &source, &tallies)?;
        let asked =
            Asked { questions: Questions::of(&formula, &self.options, &source), formula, source, tallies };
        self.refuse_empty(&asked)?;
        asked.refuse_text(&self.options)?;
        Ok(asked)
    }

    /// The formula applied to Parquet files, which declare the types of their columns.
    pub(super) fn declared(&self) -> Result<Asked> {
        let rows = self.shards.files.iter().map(|shard| match &shard.contents {
            Contents::Parquet(footer) => footer.rows(),
            Contents::Text(_) => 0,
        });
        let kind = |name: &str| Ok(CellKind { kind: self.shards.declared(name)?, decimal_comma: false });
        let marks = vec![Vec::new(); self.shards.files.len()];
        let (formula, mut source) = self.source(&kind, rows.collect(), marks)?;
        source.dates = self.dates(&formula, &source, &[])?;
        let questions = Questions::of(&formula, &self.options, &source);
        let asked = Asked { questions, formula, source, tallies: Vec::new() };
        self.refuse_empty(&asked)?;
        Ok(asked)
    }

    fn source(
        &self,
        kind: &dyn Fn(&str) -> Result<CellKind>,
        rows: Vec<usize>,
        marks: Vec<Vec<Mark>>,
    ) -> Result<(Formula, Source)> {
        let shards = &self.shards;
        if rows.iter().all(|rows| *rows == 0) {
            return Err(Error::File(BadFile::NoRows {
                table: shards.name().to_owned(),
                columns: shards.names().len(),
            }));
        }
        let known = |name: &str| kind(name).ok().map(|kind| kind.kind);
        let header = Header { table: shards.name(), names: shards.names(), kind: &known };
        let formula = written_out(&header, &self.formula, &self.options)?;
        let columns = columns_in_use(&formula, &self.options)
            .into_iter()
            .map(|name| Ok((name.to_owned(), kind(name)?)))
            .collect::<Result<_>>()?;
        let (words, dates) = (MissingWords::new(&self.options.na), Vec::new());
        let open_ends = formula.open_ends().map(|names| names.map(str::to_owned));
        Ok((formula, Source { shards: shards.clone(), columns, rows, marks, words, dates, open_ends }))
    }

    /// The dates that count as numbers. Those of Parquet files are written with the year first.
    fn dates(
        &self,
        formula: &Formula,
        source: &Source,
        tallies: &[(String, Tally)],
    ) -> Result<Vec<DateColumn>> {
        let of = |column: String| {
            let tally = tallies.iter().find(|(name, _)| *name == column).map(|(_, tally)| tally);
            match tally.map_or(Some(DateOrder::YearFirst), |tally| tally.forms().order()) {
                Some(order) => Ok(DateColumn { column, order }),
                None => {
                    let spot = tally.and_then(Tally::first_text);
                    let (table, line, found) = spot
                        .map_or((String::new(), 1, ""), |spot| (source.file(spot), spot.line, &spot.text));
                    Err(formula.point_column(ambiguous(&table, &column, line, found)))
                }
            }
        };
        dates_as_numbers(formula, &|name| source.kind(name)).into_iter().map(of).collect()
    }

    fn refuse_empty(&self, asked: &Asked) -> Result<()> {
        let empty = asked.source.columns.iter().find(|(_, kind)| kind.kind == ColumnKind::Missing);
        empty.map_or(Ok(()), |(name, _)| Err(self.empty_column(asked, name)))
    }
}

const MISSING: CellKind = CellKind { kind: ColumnKind::Missing, decimal_comma: false };

impl Asked {
    /// Refuses text where numbers are needed, and numbers that a typing error has turned into text, naming the
    /// cell. This happens before another pass, because their levels might fill the memory.
    fn refuse_text(&self, options: &FrameOptions) -> Result<()> {
        let mut names: Vec<&str> = Vec::new();
        let mut see = |name| names.push(name);
        self.questions.numbers.iter().for_each(|x| x.numbers(&mut see));
        self.formula.offsets.iter().for_each(|offset| offset.node.numbers(&mut see));
        match self.formula.response() {
            Response::Value(Expression::Column(_))
            | Response::Ordered { .. }
            | Response::Multinomial { .. } => {}
            Response::Value(x) => x.numbers(&mut see),
            response => response.columns(&mut see),
        }
        [&options.offset, &options.exposure].into_iter().flatten().for_each(|name| see(name));
        for name in names {
            self.refuse_text_in(name)?;
        }
        let varying = self.formula.groups.iter().flat_map(|group| &group.node.terms);
        for term in self.formula.terms.iter().map(|term| &term.node).chain(varying) {
            let Term::Product(factors) = term else { continue };
            for factor in factors {
                if let Factor::Column(name) = factor
                    && self.source.kind(name) == Some(ColumnKind::Category)
                    && let Some(error) = mixed(&self.source, &self.tallies, name)
                {
                    return Err(self.formula.point_column(error));
                }
            }
        }
        Ok(())
    }

    fn refuse_text_in(&self, name: &str) -> Result<()> {
        let tally = self.tallies.iter().find(|(other, _)| other == name).map(|(_, tally)| tally);
        let Some(spot) = tally.and_then(Tally::first_text) else { return Ok(()) };
        let (table, column) = (self.source.file(spot), name.to_owned());
        let (line, found) = (spot.line, spot.text.clone());
        let error = match self.source.kind(name) {
            Some(ColumnKind::Category) => {
                Error::Column(UnfitColumn::TextColumn { table, column, line, found, span: None })
            }
            Some(ColumnKind::Date) if !self.source.dates.iter().any(|date| date.column == name) => {
                Error::Dates(BadDates::DateColumn { table, column, line, found, span: None })
            }
            _ => return Ok(()),
        };
        Err(self.formula.point_column(error))
    }
}

/// For each file, the part that reads it as a whole: the part with the fewest bytes so far.
pub(super) fn dealt(shards: &Shards, of: usize) -> Vec<usize> {
    let mut load = vec![0u64; of.max(1)];
    let mut deal = |bytes: u64| {
        let rank = (0..load.len()).min_by_key(|&rank| load[rank]).unwrap_or(0);
        // An empty file takes time too.
        load[rank] += bytes + 1;
        rank
    };
    shards.files.iter().map(|shard| deal(shard.bytes())).collect()
}
