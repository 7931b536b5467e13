//! The data sets of the paper, with its findings about them.

use mixtura::generate::{Artificial, Balance};
use mixtura::{Error, FullGaussian, Mixture, Rows};

/// A data set of the paper.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DataSet {
    /// Its name in options and files.
    pub name: &'static str,
    /// Description in one line.
    pub title: &'static str,
    /// The same in a word or two.
    pub label: &'static str,
    /// Where its rows come from.
    pub origin: Origin,
    /// K.
    pub n_components: usize,
    /// Seed of its starts and draws.
    pub seed: u64,
    /// The paper's findings.
    pub claims: Claims,
}

/// Where rows come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Drawn from the artificial mixture with these weights.
    Artificial {
        /// N.
        n_rows: usize,
        /// Whether the weights are equal. The paper does not say which its figures show; it shades components by
        /// weight.
        balance: Balance,
    },
    /// A file downloaded by `data/get`, with columns scaled to [0, 1].
    File {
        /// Its name without extension.
        stem: &'static str,
    },
}

/// The paper's findings about a data set: largest differences between EM and SEM over 50 rounds, and the largest
/// bound on the distance of two means. Means are in units of Γ_μ, covariances in units of Γ_Σ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Claims {
    /// Of weights.
    pub weight: Option<f64>,
    /// Of means.
    pub mean: Option<f64>,
    /// Of covariances.
    pub covariance: Option<f64>,
    /// The largest bound.
    pub bound: Option<f64>,
}

/// Seed of the parameter vector that the artificial sets are drawn from.
const PARAMETERS: u64 = 1;
/// "The differences increase by a factor of at most 50" at N = 10,000.
pub(super) const SMALL_FACTOR: f64 = 50.0;
/// N of the artificial sets.
pub(super) const SMALL_ROWS: usize = 10_000;
pub(super) const LARGE_ROWS: usize = 1_000_000;

/// The paper's values for its artificial set of a million rows.
pub(super) const LARGE: Claims =
    Claims { weight: Some(0.0015), mean: Some(0.0015), covariance: Some(0.0001), bound: Some(0.0054) };
/// The same for ten thousand rows.
const SMALL: Claims = Claims {
    weight: Some(SMALL_FACTOR * 0.0015),
    mean: Some(SMALL_FACTOR * 0.0015),
    covariance: Some(SMALL_FACTOR * 0.0001),
    bound: Some(0.065),
};

/// The data sets shown in the paper (Section 3.3), the artificial ones with both kinds of weights.
pub const SETS: [DataSet; 6] = [
    artificial(
        "artificial-1e6",
        "artificial, 1,000,000 × 10, K = 10, balanced",
        "10⁶ rows, balanced",
        (LARGE_ROWS, Balance::Balanced),
        LARGE,
    ),
    artificial(
        "artificial-1e6-unbalanced",
        "artificial, 1,000,000 × 10, K = 10, unbalanced",
        "10⁶ rows, unbalanced",
        (LARGE_ROWS, Balance::Unbalanced),
        LARGE,
    ),
    artificial(
        "artificial-1e4",
        "artificial, 10,000 × 10, K = 10, balanced",
        "10⁴ rows, balanced",
        (SMALL_ROWS, Balance::Balanced),
        SMALL,
    ),
    artificial(
        "artificial-1e4-unbalanced",
        "artificial, 10,000 × 10, K = 10, unbalanced",
        "10⁴ rows, unbalanced",
        (SMALL_ROWS, Balance::Unbalanced),
        SMALL,
    ),
    DataSet {
        name: "covertype",
        title: "Covertype, 581,012 × 10, K = 10",
        label: "Covertype",
        origin: Origin::File { stem: "covertype" },
        n_components: 10,
        seed: 1,
        claims: Claims { weight: None, mean: None, covariance: None, bound: Some(0.002) },
    },
    DataSet {
        name: "aloi",
        title: "ALOI, 110,250 × 27, K = 3",
        label: "ALOI",
        origin: Origin::File { stem: "aloi" },
        n_components: 3,
        seed: 1,
        claims: Claims { weight: Some(0.3), mean: Some(0.02), covariance: Some(0.0005), bound: Some(0.012) },
    },
];

const fn artificial(
    name: &'static str,
    title: &'static str,
    label: &'static str,
    (n_rows, balance): (usize, Balance),
    claims: Claims,
) -> DataSet {
    DataSet { name, title, label, origin: Origin::Artificial { n_rows, balance }, n_components: 10, seed: 1, claims }
}

impl DataSet {
    /// N, if the rows are artificial.
    pub fn n_artificial(&self) -> Option<usize> {
        match self.origin {
            Origin::Artificial { n_rows, .. } => Some(n_rows),
            Origin::File { .. } => None,
        }
    }
}

/// The artificial mixture with these weights.
pub fn artificial_mixture(balance: Balance) -> Result<Mixture<FullGaussian>, Error> {
    Artificial { balance, ..Artificial::default() }.mixture(PARAMETERS)
}

/// `n_rows` rows of it. Rows for different `n_rows` are drawn independently.
pub fn artificial_rows(n_rows: usize, balance: Balance) -> Result<Rows<'static>, Error> {
    let model = artificial_mixture(balance)?;
    let (values, _) = model.sample(0..n_rows, n_rows as u64)?;
    Rows::from_vec(values, Artificial::default().n_columns)
}
