"""Surveys with known coefficients, reports of them, and mechanisms of the textbooks."""

import numpy as np
import pandas as pd

import extremal as ex


def identity(labels):
    """The mechanism that tells the answer."""
    return ex.Mechanism(np.eye(len(labels)), labels, labels)


def warner(p, labels=("no", "yes")):
    """Warner (1965): the true question with probability p, else its negation."""
    return ex.Mechanism([[p, 1 - p], [1 - p, p]], labels, labels)


def forced(truth, yes, labels=("no", "yes")):
    """Forced response: the truth with probability `truth`, else "yes" with probability `yes` of the rest."""
    rest = 1 - truth
    return ex.Mechanism(
        [[truth + rest * (1 - yes), rest * yes], [rest * (1 - yes), truth + rest * yes]], labels, labels
    )


def unrelated(p, q, labels=("no", "yes")):
    """Unrelated question: the sensitive one with probability p, else another that has "yes" with probability q."""
    return ex.Mechanism(
        [[p + (1 - p) * (1 - q), (1 - p) * q], [(1 - p) * (1 - q), p + (1 - p) * q]], labels, labels
    )


def crosswise(q, labels=("no", "yes"), outputs=("different", "same")):
    """Crosswise model: whether the answer equals that to a question that has "yes" with probability q."""
    return ex.Mechanism([[q, 1 - q], [1 - q, q]], labels, outputs)


def keep(size, truth, labels=None):
    """The truth with probability `truth`, else any of the labels."""
    names = list(range(size)) if labels is None else list(labels)
    return ex.Mechanism(truth * np.eye(size) + (1 - truth) / size, names, names)


def draw(generator, mechanism, codes):
    """Reports of answers that are given by their number."""
    edges = np.cumsum(mechanism.matrix, axis=1)[:, :-1]
    return (generator.random(len(codes))[:, None] > edges[codes]).sum(axis=1)


def covariates(generator, n):
    """Ages, sexes and clusters."""
    return pd.DataFrame(
        {
            "age": generator.normal(50, 12, n).round(),
            "sex": generator.choice(["f", "m"], n),
            "village": generator.integers(0, 25, n),
        }
    )


def predictor(frame):
    """A linear predictor that depends on age and sex."""
    return -2 + 0.04 * frame["age"].to_numpy() + 0.5 * (frame["sex"] == "m").to_numpy()
