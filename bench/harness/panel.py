"""Lists the data sets of the panel and its ways to fit them."""

import dataclasses

SMALL = 100_000  # rows, up to which there are many seeds
SEED = 17
OTHER_SEED = 23
REACHED = 1e-3  # nats per row below the best known likelihood, at most
EXPONENTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")

# Name in the record and title, in the order in which they take turns.
WAYS = {"one": "one start", "race": "race", "ten": "ten starts", "scikit-learn": "scikit-learn, ten starts"}


@dataclasses.dataclass(frozen=True)
class PanelSet:
    """A data set and the number of components to fit."""

    n_columns: int
    n_components: int
    n_rows: int
    # Of generated rows; None for real data.
    separation: float | None = None
    is_balanced: bool = True
    seed: int = SEED
    # The stem of a file in data/; the first columns are used.
    real: str | None = None
    # Which table it is in: generated, real, or other (sets on which no constant of the race was chosen).
    group: str = "generated"
    # The number of seeds of each way, if it is not the usual one.
    seeds: dict | None = None

    @property
    def name(self):
        if self.real:
            return f"{self.real}-{self.n_columns}-k{self.n_components}"
        balance = "" if self.is_balanced else "-unbalanced"
        return f"{self.n_rows:.0e}x{self.n_columns}-k{self.n_components}-c{self.separation:g}{balance}".replace("e+0", "e")

    @property
    def title(self):
        if self.real:
            return f"{ {'covertype': 'Covertype', 'aloi': 'ALOI'}[self.real]}, D = {self.n_columns}, K = {self.n_components}"
        balance = "balanced" if self.is_balanced else "unbalanced"
        return f"({self.n_columns}, {self.n_components}, {self.separation:g}) {balance}"

    @property
    def size(self):
        """The number of rows, for people."""
        if self.real:
            return f"{self.n_rows:,}"
        digit, exponent = f"{self.n_rows:.0e}".split("e")
        power = f"10{str(int(exponent)).translate(EXPONENTS)}"
        return power if digit == "1" else f"{digit}·{power}"

    @property
    def n_free(self):
        """p, the number of free parameters."""
        return self.n_components * (self.n_columns + 1) * (self.n_columns + 2) // 2 - 1

    def n_seeds(self, n_ten):
        """The number of seeds of each way; `n_ten` is that of ten starts, None for the usual ones."""
        if self.seeds:
            return self.seeds
        is_small = self.real is None and self.n_rows <= SMALL
        most = 20 if is_small else 5
        ten = min(most, n_ten or (5 if is_small else 2))
        return {"one": most, "race": most, "ten": ten, "scikit-learn": 3 if is_small else 0}


def generated(n_rows, shape, is_balanced, **more):
    n_columns, n_components, separation = shape
    return PanelSet(n_columns, n_components, n_rows, separation, is_balanced, **more)


SETS = [
    *(
        generated(n_rows, shape, is_balanced)
        for n_rows in (5_000, 100_000, 1_000_000)
        for shape in ((2, 20, 4), (5, 20, 3), (10, 20, 2), (10, 10, 1))
        for is_balanced in (True, False)
    ),
    generated(10_000_000, (10, 10, 1), True, seeds={"one": 2, "race": 2, "ten": 0, "scikit-learn": 0}),
    PanelSet(10, 10, 581_012, real="covertype", group="real"),
    PanelSet(10, 20, 581_012, real="covertype", group="real"),
    PanelSet(27, 3, 110_250, real="aloi", group="real"),
    PanelSet(27, 20, 110_250, real="aloi", group="real"),
    generated(100_000, (3, 8, 1.5), False, seed=OTHER_SEED, group="other"),
    generated(100_000, (20, 15, 2), True, seed=OTHER_SEED, group="other"),
    generated(100_000, (8, 30, 2.5), False, seed=OTHER_SEED, group="other"),
    PanelSet(5, 6, 581_012, real="covertype", group="other"),
]

QUICK = [generated(5_000, (2, 20, 4), True), generated(5_000, (10, 10, 1), False)]
QUICK_SEEDS = {"one": 3, "race": 3, "ten": 3, "scikit-learn": 1}
