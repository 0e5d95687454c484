"""Rows of different people under different mechanisms, as rows under one.

Given how many rows each pair has, several mechanisms are like one that draws the pair first, whatever the answers are,
and then a report: what that one has beside the others is a factor of the likelihood that no coefficient changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import OptionError
from ...model.mechanism import Mechanism
from ..estimate import check_same_answers, named_pair, stacked
from . import columns
from .columns import Parsed
from .reading import private_columns


def pooled(pairs: Sequence[Any], parsed: Parsed, named: Sequence[str]) -> tuple[dict[str, Mechanism], Any]:
    """One mechanism for each private column, and one frame, in which reports are numbers of its outputs.

    Parameters
    ----------
    pairs
        (mechanism, data), or (column -> mechanism, data).
    parsed
        The formula.
    named
        Columns beside those of the formula: weights and clusters.
    """
    import pandas as pd

    found, frames = [], []
    for number, pair in enumerate(pairs, start=1):
        with named_pair(number):
            if not isinstance(pair, list | tuple) or len(pair) != 2:
                raise OptionError(
                    "must be a mechanism and its data",
                    remedy="e.g. `regress([(c1, one), (c2, two)], formula)`",
                )
            drawn = private_columns(pair[0], parsed)
            if any(len(private.names) > 1 for private in drawn):
                raise OptionError("columns that were drawn together must have one mechanism for everybody")
            reported = [private.names[0] for private in drawn]
            wanted = list(dict.fromkeys([*sorted(parsed.outcome_columns), *sorted(parsed.columns), *named]))
            frame = columns.read(pair[1], wanted, reported)
            codes = {private.names[0]: private.codes(frame) for private in drawn}
            found.append({private.names[0]: private.mechanism for private in drawn})
            frames.append((frame, codes))
    names = list(found[0])
    for number, own in enumerate(found, start=1):
        with named_pair(number):
            if set(own) != set(names):
                raise OptionError(f"must have the private columns {', '.join(names)}", given=", ".join(own))
            for name, matrix in own.items():
                check_same_answers(matrix, found[0][name])
    people = np.array([len(frame) for frame, _ in frames], dtype=np.float64)
    mechanisms = {name: stacked([own[name] for own in found], people) for name in names}
    starts = {name: np.cumsum([0, *(own[name].shape[1] for own in found)]) for name in names}
    numbered = []
    for k, (frame, codes) in enumerate(frames):
        columns_of = {name: own + starts[name][k] for name, own in codes.items()}
        absent = {name: own < 0 for name, own in codes.items()}
        numbered.append(
            frame.assign(
                **{name: pd.arrays.IntegerArray(own, absent[name]) for name, own in columns_of.items()}
            )
        )
    return mechanisms, pd.concat(numbered, ignore_index=True)
