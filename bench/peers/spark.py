"""Fits with Spark ML's GaussianMixture on this machine. It accepts no start and no ridge: timing only."""

import os
import sys

import worker

task = worker.Task(sys.argv[1:])
path = os.path.abspath(task.path)  # separate, because Spark sends `vectors` to processes that do not have `worker`
os.environ["PYSPARK_PYTHON"] = sys.executable

import numpy as np
import pyspark
from pyspark.ml.clustering import GaussianMixture
from pyspark.ml.linalg import DenseVector, VectorUDT
from pyspark.sql import SparkSession
from pyspark.sql.types import StructField, StructType

session = (
    SparkSession.builder.master(f"local[{task.n_threads}]")
    .config("spark.driver.memory", "8g")
    .config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", task.n_threads)
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .getOrCreate()
)
session.sparkContext.setLogLevel("ERROR")


def vectors(numbers):
    """The rows with the given first and last number, read by the Spark task that needs them."""
    for first, last in numbers:
        for row in np.load(path, mmap_mode="r")[first:last]:
            yield (DenseVector(row),)


edges = np.linspace(0, task.n_rows, task.n_threads + 1).astype(int).tolist()
parts = session.sparkContext.parallelize(list(zip(edges, edges[1:])), task.n_threads)
schema = StructType([StructField("features", VectorUDT(), False)])
frame = session.createDataFrame(parts.mapPartitions(vectors), schema, verifySchema=False).cache()
frame.count()


def fit(n_rounds):
    # Spark treats a run that stops at its tolerance as complete; a tolerance of 0 never stops it.
    model = GaussianMixture(k=task.n_components, maxIter=n_rounds, tol=0.0, seed=1).fit(frame)
    if model.summary.numIter != n_rounds:
        raise RuntimeError(f"stopped after {model.summary.numIter} of {n_rounds} rounds")


worker.serve(pyspark.__version__, fit)
