//! Lists all families, so that one can be selected at run time.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::family::Family;
use crate::{
    DiagonalGaussian, Error, Evaluator, FullGaussian, Mixture, Poisson, Rows, Score, SphericalGaussian, TiedGaussian,
};

/// The list of all families: a variant of [`Kind`] and of [`AnyMixture`] for each.
macro_rules! families {
    ($($(#[$doc:meta])* $variant:ident: $family:ty,)*) => {
        /// The family of a mixture.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "lowercase")]
        pub enum Kind {
            $($(#[$doc])* $variant,)*
        }

        /// A mixture of any family.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "lowercase")]
        pub enum AnyMixture {
            $($(#[$doc])* $variant(Mixture<$family>),)*
        }

        impl Kind {
            /// All families.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name of the family in model files.
            pub fn family(self) -> &'static str {
                match self { $(Self::$variant => <$family>::NAME,)* }
            }

            /// The name of the covariance structure in model files, if the family has one.
            pub fn structure(self) -> Option<&'static str> {
                match self { $(Self::$variant => <$family>::STRUCTURE,)* }
            }
        }

        impl AnyMixture {
            /// Its family.
            pub fn kind(&self) -> Kind {
                match self { $(Self::$variant(_) => Kind::$variant,)* }
            }
        }

        $(impl From<Mixture<$family>> for AnyMixture {
            fn from(mixture: Mixture<$family>) -> Self {
                Self::$variant(mixture)
            }
        }

        impl TryFrom<AnyMixture> for Mixture<$family> {
            /// The unchanged mixture, which is of another family.
            type Error = Box<AnyMixture>;

            fn try_from(mixture: AnyMixture) -> Result<Self, Self::Error> {
                if let AnyMixture::$variant(mixture) = mixture { Ok(mixture) } else { Err(Box::new(mixture)) }
            }
        })*
    };
}

families! {
    /// Gaussians with a separate covariance matrix for each component.
    Full: FullGaussian,
    /// Gaussians that share a covariance matrix.
    Tied: TiedGaussian,
    /// Gaussians with a separate variance for each column.
    Diagonal: DiagonalGaussian,
    /// Gaussians with one variance for all columns.
    Spherical: SphericalGaussian,
    /// Independent counts.
    Poisson: Poisson,
}

/// Evaluates an expression with a type alias for the family of a [`Kind`].
///
/// ```
/// use mixtura::family::Family;
/// use mixtura::{Kind, with_family};
///
/// let shapes = with_family!(Kind::Spherical, F => F::shapes(3, 2));
/// assert_eq!(shapes, [("means", vec![3, 2]), ("covariances", vec![3])]);
/// ```
#[macro_export]
macro_rules! with_family {
    ($kind:expr, $alias:ident => $body:expr) => {
        $crate::with_family!(@ $kind, $alias, $body; Full FullGaussian, Tied TiedGaussian,
            Diagonal DiagonalGaussian, Spherical SphericalGaussian, Poisson Poisson)
    };
    (@ $kind:expr, $alias:ident, $body:expr; $($variant:ident $family:ident),*) => {
        match $kind {
            $($crate::Kind::$variant => {
                type $alias = $crate::$family;
                $body
            })*
        }
    };
}

/// Evaluates an expression with the mixture inside an [`AnyMixture`], whatever its family.
///
/// ```
/// use mixtura::{AnyMixture, Mixture, Poisson, with_mixture};
///
/// let any = AnyMixture::from(Mixture::new(vec![1.0], Poisson::new(1, vec![2.5])?)?);
/// assert_eq!(with_mixture!(&any, model => model.n_free_parameters()), 1);
/// # Ok::<(), mixtura::Error>(())
/// ```
#[macro_export]
macro_rules! with_mixture {
    ($any:expr, $mixture:ident => $body:expr) => {
        match $any {
            $crate::AnyMixture::Full($mixture) => $body,
            $crate::AnyMixture::Tied($mixture) => $body,
            $crate::AnyMixture::Diagonal($mixture) => $body,
            $crate::AnyMixture::Spherical($mixture) => $body,
            $crate::AnyMixture::Poisson($mixture) => $body,
        }
    };
}

impl Kind {
    /// The family with these names in model files. For a family without structures, `structure` is ignored.
    pub fn named(family: &str, structure: &str) -> Option<Self> {
        let fits = |kind: &Self| kind.family() == family && kind.structure().is_none_or(|name| name == structure);
        Self::ALL.iter().copied().find(fits)
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let structure = self.structure().map(|structure| format!(", {structure} covariances"));
        write!(formatter, "{}{}", self.family(), structure.unwrap_or_default())
    }
}

impl AnyMixture {
    /// Mixing weights.
    pub fn weights(&self) -> &[f64] {
        with_mixture!(self, model => &model.weights)
    }

    /// Number of components.
    pub fn n_components(&self) -> usize {
        self.weights().len()
    }

    /// Number of columns.
    pub fn n_columns(&self) -> usize {
        with_mixture!(self, model => model.components.n_columns())
    }

    /// The means of all components: K·D numbers.
    pub fn centres(&self) -> Vec<f64> {
        with_mixture!(self, model => model.components.centres())
    }

    /// The standard deviations of all columns in all components: K·D numbers.
    pub fn spreads(&self) -> Vec<f64> {
        with_mixture!(self, model => model.components.spreads())
    }

    /// See [`Mixture::evaluator`].
    pub fn evaluator(&self) -> Result<Evaluator<'_>, Error> {
        with_mixture!(self, model => model.evaluator())
    }

    /// See [`Mixture::score`].
    pub fn score(&self, rows: &Rows<'_>) -> Result<Score, Error> {
        with_mixture!(self, model => model.score(rows))
    }

    /// See [`Mixture::sample`].
    pub fn sample(&self, range: Range<usize>, seed: u64) -> Result<(Vec<f64>, Vec<u32>), Error> {
        with_mixture!(self, model => model.sample(range, seed))
    }
}
