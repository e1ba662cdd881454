//! Choices that a number decides: SplitMix64.

/// Parts a list of choices: what a careful user would choose stands before it, the rest behind.
pub(crate) const REST: &str = "\u{0}the rest";

pub(crate) struct Chance {
    state: u64,
    /// How many choices in 24 are made from a whole list: none, some or all.
    wild: u64,
}

impl Chance {
    pub(crate) fn new(case: u64) -> Self {
        let state = case.wrapping_mul(0xD134_2543_DE82_EF95).wrapping_add(17);
        Self { state, wild: [0, 2, 24][(case % 3) as usize] }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// Once in so many times.
    pub(crate) fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    pub(crate) fn of(&mut self, choices: &[&'static str]) -> &'static str {
        let usual = choices.iter().position(|choice| *choice == REST).unwrap_or(choices.len());
        let wild = self.below(24) < self.wild;
        let among = if wild { choices } else { &choices[..usual] };
        match among[self.below(among.len() as u64) as usize] {
            REST => "",
            choice => choice,
        }
    }
}
