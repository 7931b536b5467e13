"""Lists the measured shapes: rows, columns, components, covariance types, and the origin of the data."""

import dataclasses

SEED = 1
OVERLAPPING = 0.6
SEPARATED = 6.0


@dataclasses.dataclass(frozen=True)
class Shape:
    """A data set and the number of components to fit."""

    name: str
    title: str
    n_rows: int
    n_columns: int
    n_components: int
    separation: float = OVERLAPPING
    # The stem of a file in data/, for real data; its columns are scaled to [0, 1].
    real: str | None = None
    # Added to every variance; contestants that do not support this are skipped.
    ridge: float = 0.0
    # Whether only mixtura can fit it, because covariances are singular without a ridge.
    is_singular: bool = False
    # Maximum difference in rounds between the short and the long run.
    most_rounds: int = 100
    # The covariance type: full, tied, diagonal or spherical; the data are the same for all.
    covariance: str = "full"

    @property
    def n_pairs(self):
        return self.n_rows * self.n_components

    @property
    def data(self):
        """The name of its data, which is the same for shapes that differ only in covariance type."""
        return self.name.removesuffix(f"-{self.covariance}")

    @property
    def density_fmas(self):
        """Multiply-adds for the density of one row under one component.

        A tied covariance whitens a row once for all components.
        """
        d, k = self.n_columns, self.n_components
        counts = {"full": d * (d + 1) / 2 + d + 1, "tied": 2 * d + d * (d + 1) / (2 * k), "diagonal": 2 * d, "spherical": 2 * d}
        return counts[self.covariance]

    @property
    def statistics_fmas(self):
        """Multiply-adds for adding one row to EM's statistics of one component.

        A tied covariance needs the products of a row's columns once for all components.
        """
        d, k = self.n_columns, self.n_components
        products = (d + 1) * (d + 2) / 2
        return {"full": products, "tied": d + 1 + products / k, "diagonal": 2 * d + 1, "spherical": d + 2}[self.covariance]

    def fmas(self, algorithm):
        """Multiply-adds per (row, component) and round; SEM adds a row to only one component."""
        return self.density_fmas + self.statistics_fmas / (1 if algorithm == "em" else self.n_components)

    def divided(self, divisor):
        """The same shape with fewer rows, but enough for the covariance of every component."""
        if divisor == 1:
            return self
        least = min(self.n_rows, max(1000, 4 * self.n_components * self.n_columns))
        n_rows = max(self.n_rows // divisor, least)
        return dataclasses.replace(self, n_rows=n_rows, title=f"{self.title}, only {n_rows:,} rows")


SHAPES = [
    Shape("1e6x10-k10", "10⁶×10, K=10", 1_000_000, 10, 10),
    # Right after the full covariance they are compared with.
    Shape("1e6x10-k10-tied", "10⁶×10, K=10, tied", 1_000_000, 10, 10, covariance="tied"),
    Shape("1e6x10-k10-diagonal", "10⁶×10, K=10, diagonal", 1_000_000, 10, 10, covariance="diagonal"),
    Shape("1e6x10-k10-spherical", "10⁶×10, K=10, spherical", 1_000_000, 10, 10, covariance="spherical"),
    Shape("1e4x10-k10", "10⁴×10, K=10", 10_000, 10, 10, most_rounds=400),
    Shape("110k27-k3", "110,250×27, K=3", 110_250, 27, 3),
    Shape("aloi", "ALOI 110,250×27, K=3", 110_250, 27, 3, real="aloi", ridge=1e-6),
    Shape("aloi-floor", "ALOI without a ridge, K=3", 110_250, 27, 3, real="aloi", is_singular=True),
    Shape("covertype", "Covertype 581,012×10, K=10", 581_012, 10, 10, real="covertype"),
    Shape("2e5x50-k20", "2·10⁵×50, K=20", 200_000, 50, 20),
    Shape("2e5x10-k100", "2·10⁵×10, K=100 overlapping", 200_000, 10, 100),
    Shape("2e5x10-k100-separated", "2·10⁵×10, K=100 separated", 200_000, 10, 100, separation=SEPARATED),
    Shape("1e5x10-k1000-separated", "10⁵×10, K=1000 separated", 100_000, 10, 1000, separation=SEPARATED),
    Shape("5e4x200-k10", "5·10⁴×200, K=10", 50_000, 200, 10),
    Shape("1e6x2-k5", "10⁶×2, K=5", 1_000_000, 2, 5),
]

GROWTH = [
    Shape("growth-1e5", "10⁵×10, K=10", 100_000, 10, 10),
    Shape("growth-1e6", "10⁶×10, K=10", 1_000_000, 10, 10),
    Shape("growth-1e7", "10⁷×10, K=10", 10_000_000, 10, 10),
]
