//! Fits a mixture of any family in one line.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use crate::driver::{Observer, Problem, Quiet, Rule, SemResult, accepted, each_option};
use crate::family::Family;
use crate::pass::Precision;
use crate::sweep::{Engine, Source};
use crate::{
    Algorithm, DiagonalGaussian, Error, Fit, FullGaussian, Mixture, Options, Rows, SphericalGaussian, Start,
    TiedGaussian,
};

/// A Gaussian mixture to be fitted; [`Gmm::new`]`(k)` has full covariance matrices.
///
/// ```
/// use mixtura::{Diagonal, Gmm, Rows};
///
/// let rows = Rows::from_slice(&[0.0, 1.0, 0.2, 0.9, 5.0, 3.0, 5.1, 3.3], 2)?;
/// let fit = Gmm::new(2).covariance(Diagonal).restarts(5).seed(7).fit(&rows)?;
/// assert_eq!(fit.model.n_components(), 2);
/// # Ok::<(), mixtura::Error>(())
/// ```
pub type Gmm = Fitter<FullGaussian>;

/// A mixture of any family to be fitted, with all its options.
///
/// ```
/// use mixtura::{Fitter, Poisson, Rows};
///
/// let counts = Rows::from_slice(&[1.0, 0.0, 2.0, 1.0, 9.0, 11.0, 10.0], 1)?;
/// let fit = Fitter::<Poisson>::new(2).fit(&counts)?;
/// assert!((fit.model.weights[0] - 3.0 / 7.0).abs() < 0.05 || (fit.model.weights[1] - 3.0 / 7.0).abs() < 0.05);
/// # Ok::<(), mixtura::Error>(())
/// ```
#[derive(Clone)]
pub struct Fitter<F: Family> {
    n_components: usize,
    /// An error if a model was given, and then components of another kind were chosen.
    start: Result<Start<F>, Error>,
    options: Options,
    rule: Option<Arc<dyn Rule>>,
}

impl<F: Family> fmt::Debug for Fitter<F> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { n_components, start, options, .. } = self;
        formatter
            .debug_struct("Fitter")
            .field("n_components", n_components)
            .field("start", start)
            .field("options", options)
            .finish_non_exhaustive()
    }
}

/// A covariance structure, as a type.
pub trait Covariance {
    /// Gaussians of this structure.
    type Family: Family;
}

macro_rules! covariances {
    ($($(#[$doc:meta])* $name:ident: $family:ty,)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $name;

        impl Covariance for $name {
            type Family = $family;
        }
    )*};
}

covariances! {
    /// A covariance matrix for each component.
    Full: FullGaussian,
    /// One covariance matrix for all components.
    Tied: TiedGaussian,
    /// A separate variance for each column of each component.
    Diagonal: DiagonalGaussian,
    /// One variance for each component.
    Spherical: SphericalGaussian,
}

impl Gmm {
    /// Selects the covariance structure. Call it before [`start_from`](Fitter::start_from), because a given model has a
    /// fixed structure: a fit that cannot start from the given model is refused.
    #[must_use]
    pub fn covariance<C: Covariance>(self, _structure: C) -> Fitter<C::Family> {
        let start = self.start.and_then(|start| match start {
            Start::KmeansPlusPlus => Ok(Start::KmeansPlusPlus),
            Start::Random => Ok(Start::Random),
            Start::ShortEm => Ok(Start::ShortEm),
            Start::Labels => Ok(Start::Labels),
            Start::Model(model) => match (Box::new(model) as Box<dyn Any>).downcast() {
                Ok(model) => Ok(Start::Model(*model)),
                Err(_) => Err(Error::StartOfOtherFamily),
            },
        });
        Fitter { n_components: self.n_components, start, options: self.options, rule: self.rule }
    }
}

/// A method for each option.
macro_rules! setters {
    ($($name:ident: $type:ty $(as $accepted:ty)?,)*) => {$(
        #[doc = concat!("See [`Options::", stringify!($name), "`](Options#structfield.", stringify!($name), ").")]
        #[must_use]
        pub fn $name(self, $name: accepted!($type $(as $accepted)?)) -> Self {
            Self { options: self.options.$name($name), ..self }
        }
    )*};
}

impl<F: Family> Fitter<F> {
    /// A mixture of `n_components` components, with the default options and start.
    pub fn new(n_components: usize) -> Self {
        Self { n_components, start: Ok(Start::default()), options: Options::default(), rule: None }
    }

    /// How to start; default k-means++.
    #[must_use]
    pub fn start(self, start: Start<F>) -> Self {
        Self { start: Ok(start), ..self }
    }

    /// Starts from a given model.
    #[must_use]
    pub fn start_from(self, model: Mixture<F>) -> Self {
        self.start(Start::Model(model))
    }

    /// Sets all options at once.
    #[must_use]
    pub fn options(self, options: Options) -> Self {
        Self { options, ..self }
    }

    /// Replaces the algorithm's own stopping rule. A closure is a rule if the type of its argument is written out:
    /// `|seen: &Seen<'_>| …` (see [`Rule`]).
    #[must_use]
    pub fn rule(self, rule: impl Rule + 'static) -> Self {
        Self { rule: Some(Arc::new(rule)), ..self }
    }

    each_option!(setters);

    /// Fits rows in memory, on all threads of the current rayon pool.
    pub fn fit(&self, rows: &Rows<'_>) -> Result<Fit<F>, Error> {
        self.fit_source(&Source::of(rows)?)
    }

    /// Fits the rows of any engine.
    pub fn fit_source<E: Engine>(&self, source: &Source<E>) -> Result<Fit<F>, Error> {
        self.fit_observed(source, &Quiet)
    }

    /// Fits the rows of any engine, with an observer: see [`Observer`] for one that stops after three rounds. Rows in
    /// memory become a source with [`Source::of`].
    pub fn fit_observed<E: Engine>(&self, source: &Source<E>, observer: &dyn Observer) -> Result<Fit<F>, Error> {
        let mut problem = Problem::new(source, self.n_components, self.start.clone()?, self.options.clone())?;
        if let Some(rule) = &self.rule {
            let rule = Arc::clone(rule);
            problem = problem.with_rule(rule);
        }
        problem.fit(observer)
    }
}
