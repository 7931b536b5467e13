"""Lists who takes part, what each can do, and how its program is started."""

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
    # Makes everything ready and gives the command; None for mixtura itself.
    prepare: Callable | None = None
    options: tuple = ()
    # Whether it begins at the given model, so that its likelihood can be compared.
    takes_start: bool = True
    takes_ridge: bool = True
    # Whether a singular covariance stops it when it takes no ridge.
    needs_ridge: bool = True
    # Seconds to allow beside the fits, for loading the data; and by how much the rounds that are
    # timed should outweigh those of others, because its set-up varies more.
    loading: float = 60.0
    weight: float = 1.0
    # Rows from which a round costs more than starting it; fewer say nothing of its speed.
    least_rows: int = 2000
    # Whether a quick run has time for it on the first shapes only.
    slow: bool = False
    remark: str = ""


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


MIXTURA = [
    Contestant("mixtura-em", "mixtura EM", "em", options=("--algorithm", "em")),
    Contestant("mixtura-sem", "mixtura SEM", "sem", options=("--algorithm", "sem", "--result", "last")),
    Contestant(
        "mixtura-sem-double",
        "mixtura SEM, f64 only",
        "sem",
        options=("--algorithm", "sem", "--result", "last", "--precision", "double"),
    ),
]

PEERS_OF_EM = [
    Contestant("onedal", "oneDAL", "em", python_peer("onedal", "onedal.py"), takes_ridge=False),
    Contestant("scikit-learn", "scikit-learn", "em", python_peer("base", "sklearn_peer.py")),
    Contestant("armadillo", "Armadillo", "em", armadillo, takes_ridge=False, slow=True),
    Contestant("mclust", "mclust", "em", r_peer("mclust.R", ["r-cran-mclust"]), takes_ridge=False, slow=True, remark="one thread: it has no more"),
    Contestant(
        "linfa",
        "linfa",
        "em",
        lambda install: [environments.rust("linfa", install)],
        takes_start=False,
        slow=True,
        remark="takes no start (random responsibilities), so its likelihood is not compared",
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
        remark="takes no start (random rows), so its likelihood is not compared",
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
        remark="starts from a random partition and draws its own labels, so its likelihood is not compared; one thread",
    ),
]

ALL = [*MIXTURA, *PEERS_OF_EM, *PEERS_OF_SEM]
