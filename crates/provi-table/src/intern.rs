//! Texts as indices among sorted levels.

use std::collections::HashMap;

/// Texts that are being read, each stored once. Memory: eight bytes per text, and the distinct ones.
#[derive(Debug, Default)]
pub(crate) struct Interner {
    places: HashMap<Box<str>, u32>,
    codes: Vec<Option<u32>>,
}

impl Interner {
    pub(crate) fn with_capacity(rows: usize) -> Self {
        Self { places: HashMap::new(), codes: Vec::with_capacity(rows) }
    }

    /// Adds the next text; `None` if it is missing.
    pub(crate) fn push(&mut self, text: Option<&str>) {
        let code = text.map(|text| match self.places.get(text) {
            Some(&code) => code,
            None => {
                let code = self.places.len() as u32;
                self.places.insert(text.into(), code);
                code
            }
        });
        self.codes.push(code);
    }

    pub(crate) fn len(&self) -> usize {
        self.codes.len()
    }

    /// The codes among the sorted levels, and the levels.
    pub(crate) fn finish(self) -> (Vec<Option<u32>>, Vec<String>) {
        let mut levels: Vec<(Box<str>, u32)> = self.places.into_iter().collect();
        levels.sort_unstable();
        let mut sorted = vec![0; levels.len()];
        for ((_, code), place) in levels.iter().zip(0u32..) {
            sorted[*code as usize] = place;
        }
        let mut codes = self.codes;
        codes.iter_mut().flatten().for_each(|code| *code = sorted[*code as usize]);
        (codes, levels.into_iter().map(|(level, _)| level.into()).collect())
    }
}
