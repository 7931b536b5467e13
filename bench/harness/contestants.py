"""Lists the contestants, their capabilities, and how to start them."""

import dataclasses
import shutil
from collections.abc import Callable

from . import environments
from .places import PEERS


@dataclasses.dataclass(frozen=True)
class Contestant:
    """A program that fits mixtures, and its limits."""

    name: str
    title: str
    algorithm: str
    # Prepares everything and returns the command; None for mixtura itself.
    prepare: Callable | None = None
    options: tuple = ()
    # Whether it starts from the given model, so that its likelihood can be compared.
    takes_start: bool = True
    takes_ridge: bool = True
    # The covariance types it is measured with, and why not with others, unless it does not support them.
    covariances: tuple = ("full",)
    why_no_other: str = ""
    # Whether it fails on a singular covariance if it does not support a ridge.
    needs_ridge: bool = True
    # Additional seconds for loading the data; and the factor by which it should run more rounds than
    # others, because its set-up time varies more.
    loading: float = 60.0
    weight: float = 1.0
    # Minimum number of rows; with fewer, overhead dominates the time of a round.
    least_rows: int = 2000
    # Whether a quick run measures it only on the first shapes.
    slow: bool = False
    remark: str = ""

    def why_not(self, covariance):
        """Why it is not measured with a covariance type; None if it is."""
        if covariance in self.covariances:
            return None
        return self.why_no_other or f"it supports only {' and '.join(self.covariances)} covariances"


def python_peer(environment, script):
    return lambda install: [environments.python(environment, install), PEERS / script]


def spark(install):
    environments.java(install)
    return [environments.python("spark", install), PEERS / "spark.py"]


def armadillo(install):
    environments.debian(["g++", "libarmadillo-dev", "libopenblas0"], install)
    return [environments.cpp("armadillo.cpp", ["-larmadillo"], install)]


def r_peer(script, packages):
    def prepare(install):
        environments.debian([*packages, "libopenblas0"], install)
        if shutil.which("Rscript") is None:
            raise environments.Unavailable("Rscript is not on the path")
        return ["Rscript", "--vanilla", PEERS / script]

    return prepare


STRUCTURES = ("full", "tied", "diagonal", "spherical")

MIXTURA = [
    Contestant("mixtura-em", "mixtura EM", "em", options=("--algorithm", "em"), covariances=STRUCTURES),
    Contestant("mixtura-sem", "mixtura SEM", "sem", options=("--algorithm", "sem", "--result", "last"), covariances=STRUCTURES),
    Contestant(
        "mixtura-sem-double",
        "mixtura SEM, f64 only",
        "sem",
        options=("--algorithm", "sem", "--result", "last", "--precision", "double"),
        covariances=("full", "diagonal", "spherical"),
        why_no_other="with tied covariances SEM always uses double precision",
    ),
]

PEERS_OF_EM = [
    Contestant("onedal", "oneDAL", "em", python_peer("onedal", "onedal.py"), takes_ridge=False, covariances=("full", "diagonal")),
    Contestant("scikit-learn", "scikit-learn", "em", python_peer("base", "sklearn_peer.py"), covariances=STRUCTURES),
    Contestant("armadillo", "Armadillo", "em", armadillo, takes_ridge=False, covariances=("full", "diagonal"), slow=True),
    Contestant(
        "mclust",
        "mclust",
        "em",
        r_peer("mclust.R", ["r-cran-mclust"]),
        takes_ridge=False,
        covariances=STRUCTURES,
        slow=True,
        remark="supports only one thread",
    ),
    Contestant(
        "linfa",
        "linfa",
        "em",
        lambda install: [environments.rust("linfa", install)],
        takes_start=False,
        slow=True,
        remark="does not accept a start (uses random responsibilities), so its likelihood is not compared",
    ),
    Contestant(
        "spark",
        "Spark ML",
        "em",
        spark,
        takes_start=False,
        slow=True,
        takes_ridge=False,
        needs_ridge=False,
        loading=300.0,
        weight=5.0,
        least_rows=50_000,
        remark="does not accept a start (uses random rows), so its likelihood is not compared",
    ),
]

PEERS_OF_SEM = [
    Contestant(
        "flexmix",
        "flexmix SEM",
        "sem",
        r_peer("flexmix.R", ["r-cran-flexmix", "r-cran-mvtnorm"]),
        takes_start=False,
        slow=True,
        takes_ridge=False,
        covariances=("full", "diagonal"),
        remark="starts from a random partition and draws its own labels, so its likelihood is not compared; one thread",
    ),
]

ALL = [*MIXTURA, *PEERS_OF_EM, *PEERS_OF_SEM]
