"""Names for the arrays and pictures that signatures speak of, and when values that hold them are the same."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
else:
    Axes = object  # matplotlib is imported where something is drawn


def same(a: object, b: object) -> bool:
    """Whether two values are of one type and equal to the last bit, field by field and element by element."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if is_dataclass(a) and type(a).__eq__ is object.__eq__:
        return all(same(getattr(a, field.name), getattr(b, field.name)) for field in fields(a))
    return bool(a == b)
