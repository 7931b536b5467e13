//! Vectors for kernels whose sums must stay in registers, and the same vectors as plain arrays.
//!
//! Left to itself, the compiler spills or scalarises tiles as large as thirty-two registers allow.
//! Kernels that use such tiles say what each register holds; lane by lane they round as arrays do.

use std::marker::PhantomData;

use super::Arithmetic;

/// Several numbers in one register: 64 bytes.
pub(crate) trait Vector<T>: Copy {
    /// The same number in every lane.
    fn all(number: T) -> Self;
    /// The first numbers of a slice, as many as there are lanes.
    fn load(numbers: &[T]) -> Self;
    /// Overwrites the first numbers of a slice.
    fn store(self, out: &mut [T]);
    /// `self + addend`.
    fn add(self, addend: Self) -> Self;
    /// `self − subtrahend`.
    fn sub(self, subtrahend: Self) -> Self;
    /// `self · factor`.
    fn mul(self, factor: Self) -> Self;
    /// `self · factor + addend`.
    fn mul_add(self, factor: Self, addend: Self) -> Self;
}

/// Eight numbers as two fours: the partial sums of two products.
pub(crate) trait TwoFours: Vector<f64> {
    /// The first four numbers of a slice, twice.
    fn twice(four: &[f64]) -> Self;
    /// The first four numbers of each slice.
    fn pair(first: &[f64], second: &[f64]) -> Self;
    /// Number i of vector j as number j of vector i.
    fn transposed(vectors: [Self; 8]) -> [Self; 8];
    /// Adds up every four as `(0 + 2) + (1 + 3)`: of each [a, b] the sums of a's first four, b's first,
    /// a's second, b's second.
    fn sums(of: [[Self; 2]; 2]) -> [[f64; 4]; 2];
    /// Adds up every four in the same order: the sums of all vectors' first fours, and those of their second fours.
    fn sums_of_eight(vectors: [Self; 8]) -> [Self; 2];
}

/// A vector as an array, with the multiply-add of `A`: what registers are tested against.
#[derive(Clone, Copy)]
pub(crate) struct Plain<A, T, const N: usize>([T; N], PhantomData<A>);

impl<A, T: Copy, const N: usize> Plain<A, T, N> {
    #[inline(always)]
    fn from_fn(number: impl FnMut(usize) -> T) -> Self {
        Self(std::array::from_fn(number), PhantomData)
    }
}

macro_rules! plain_vector {
    ($number:ty, $mul_add:ident) => {
        impl<A: Arithmetic, const N: usize> Vector<$number> for Plain<A, $number, N> {
            #[inline(always)]
            fn all(number: $number) -> Self {
                Self([number; N], PhantomData)
            }

            #[inline(always)]
            fn load(numbers: &[$number]) -> Self {
                Self::from_fn(|lane| numbers[lane])
            }

            #[inline(always)]
            fn store(self, out: &mut [$number]) {
                out[..N].copy_from_slice(&self.0);
            }

            #[inline(always)]
            fn add(self, addend: Self) -> Self {
                Self::from_fn(|lane| self.0[lane] + addend.0[lane])
            }

            #[inline(always)]
            fn sub(self, subtrahend: Self) -> Self {
                Self::from_fn(|lane| self.0[lane] - subtrahend.0[lane])
            }

            #[inline(always)]
            fn mul(self, factor: Self) -> Self {
                Self::from_fn(|lane| self.0[lane] * factor.0[lane])
            }

            #[inline(always)]
            fn mul_add(self, factor: Self, addend: Self) -> Self {
                Self::from_fn(|lane| A::$mul_add(self.0[lane], factor.0[lane], addend.0[lane]))
            }
        }
    };
}

plain_vector!(f64, mul_add);
plain_vector!(f32, mul_add_narrow);

impl<A: Arithmetic> TwoFours for Plain<A, f64, 8> {
    #[inline(always)]
    fn twice(four: &[f64]) -> Self {
        Self::pair(four, four)
    }

    #[inline(always)]
    fn pair(first: &[f64], second: &[f64]) -> Self {
        Self::from_fn(|lane| if lane < 4 { first[lane] } else { second[lane - 4] })
    }

    #[inline(always)]
    fn transposed(vectors: [Self; 8]) -> [Self; 8] {
        std::array::from_fn(|i| Self::from_fn(|j| vectors[j].0[i]))
    }

    #[inline(always)]
    fn sums(of: [[Self; 2]; 2]) -> [[f64; 4]; 2] {
        of.map(|vectors| {
            std::array::from_fn(|i| {
                let four = &vectors[i % 2].0[i / 2 * 4..];
                (four[0] + four[2]) + (four[1] + four[3])
            })
        })
    }

    #[inline(always)]
    fn sums_of_eight(vectors: [Self; 8]) -> [Self; 2] {
        [0, 4].map(|half| {
            Self::from_fn(|i| {
                let four = &vectors[i].0[half..];
                (four[0] + four[2]) + (four[1] + four[3])
            })
        })
    }
}
