//! Decodes the elements of a NumPy array in either byte order.

use half::f16;

use super::super::cell::{Cell, from_integer};
use crate::Error;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bool,
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
}

/// The type of an array's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Element {
    kind: Kind,
    is_big_endian: bool,
}

impl Element {
    /// The type that NumPy writes as, say, `<f8`.
    pub(crate) fn parse(descr: &str) -> Option<Self> {
        let order = descr.chars().next()?;
        let kind = match descr.get(1..)? {
            "b1" => Kind::Bool,
            "f2" => Kind::F16,
            "f4" => Kind::F32,
            "f8" => Kind::F64,
            "i1" => Kind::I8,
            "i2" => Kind::I16,
            "i4" => Kind::I32,
            "i8" => Kind::I64,
            "u1" => Kind::U8,
            "u2" => Kind::U16,
            "u4" => Kind::U32,
            "u8" => Kind::U64,
            _ => return None,
        };
        let element = Self { kind, is_big_endian: order == '>' };
        let is_known = matches!(order, '<' | '>') || (order == '|' && element.n_bytes() == 1);
        is_known.then_some(element)
    }

    pub(crate) fn n_bytes(self) -> usize {
        match self.kind {
            Kind::Bool | Kind::I8 | Kind::U8 => 1,
            Kind::F16 | Kind::I16 | Kind::U16 => 2,
            Kind::F32 | Kind::I32 | Kind::U32 => 4,
            Kind::F64 | Kind::I64 | Kind::U64 => 8,
        }
    }

    /// Whether single precision can represent every value.
    pub(crate) fn is_single(self) -> bool {
        matches!(self.kind, Kind::F16 | Kind::F32)
    }

    /// Appends the values of `bytes`; integers that doubles cannot represent are passed to `inexact` first.
    pub(crate) fn decode<T: Cell>(
        self,
        bytes: &[u8],
        out: &mut Vec<T>,
        inexact: impl Fn(usize, i128) -> Result<(), Error>,
    ) -> Result<(), Error> {
        macro_rules! floats {
            ($kind:ty, $convert:expr) => {{
                let (values, _) = bytes.as_chunks();
                if self.is_big_endian {
                    out.extend(values.iter().map(|&bytes| $convert(<$kind>::from_be_bytes(bytes))));
                } else {
                    out.extend(values.iter().map(|&bytes| $convert(<$kind>::from_le_bytes(bytes))));
                }
            }};
        }
        macro_rules! integers {
            ($kind:ty) => {{
                let (values, _) = bytes.as_chunks();
                for (index, &bytes) in values.iter().enumerate() {
                    let value =
                        if self.is_big_endian { <$kind>::from_be_bytes(bytes) } else { <$kind>::from_le_bytes(bytes) };
                    let (nearest, is_exact) = from_integer(i128::from(value));
                    if !is_exact {
                        inexact(index, i128::from(value))?;
                    }
                    out.push(T::from_f64(nearest));
                }
            }};
        }
        match self.kind {
            Kind::Bool => out.extend(bytes.iter().map(|&byte| T::from_f32(f32::from(u8::from(byte != 0))))),
            Kind::F16 => floats!(f16, |value: f16| T::from_f32(value.to_f32())),
            Kind::F32 => floats!(f32, T::from_f32),
            Kind::F64 => floats!(f64, T::from_f64),
            Kind::I8 => integers!(i8),
            Kind::I16 => integers!(i16),
            Kind::I32 => integers!(i32),
            Kind::I64 => integers!(i64),
            Kind::U8 => integers!(u8),
            Kind::U16 => integers!(u16),
            Kind::U32 => integers!(u32),
            Kind::U64 => integers!(u64),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(descr: &str, bytes: &[u8]) -> Vec<f64> {
        let mut out = Vec::new();
        let element = Element::parse(descr).unwrap();
        element.decode(bytes, &mut out, |index, value| panic!("{value} at {index}")).unwrap();
        out
    }

    #[test]
    fn every_type_and_order_is_decoded() {
        assert_eq!(decode("|b1", &[0, 1]), [0.0, 1.0]);
        assert_eq!(decode("|i1", &[255, 1]), [-1.0, 1.0]);
        assert_eq!(decode("|u1", &[255, 1]), [255.0, 1.0]);
        assert_eq!(decode("<f2", &[0x00, 0x3e]), [1.5]);
        assert_eq!(decode(">f2", &[0x3e, 0x00]), [1.5]);
        assert_eq!(decode("<f4", &1.25f32.to_le_bytes()), [1.25]);
        assert_eq!(decode(">f8", &(-0.1f64).to_be_bytes()), [-0.1]);
        assert_eq!(decode("<i2", &[0xfe, 0xff]), [-2.0]);
        assert_eq!(decode(">u2", &[0xff, 0xfe]), [65534.0]);
        assert_eq!(decode(">i4", &[0, 0, 1, 0]), [256.0]);
        assert_eq!(decode("<u4", &[255; 4]), [f64::from(u32::MAX)]);
        assert_eq!(decode("<i8", &[0, 0, 0, 0, 0, 0, 0, 0x80]), [-(2f64.powi(63))]);
        assert_eq!(decode("<u8", &[1, 0, 0, 0, 0, 0, 0, 0]), [1.0]);
    }

    #[test]
    fn other_types_are_unknown() {
        for descr in ["", "<", "<c16", "|O", "<U3", "<M8[ns]", "f8", "|f8", "<f16", "ü8"] {
            assert_eq!(Element::parse(descr), None, "{descr}");
        }
    }
}
