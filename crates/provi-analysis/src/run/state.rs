//! A fit as bytes, for sessions of other languages that store their objects.

use provi::Gaussian;
use provi::matrix::packed_len;
use provi::sparse::{AnyGaussian, SparseGaussian};

use crate::error::{Error, Result};
use crate::options::FactorName;
use crate::record::fit_file::{FitFile, to_json};
use crate::record::mixture::MixtureRecord;
use crate::run::fitted::Fitted;

impl Fitted {
    /// The record as JSON and the Gaussian bit for bit; behind it the factors of a mixture that its record leaves out.
    pub fn state(&self) -> Result<(String, Vec<u8>)> {
        let mut bytes: Vec<u8> = match &self.gaussian {
            AnyGaussian::Dense(q) => q.parameters().iter().flat_map(|x| x.to_le_bytes()).collect(),
            AnyGaussian::Sparse(q) => {
                let own = SparseGaussian::to_bytes(&[q]);
                [&(own.len() as u64).to_le_bytes()[..], &own].concat()
            }
        };
        bytes.extend(self.file.mixture.iter().flat_map(MixtureRecord::factor_bytes));
        Ok((to_json(&self.file), bytes))
    }

    /// The inverse of [`Fitted::state`].
    pub fn restore(record: &str, parameters: &[u8]) -> Result<Self> {
        let wrong = || Error::NotAState { reason: "its numbers do not fit its record".to_owned() };
        let mut file: FitFile =
            serde_json::from_str(record).map_err(|error| Error::NotAState { reason: error.to_string() })?;
        let d = file.names.len();
        let sparse = file.model.options.factor == Some(FactorName::Sparse);
        let (length, parameters) = match sparse {
            true => {
                let (length, rest) = parameters.split_first_chunk::<8>().ok_or_else(wrong)?;
                (usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX), rest)
            }
            false => (8 * (d + packed_len(d)), parameters),
        };
        let (parameters, rest) = parameters.split_at_checked(length).ok_or_else(wrong)?;
        let fits = match file.mixture.as_mut().filter(|mixture| mixture.factor_file.is_some()) {
            Some(mixture) => mixture.read_factors(rest),
            None => rest.is_empty(),
        };
        if !fits {
            return Err(wrong());
        }
        if sparse {
            let found = SparseGaussian::from_bytes(parameters)?;
            let q = found.into_iter().next().filter(|q| q.dim() == d).ok_or_else(wrong)?;
            return Self::of(file, q.into());
        }
        let (chunks, _) = parameters.as_chunks::<8>();
        let parameters: Vec<f64> = chunks.iter().map(|chunk| f64::from_le_bytes(*chunk)).collect();
        let (mean, factor) = parameters.split_at(d);
        Self::of(file, Gaussian::new(mean, factor)?.into())
    }
}

#[cfg(test)]
mod tests {
    use provi::Seed;
    use provi::fit::Watch;
    use provi_table::{Table, Values};

    use super::*;
    use crate::options::{ModelOptions, RunOptions};
    use crate::run::Analysis;

    #[test]
    fn a_fit_comes_back_bit_for_bit_and_spoiled_bytes_do_not() {
        let group = (0..24).map(|n| Some(format!("g{}", n % 4))).collect();
        let columns = vec![
            ("y".to_owned(), Values::Numbers((0..24).map(|n| f64::from(n).sin()).collect())),
            ("g".to_owned(), Values::Text(group)),
        ];
        let table = Table::from_columns("frame", columns).unwrap();
        let options = ModelOptions { family: Some("gaussian".parse().unwrap()), ..ModelOptions::default() };
        let analysis = Analysis::new(table, "y ~ 1 + (1 | g)", &options).unwrap();
        let fit = analysis.fit(&RunOptions::default(), &mut Watch::default()).unwrap();
        let (record, bytes) = fit.state().unwrap();
        let again = Fitted::restore(&record, &bytes).unwrap();
        assert_eq!(again.gaussian.mean(), fit.gaussian.mean());
        assert_eq!(again.sample(3, Seed(1)).unwrap().entries(), fit.sample(3, Seed(1)).unwrap().entries());
        assert!(matches!(Fitted::restore(&record, &bytes[8..]), Err(Error::NotAState { .. })));
        assert!(matches!(Fitted::restore("{}", &bytes), Err(Error::NotAState { .. })));
    }
}
