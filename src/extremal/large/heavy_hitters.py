"""The most common of very many answers, from reports on prefixes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .._common.confidence import check_confidence
from .._common.threads import one_thread
from ..errors import OptionError, ValuesError
from ..estimation.interval_table import IntervalTable
from .estimation import held, split, table, whole_numbers
from .trees import Tree

CLEAR = 2.0  # standard errors above 0 that a prefix must have to be followed


@one_thread
def heavy_hitters(tree: Tree, reports: Any, confidence: float = 0.95, most: int = 64) -> IntervalTable:
    """The answers whose shares are proven to be above 0, the most common first, with their shares.

    Parameters
    ----------
    tree
        What the reports were drawn with.
    reports
        The whole numbers that `Tree.privatize` gave.
    confidence
        With which all intervals hold together, and all answers that are named occur.
    most
        How many prefixes of each level are followed, at most.

    Notes
    -----
    From level to level the prefixes that stand out are extended by every continuation. The last level alone gives the
    shares: its people are others than those who led there, so what was followed biases no estimate. An answer can be
    missed if a prefix of it does not stand out.
    """
    level = check_confidence(confidence)
    if type(most) is not int or most < 1:
        raise OptionError(
            "must be a whole number from 1 on", parameter="most", given=f"{most!r}", remedy="64"
        )
    raw = whole_numbers(reports)
    if raw.ndim != 1 or raw.dtype.kind not in "iu" or len(raw) == 0 or raw.min() < 0:
        raise ValuesError(
            "must be whole numbers from 0 on, and some",
            parameter="reports",
            given=f"shape {raw.shape} of {raw.dtype}",
            remedy="give what `Tree.privatize` made",
        )
    depth = len(tree.levels)
    followed = np.arange(tree.levels[0].answers, dtype=np.int64)
    for number, windows in enumerate(tree.levels):
        mine = raw[raw % depth == number] // depth
        if not len(mine):
            raise ValuesError(
                f"must hold some of every level, but none is of level {number}",
                parameter="reports",
                given=f"{len(raw)} reports",
                remedy="ask more people, or make a tree with a larger branching",
            )
        starts, steps = split(windows, mine)
        counts = held(windows, starts, steps, followed)
        if number == depth - 1:
            break
        other = windows.supports.other
        clear = (counts / len(mine) - other) / np.sqrt(np.maximum(other * (1 - other), 1e-300) / len(mine))
        best = np.argsort(-clear, kind="stable")[:most]
        kept = followed[best[clear[best] >= CLEAR]]
        children = (kept[:, None] * tree.branching + np.arange(tree.branching)).ravel()
        followed = children[children < tree.levels[number + 1].answers]
    found = table(
        windows,
        tuple(windows.labels[i] for i in followed.tolist()),
        counts,
        len(mine),
        level,
        "all",
        choice=False,
    )
    order = [k for k in np.argsort(-found.estimates, kind="stable").tolist() if found.lower[k] > 0]
    return replace(
        found,
        title=f"{len(order)} common answers of {len(followed)} followed, from {len(mine)} of {len(raw)} reports",
        labels=tuple(found.labels[k] for k in order),
        estimates=found.estimates[order],
        lower=found.lower[order],
        upper=found.upper[order],
        standard_errors=found.standard_errors[order],
        identified=found.identified[order],
    )
