//! Messages between processes, sent as sums of numbers: a transport needs nothing else.

use super::Reduce;
use crate::base::error::{Error, Result};

/// Bytes packed into one number: an integer below 2⁴⁸ is added to zeros exactly.
const PACKED: usize = 6;

/// The messages of every process, in the order of their ranks: a collective call.
pub fn gather(reduce: &dyn Reduce, own: &[u8]) -> Result<Vec<Vec<u8>>> {
    let (rank, size) = (reduce.rank(), reduce.size());
    let mut lengths = vec![0.0; size];
    lengths[rank] = own.len() as f64;
    reduce.sum(&mut lengths)?;
    let lengths: Vec<usize> = lengths.iter().map(|&length| length as usize).collect();
    let starts: Vec<usize> = lengths
        .iter()
        .scan(0, |next, length| Some(std::mem::replace(next, *next + length.div_ceil(PACKED))))
        .collect();
    let numbers = lengths.iter().map(|length| length.div_ceil(PACKED)).sum();
    let mut all = vec![0.0; numbers];
    for (number, bytes) in all[starts[rank]..].iter_mut().zip(own.chunks(PACKED)) {
        *number = bytes.iter().rev().fold(0u64, |sum, &byte| sum << 8 | u64::from(byte)) as f64;
    }
    reduce.sum(&mut all)?;
    let words = |start: usize, length: usize| {
        let numbers =
            all[start..].iter().flat_map(|&number| (number as u64).to_le_bytes()[..PACKED].to_vec());
        numbers.take(length).collect()
    };
    Ok(starts.iter().zip(&lengths).map(|(&start, &length)| words(start, length)).collect())
}

/// This process's result, if no process failed: a collective call. Otherwise the failed process of lowest rank
/// returns its own error, and all others an error that names it.
pub fn together<T, E: From<Error>>(
    reduce: &dyn Reduce,
    own: std::result::Result<T, E>,
) -> std::result::Result<T, E> {
    let (rank, size) = (reduce.rank(), reduce.size());
    let mut lowest = [if own.is_err() { (size - rank) as f64 } else { 0.0 }];
    reduce.largest(&mut lowest)?;
    match size - lowest[0] as usize {
        failed if failed == size || failed == rank => own,
        failed => Err(Error::Rank { rank: failed, size }.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::glm::stream::Alone;

    #[test]
    fn bytes_come_back_whole() {
        for length in [0, 1, 5, 6, 7, 300] {
            let own: Vec<u8> = (0..length).map(|i| (i * 37 % 256) as u8).collect();
            assert_eq!(gather(&Alone, &own).unwrap(), [own]);
        }
    }

    #[test]
    fn one_process_has_its_own_outcome() {
        assert_eq!(together::<_, Error>(&Alone, Ok(3)).unwrap(), 3);
        let error = Error::Empty { what: "hat" };
        assert_eq!(
            together::<(), _>(&Alone, Err(error)).unwrap_err().to_string(),
            Error::Empty { what: "hat" }.to_string()
        );
    }
}
