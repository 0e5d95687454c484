"""Words for numbers that are rounded at random before a report is drawn from the point: keyed as reports are."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..draw import self_check
from ..draw.keys import draw_key, keyed_words
from ..errors import OptionError
from .arrays import Draws

Floats = NDArray[np.float64]

PURPOSE = b"extremal-grid-1\0"
DIGITS = 53  # of a double: the first bits of a word, as a share of all words


def rounding_shares(
    points: Sequence[float], numbers: Floats, draws: Draws, name: Any, seed: int | None
) -> Floats:
    """For each number a share in [0, 1), at random: a function of key, occasion, column, points, id and number.

    Without a key chance decides, or the seed. `name` is the name that the column brings with it.
    """
    randomness = draws.randomness(name)
    if randomness.key is None:
        return np.random.default_rng(seed).random(len(numbers))
    if seed is not None:
        raise OptionError(
            "must not come with a key", parameter="seed", given=f"{seed}", remedy="leave it out"
        )
    self_check.check_keyed_words(keyed_words)
    blocks = draws.blocks(len(numbers))
    assert blocks is not None  # as randomness has checked
    assert randomness.column is not None
    digest = hashlib.sha256(PURPOSE + np.asarray(points, dtype="<f8").tobytes()).digest()
    subkey = draw_key(randomness.key, randomness.occasion, randomness.column, digest)
    bits = (numbers + 0.0).view(np.uint64)  # minus zero is zero
    words = np.empty(len(numbers), dtype=np.uint64)
    keyed_words(subkey, blocks, bits, None)(0, words)
    return np.asarray((words >> np.uint64(64 - DIGITS)) * 2.0**-DIGITS)
