//! Makes the uniform numbers of many rows side by side: the key stream of ChaCha8, sixteen blocks at a time.

use super::dispatch::block_by_block;
use super::vector::{TwoFours, Vector};
use super::{Arithmetic, Kernel, LANES, Lanes};

/// Blocks of the stream that are computed side by side.
const WIDE: usize = 16;
/// Uniform numbers in a block of the stream: two of its sixteen words each.
pub(crate) const UNIFORM_NUMBERS: usize = 8;
/// Blocks of rows that get their numbers at a time.
pub(crate) const UNIFORM_BLOCKS: usize = WIDE * UNIFORM_NUMBERS / LANES;

/// "expand 32-byte k".
const CONSTANTS: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];

/// What a generator with this key gives to rows from `UNIFORM_NUMBERS · first` on, in stream 0.
pub(crate) struct Uniforms<'a> {
    /// The key, in words.
    pub key: &'a [u32; 8],
    /// Number of the first block of the stream.
    pub first: u64,
    /// The numbers, in [0, 1).
    pub out: &'a mut [Lanes; UNIFORM_BLOCKS],
}

type State = [[u32; WIDE]; 16];

impl Kernel for Uniforms<'_> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arithmetic>(self) {
        let mut first: State = [[0; WIDE]; 16];
        for (word, &constant) in first.iter_mut().zip(CONSTANTS.iter().chain(self.key)) {
            *word = [constant; WIDE];
        }
        for block in 0..WIDE {
            let number = self.first.wrapping_add(block as u64);
            first[12][block] = number as u32;
            first[13][block] = (number >> 32) as u32;
        }
        let mut state = first;
        for _ in 0..4 {
            for i in 0..4 {
                quarter_round(&mut state, [i, 4 + i, 8 + i, 12 + i]);
            }
            for i in 0..4 {
                quarter_round(&mut state, [i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4]);
            }
        }
        let mut numbers = [[0.0; WIDE]; UNIFORM_NUMBERS];
        for (i, numbers) in numbers.iter_mut().enumerate() {
            block_by_block();
            for block in 0..WIDE {
                let low = state[2 * i][block].wrapping_add(first[2 * i][block]);
                let high = state[2 * i + 1][block].wrapping_add(first[2 * i + 1][block]);
                numbers[block] = in_unit_interval(u64::from(high) << 32 | u64::from(low));
            }
        }
        // The numbers of a block of the stream belong to consecutive rows.
        for half in (0..WIDE).step_by(8) {
            let mut square = [A::Eight::all(0.0); UNIFORM_NUMBERS];
            for i in 0..UNIFORM_NUMBERS {
                square[i] = A::Eight::load(&numbers[i][half..]);
            }
            let square = A::Eight::transposed(square);
            for i in 0..UNIFORM_NUMBERS {
                let row = (half + i) * UNIFORM_NUMBERS;
                square[i].store(&mut self.out[row / LANES][row % LANES..]);
            }
        }
    }
}

/// Mixes four words of every block.
#[inline(always)]
fn quarter_round(state: &mut State, [a, b, c, d]: [usize; 4]) {
    block_by_block();
    for block in 0..WIDE {
        let [mut wa, mut wb, mut wc, mut wd] = [state[a][block], state[b][block], state[c][block], state[d][block]];
        wa = wa.wrapping_add(wb);
        wd = (wd ^ wa).rotate_left(16);
        wc = wc.wrapping_add(wd);
        wb = (wb ^ wc).rotate_left(12);
        wa = wa.wrapping_add(wb);
        wd = (wd ^ wa).rotate_left(8);
        wc = wc.wrapping_add(wd);
        wb = (wb ^ wc).rotate_left(7);
        (state[a][block], state[b][block], state[c][block], state[d][block]) = (wa, wb, wc, wd);
    }
}

/// The number in [0, 1) given by the upper 53 of 64 random bits.
#[inline(always)]
pub(crate) fn in_unit_interval(bits: u64) -> f64 {
    (bits >> 11) as f64 * (0.5f64.powi(53))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::rngs::ChaCha8Rng;
    use rand::{Rng, SeedableRng};

    use super::super::{InstructionSet, flat};
    use super::*;

    proptest! {
        #[test]
        fn numbers_are_those_of_the_generator(
            key in any::<[u8; 32]>(), first in prop_oneof![any::<u32>().prop_map(u64::from), Just(u64::from(u32::MAX) - 5)],
        ) {
            let mut generator = ChaCha8Rng::from_seed(key);
            generator.set_word_pos(16 * u128::from(first));
            let expected: Vec<f64> = (0..UNIFORM_BLOCKS * LANES).map(|_| in_unit_interval(generator.next_u64())).collect();
            let (words, _) = key.as_chunks::<4>();
            let key = std::array::from_fn(|i| u32::from_le_bytes(words[i]));
            for set in InstructionSet::fused().into_iter().chain([InstructionSet::baseline()]) {
                let mut out = [Lanes::all(0.0); UNIFORM_BLOCKS];
                set.run(Uniforms { key: &key, first, out: &mut out });
                prop_assert_eq!(flat(&out).collect::<Vec<_>>(), expected.clone());
            }
        }
    }
}
