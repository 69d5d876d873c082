//! Arrays of numbers, as bytes and back.

use super::value::damaged;
use crate::error::Result;
use crate::simd::memory;
use safetensors::Dtype;
use std::io::Write;

/// What an error calls an array that is read.
const READ: &str = "an array of a model file";

/// Numbers of one type.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Values {
    F64(Vec<f64>),
    F32(Vec<f32>),
    I64(Vec<i64>),
    I32(Vec<i32>),
}

/// An array in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Array {
    pub shape: Vec<usize>,
    pub values: Values,
}

/// Makes numbers of bytes, lowest byte first.
macro_rules! numbers {
    ($type:ty, $bytes:expr) => {{
        let (numbers, _) = $bytes.as_chunks::<{ size_of::<$type>() }>();
        memory::collected(numbers.iter().map(|&b| <$type>::from_le_bytes(b)), READ)?
    }};
}

/// Writes numbers as bytes, lowest byte first.
macro_rules! write_numbers {
    ($out:expr, $numbers:expr) => {
        for number in $numbers {
            $out.write_all(&number.to_le_bytes())?;
        }
    };
}

impl Array {
    pub fn vector(values: Values) -> Self {
        Array {
            shape: vec![values.len()],
            values,
        }
    }

    pub fn matrix(rows: usize, columns: usize, values: Values) -> Self {
        debug_assert_eq!(rows * columns, values.len());
        Array {
            shape: vec![rows, columns],
            values,
        }
    }

    /// Makes an array of what a file says of it.
    ///
    /// # Errors
    /// If its type is not one of ours, or there is no memory.
    pub fn read(name: &str, dtype: Dtype, shape: &[usize], bytes: &[u8]) -> Result<Self> {
        let values = match dtype {
            Dtype::F64 => Values::F64(numbers!(f64, bytes)),
            Dtype::F32 => Values::F32(numbers!(f32, bytes)),
            Dtype::I64 => Values::I64(numbers!(i64, bytes)),
            Dtype::I32 => Values::I32(numbers!(i32, bytes)),
            other => {
                let what = format!("array {name:?} is of type {other:?}, not F64, F32, I64 or I32");
                return Err(damaged(what));
            }
        };
        let shape = shape.to_vec();
        Ok(Array { shape, values })
    }

    pub fn write(&self, out: &mut impl Write) -> std::io::Result<()> {
        match &self.values {
            Values::F64(values) => write_numbers!(out, values),
            Values::F32(values) => write_numbers!(out, values),
            Values::I64(values) => write_numbers!(out, values),
            Values::I32(values) => write_numbers!(out, values),
        }
        Ok(())
    }

    pub fn is_finite(&self) -> bool {
        match &self.values {
            Values::F64(values) => values.iter().all(|value| value.is_finite()),
            Values::F32(values) => values.iter().all(|value| value.is_finite()),
            Values::I64(_) | Values::I32(_) => true,
        }
    }

    /// Returns whole numbers, `None` if it is an array of others or one is negative.
    pub fn whole(&self) -> Option<Vec<usize>> {
        match &self.values {
            Values::I64(values) => values.iter().map(|&v| usize::try_from(v).ok()).collect(),
            Values::I32(values) => values.iter().map(|&v| usize::try_from(v).ok()).collect(),
            Values::F64(_) | Values::F32(_) => None,
        }
    }

    /// Returns real numbers in f64, `None` if it is an array of whole ones.
    pub fn real(&self) -> Option<Vec<f64>> {
        match &self.values {
            Values::F64(values) => Some(values.clone()),
            Values::F32(values) => Some(values.iter().map(|&v| f64::from(v)).collect()),
            Values::I64(_) | Values::I32(_) => None,
        }
    }

    pub fn is_real(&self) -> bool {
        matches!(self.values, Values::F64(_) | Values::F32(_))
    }
}

impl Values {
    pub fn len(&self) -> usize {
        match self {
            Values::F64(values) => values.len(),
            Values::F32(values) => values.len(),
            Values::I64(values) => values.len(),
            Values::I32(values) => values.len(),
        }
    }

    /// Returns the type as safetensors names it, and the bytes of a number.
    pub fn dtype(&self) -> (&'static str, usize) {
        match self {
            Values::F64(_) => ("F64", 8),
            Values::F32(_) => ("F32", 4),
            Values::I64(_) => ("I64", 8),
            Values::I32(_) => ("I32", 4),
        }
    }
}

impl From<Vec<f64>> for Values {
    fn from(values: Vec<f64>) -> Self {
        Values::F64(values)
    }
}

impl From<Vec<f32>> for Values {
    fn from(values: Vec<f32>) -> Self {
        Values::F32(values)
    }
}
