"""Spark's Python daemon, with all that workers need loaded before it forks them: they are many, and short-lived."""

import gc

import pandas  # noqa: F401
from pyspark import daemon, worker  # noqa: F401

import extremal.certification.certified
import extremal.release.privatize
import extremal.release.spark  # noqa: F401

if __name__ == "__main__":
    gc.freeze()  # a worker looks through all its objects after every task
    daemon.manager()
