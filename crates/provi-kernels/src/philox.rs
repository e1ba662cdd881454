//! Philox4x32-10: 128 random bits as a pure function of a 128-bit counter and a 64-bit key.
//!
//! J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, *Parallel random numbers: as easy as 1, 2, 3*, SC 2011.

const MULTIPLIERS: [u64; 2] = [0xD251_1F53, 0xCD9E_8D57];
const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];

/// Ten rounds. Words are in the low halves of `u64`s, where vector multipliers need them.
#[inline(always)]
pub(crate) fn philox(mut counter: [u64; 4], key: u64) -> [u64; 4] {
    let mut key = [key as u32, (key >> 32) as u32];
    for _ in 0..10 {
        let (left, right) = (MULTIPLIERS[0] * low(counter[0]), MULTIPLIERS[1] * low(counter[2]));
        counter = [
            (right >> 32) ^ counter[1] ^ u64::from(key[0]),
            low(right),
            (left >> 32) ^ counter[3] ^ u64::from(key[1]),
            low(left),
        ];
        key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
    }
    counter
}

#[inline(always)]
fn low(word: u64) -> u64 {
    word & 0xFFFF_FFFF
}

#[cfg(test)]
mod tests {
    use super::philox;

    /// The known answers published with Random123.
    #[test]
    fn known_answers() {
        assert_eq!(philox([0; 4], 0), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(
            philox([0xffff_ffff; 4], 0xffff_ffff_ffff_ffff),
            [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]
        );
        assert_eq!(
            philox([0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344], 0x299f_31d0_a409_3822),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }
}
