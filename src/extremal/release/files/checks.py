"""What is refused of a file, or must be said of it, besides its values: its target, its order, its frequencies."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._common.words import brief, shorten
from ...certification.certified import Certified
from ...draw.drawing import Job
from ...draw.order import Watch
from ...draw.sampler import Sampler
from ...errors import FileError, ValuesError
from .source import format_of

Counts = NDArray[np.int64]

FALSE_ALARM = 1e-4  # the chance that answers which follow the prior are taken for others
EXCESS = 1.1  # times epsilon: less than that is not worth a word


def check_some_left(job: Job, path: str) -> None:
    if not job.rows:
        raise ValuesError(
            "a file to privatise must have records",
            given=f"names of columns alone: {path}",
            remedy="is it the right file?",
        )
    if job.dropped and job.dropped == job.rows:
        raise ValuesError(f"No records left: {_none_known(job.private)}")


def _none_known(columns: list[Any]) -> str:
    if len(columns) == 1:
        return (
            f"no value in {brief(columns[0])} is a label of this mechanism. Is it the right mechanism file?"
        )
    return f"none has labels of the mechanisms in all of {shorten(columns, 4)}. Are they the right mechanism files?"


def check_order(columns: list[Any], shuffled: bool, numbered: list[str], path: str) -> None:
    """Refuse an order that tells answers, unless it is gone; a column with numbers of the records keeps it."""
    if columns and numbered:
        raise FileError(
            f"shuffling cannot hide the order of the records: column {brief(numbered[0])} of {path} still shows it",
            remedy=(
                'leave that column out, number the records anew, or accept their order with `order="keep"`'
            ),
        )
    if columns and not shuffled:
        raise FileError(
            f"the order of the records reveals answers: in column {brief(columns[0])} of {path} equal answers are "
            "closer together, farther apart or more regular than by chance",
            remedy=('write them in random order with `order="shuffle"`, or accept it with `order="keep"`'),
        )


def about_frequencies(mechanisms: Mapping[Any, Certified], watches: Sequence[Watch]) -> list[str]:
    """What must be said of columns whose answers do not look like the prior."""
    found = [(one.name, far_from_prior(mechanisms[one.name], one.counts)) for one in watches]
    return [f"The answers of {brief(name)} {said}." for name, said in found if said is not None]


def check_target(source: str, target: str, overwrite: bool) -> None:
    """Refuse what cannot or must not be written to."""
    if os.path.exists(target) and os.path.samefile(source, target):
        raise FileError(
            "must not be the source",
            parameter="target",
            given=f"{target} for both",
            remedy="choose another name",
        )
    if os.path.isdir(target):
        raise FileError("must be the name of a file", parameter="target", given=f"a folder: {target}")
    if os.path.exists(target) and not os.path.isfile(target):
        raise FileError(
            "must be a regular file",
            parameter="target",
            given=f"something else: {target}",
            remedy="choose another name",
        )
    if os.path.lexists(target) and not overwrite:
        raise FileError(f"{target} already exists", remedy="use `overwrite=True` to replace it")
    folder = os.path.dirname(target) or "."
    if not os.path.isdir(folder):
        raise FileError(
            "must be in a folder that exists",
            parameter="target",
            given=target,
            remedy=f"make {folder} first",
        )


def check_marked(kind: str, note: str | None, unmarked: str) -> None:
    """Refuse to write reports that are not private without saying so in the file."""
    if kind == "csv" and note is not None and unmarked == "refuse":
        raise FileError(
            "reports for experiments must be marked",
            given=f"a CSV file, which has no place for it ({note})",
            remedy='write Parquet, or accept it with unmarked="allow"',
        )


def common_format(source: str, target: str) -> str:
    """The format that the names of both files tell."""
    kinds = [format_of(path) for path in (source, target)]
    if kinds[0] is None or kinds[0] != kinds[1]:
        raise FileError(
            "source and target must both be CSV (.csv, .tsv) or both Parquet (.parquet, .pq)",
            given=f"{source} and {target}",
            remedy='or say which: `format="csv"`',
        )
    return kinds[0]


def far_from_prior(certified: Certified, counts: Counts) -> str | None:
    """A sentence if the answers cannot have followed the prior, and leak more than epsilon under their own."""
    if not counts.sum() or not _differ(counts, certified.prior_between.probabilities):
        return None
    leakage = leakage_under(certified.sampler, counts)
    if leakage <= EXCESS * certified.epsilon:
        return None
    return (
        f"are far from the prior in the mechanism file: under their own frequencies a report leaks up to "
        f"{leakage:.2f} nats, not {certified.epsilon:g}. Design with a prior that fits better, if one is public. This "
        "sentence is about the true answers: to share it would be a release"
    )


def leakage_under(sampler: Sampler, counts: Counts) -> float:
    """The PML of the mechanism, in nats, if answers, or blocks of them, are as frequent as they were counted."""
    there = counts > 0
    weights = sampler.weights[there].astype(np.float64)
    shares = counts[there] / counts.sum()
    average = shares @ weights
    possible = average > 0
    return float(np.log(np.max(weights.max(axis=0)[possible] / average[possible])))


def _differ(counts: Counts, masses: Any) -> bool:
    """Whether some answer is so frequent or so rare as it would be once in FALSE_ALARM, by Chernoff's bound."""
    n = counts.sum()
    share, mass = counts / n, np.asarray(masses, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        one = np.where(share > 0, share * np.log(share / mass), 0.0)
        other = np.where(share < 1, (1 - share) * np.log((1 - share) / (1 - mass)), 0.0)
    return bool(np.any(n * (one + other) > np.log(2 * len(mass) / FALSE_ALARM)))
