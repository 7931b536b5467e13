//! Chooses the instruction set at run time and compiles every kernel for each of them.
//!
//! This is the only module with `unsafe`: calling functions that were compiled for instructions the
//! compiler cannot know to be there.

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod avx512;

use super::vector::{Plain, TwoFours, Vector};

/// Multiply-add as the machine does it.
pub(crate) trait Arithmetic: Copy {
    /// Whether vectors are registers.
    const IS_WIDE: bool = false;
    /// Eight numbers.
    type Eight: TwoFours;
    /// Sixteen numbers in single precision.
    type Sixteen: Vector<f32>;
    /// `a · b + c`.
    fn mul_add(a: f64, b: f64, c: f64) -> f64;
    /// `a · b + c` in single precision.
    fn mul_add_narrow(a: f32, b: f32, c: f32) -> f32;
}

/// One rounding: the same bits on every machine that has it.
#[derive(Clone, Copy)]
pub(crate) struct Fused;

/// The same with vectors in registers. Private: only [`avx512`] may hand it to a kernel.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
struct FusedWide;

/// Two roundings: for machines without fused multiply-add, where emulating it would be slow.
#[derive(Clone, Copy)]
pub(crate) struct Separate;

impl Arithmetic for Fused {
    type Eight = Plain<Self, f64, 8>;
    type Sixteen = Plain<Self, f32, 16>;

    #[inline(always)]
    fn mul_add(a: f64, b: f64, c: f64) -> f64 {
        a.mul_add(b, c)
    }

    #[inline(always)]
    fn mul_add_narrow(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
}

impl Arithmetic for Separate {
    type Eight = Plain<Self, f64, 8>;
    type Sixteen = Plain<Self, f32, 16>;

    #[inline(always)]
    fn mul_add(a: f64, b: f64, c: f64) -> f64 {
        a * b + c
    }

    #[inline(always)]
    fn mul_add_narrow(a: f32, b: f32, c: f32) -> f32 {
        a * b + c
    }
}

#[cfg(target_arch = "x86_64")]
impl Arithmetic for FusedWide {
    const IS_WIDE: bool = true;
    type Eight = avx512::Eight;
    type Sixteen = avx512::Sixteen;

    #[inline(always)]
    fn mul_add(a: f64, b: f64, c: f64) -> f64 {
        Fused::mul_add(a, b, c)
    }

    #[inline(always)]
    fn mul_add_narrow(a: f32, b: f32, c: f32) -> f32 {
        Fused::mul_add_narrow(a, b, c)
    }
}

/// A loop over rows, with its arguments; `run` must be `#[inline(always)]`.
pub(crate) trait Kernel {
    /// What the loop returns.
    type Output;
    /// Runs the loop.
    fn run<A: Arithmetic>(self) -> Self::Output;
}

/// The instructions that this machine has; only [`InstructionSet::detect`] promises more than the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstructionSet(Level);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    /// What every machine of the architecture has.
    Baseline,
    /// 256-bit vectors and fused multiply-add.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// 512-bit vectors.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl InstructionSet {
    /// The best this machine has.
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            if has!("avx2") && has!("fma") {
                // The benchmarks measure a build without AVX-512, too (`bench/run --avx2`).
                let wide = !cfg!(mixtura_avx2) && has!("avx512f") && has!("avx512vl") && has!("avx512dq");
                return Self(if wide { Level::Avx512 } else { Level::Avx2 });
            }
        }
        Self::baseline()
    }

    /// What every machine of the architecture has: the reference that the others are tested against.
    pub fn baseline() -> Self {
        Self(Level::Baseline)
    }

    /// Every level of this machine with fused multiply-add: all give the same bits.
    #[cfg(test)]
    pub(crate) fn fused() -> Vec<Self> {
        let best = Self::detect();
        #[cfg(target_arch = "x86_64")]
        if best.is_wide() {
            return vec![Self(Level::Avx2), best];
        }
        if best.n_roundings() == 1 { vec![best] } else { Vec::new() }
    }

    /// Whether there are thirty-two registers of 64 bytes, so that [`run_wide`](Self::run_wide) pays.
    pub(crate) fn is_wide(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        return self.0 == Level::Avx512;
        #[cfg(not(target_arch = "x86_64"))]
        false
    }

    /// Roundings in a multiply-add.
    pub(crate) fn n_roundings(self) -> usize {
        if self == Self::baseline() && !cfg!(target_arch = "aarch64") { 2 } else { 1 }
    }

    /// Runs a kernel with these instructions.
    #[inline]
    #[allow(unsafe_code)]
    pub(crate) fn run<K: Kernel>(self, kernel: K) -> K::Output {
        match self.0 {
            Level::Baseline => baseline(kernel),
            // SAFETY: only `detect` makes this variant, after it has seen avx2 and fma.
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => unsafe { avx2(kernel) },
            // SAFETY: only `detect` makes this variant, after it has seen every feature named there.
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => unsafe { avx512(kernel) },
        }
    }

    /// Runs a kernel whose tiles fill wide registers; elsewhere with fused arithmetic in arrays, slowly.
    #[inline]
    #[allow(unsafe_code)]
    pub(crate) fn run_wide<K: Kernel>(self, kernel: K) -> K::Output {
        match self.0 {
            // SAFETY: only `detect` makes this variant, after it has seen every feature named there.
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => unsafe { avx512(kernel) },
            _ => kernel.run::<Fused>(),
        }
    }
}

/// Makes the stack of the kernel that calls it begin at a cache line.
///
/// For kernels that need more registers than there are: the compiler aligns a stack for the variables
/// it knows of, not for registers it spills later. Where these then cross a line, or worse a
/// page, is luck, and was a third of a draw's time in some builds and none in others.
#[inline(always)]
pub(crate) fn align_stack() {
    #[repr(align(64))]
    struct Line(#[allow(dead_code)] u8);
    std::hint::black_box(&mut Line(0));
}

/// Keeps the compiler from vectorizing the loop around blocks instead of the loop over their lanes.
///
/// Lanes fill whole vectors already. Where a machine can gather and scatter, the compiler would rather
/// take one lane of eight blocks at a time, which takes several times as long. Costs no instruction.
#[inline(always)]
pub(crate) fn block_by_block() {
    std::hint::black_box(());
}

/// Asks the machine to bring values near, without waiting for them.
#[inline]
#[allow(unsafe_code)]
pub(crate) fn prefetch<T>(values: &[T]) {
    #[cfg(target_arch = "x86_64")]
    for line in values.chunks((64 / size_of::<T>()).max(1)) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing that the program can see, and the address is of a live slice.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = values;
}

/// Every aarch64 machine has fused multiply-add; on others only the detected levels do.
#[inline(never)]
fn baseline<K: Kernel>(kernel: K) -> K::Output {
    if cfg!(target_arch = "aarch64") { kernel.run::<Fused>() } else { kernel.run::<Separate>() }
}

#[cfg(target_arch = "x86_64")]
#[inline(never)]
#[target_feature(enable = "avx2,fma")]
fn avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<Fused>()
}

#[cfg(target_arch = "x86_64")]
#[inline(never)]
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx2,fma")]
fn avx512<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<FusedWide>()
}
