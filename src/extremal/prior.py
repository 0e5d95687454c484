"""Prior: what is publicly known about the secret before anything is released."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import regions
from .errors import PriorError

Floats = NDArray[np.float64]
Labels = tuple[Hashable, ...]

SUM_TOLERANCE = 1e-9  # of the probabilities given; they are then divided by their sum


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Prior:
    """A probability distribution with full support on distinct labels, in the caller's order.

    >>> Prior({"yes": 0.25, "no": 0.75}).epsilon_max
    1.3862943611198906
    """

    probabilities: Floats
    labels: Labels

    def __init__(
        self,
        probabilities: ArrayLike | Mapping[Any, float],
        labels: Iterable[Any] | None = None,
    ) -> None:
        if isinstance(probabilities, Mapping):
            if labels is not None:
                raise PriorError("a mapping already names its labels; give either a mapping or labels, not both")
            labels = list(probabilities.keys())
            probabilities = list(probabilities.values())
        p = _as_vector(probabilities, "prior")
        names = check_labels(range(len(p)) if labels is None else labels, len(p), "prior")
        if len(p) < 2:
            raise PriorError(f"a prior must have at least 2 labels, got {len(p)}: one label holds no secret")
        _check_masses(p, names)
        total = math.fsum(p)
        if abs(total - 1) > SUM_TOLERANCE:
            raise PriorError(
                f"prior must sum to 1, got a sum of {total:.12g}; "
                "for counts or unnormalised weights use Prior.from_counts(...)"
            )
        p = p / total if total != 1 else p.copy()
        p.setflags(write=False)
        object.__setattr__(self, "probabilities", p)
        object.__setattr__(self, "labels", names)

    @classmethod
    def uniform(cls, n_or_labels: int | Iterable[Any]) -> Prior:
        """Every label equally likely; labels 0..n-1 if only their number is given."""
        labels = list(range(n_or_labels)) if isinstance(n_or_labels, int | np.integer) else list(n_or_labels)
        if len(labels) < 2:
            raise PriorError(f"a prior must have at least 2 labels, got {len(labels)}")
        return cls(np.full(len(labels), 1 / len(labels)), labels)

    @classmethod
    def from_counts(
        cls,
        counts: Mapping[Any, float] | ArrayLike,
        pseudocount: float = 0,
        labels: Iterable[Any] | None = None,
    ) -> Prior:
        """Relative frequencies of non-negative counts, each raised by `pseudocount` first."""
        if isinstance(counts, Mapping):
            if labels is not None:
                raise PriorError("a mapping already names its labels; give either a mapping or labels, not both")
            labels = list(counts.keys())
            counts = list(counts.values())
        n = _as_vector(counts, "counts")
        names = check_labels(range(len(n)) if labels is None else labels, len(n), "counts")
        if not (math.isfinite(pseudocount) and pseudocount >= 0):
            raise PriorError(f"pseudocount must be finite and >= 0, got {pseudocount}")
        if np.any(n < 0):
            raise PriorError(f"counts must be >= 0, got {n.min():g} for {_named(names, n < 0)}")
        n = n + pseudocount
        total = math.fsum(n)
        if total == 0:
            raise PriorError("counts must not all be 0; there is nothing to learn a prior from")
        if not math.isfinite(total):
            raise PriorError(f"counts must be finite, got a total of {total}")
        return cls(n / total, names)

    @classmethod
    def from_data(cls, values: Iterable[Any], pseudocount: float = 0, labels: Iterable[Any] | None = None) -> Prior:
        """Relative frequencies of the values of a column; labels sorted where they can be.

        With `labels`, exactly these symbols in this order: a symbol that does not occur counts 0 (so it needs a
        pseudocount), a value that is not among them is refused.
        """
        observed = count_values(values)
        if labels is None:
            try:
                names = sorted(observed)  # type: ignore[type-var]
            except TypeError:
                names = list(observed)
        else:
            names = list(labels)
            unknown = [value for value in observed if value not in set(names)]
            if unknown:
                raise PriorError(
                    f"every value must be one of the labels, got {unknown[:5]!r}"
                    f"{f' and {len(unknown) - 5} more' if len(unknown) > 5 else ''}; add them to labels or drop them"
                )
        if not names:
            raise PriorError("values must not be empty; there is nothing to learn a prior from")
        return cls.from_counts([observed.get(name, 0) for name in names], pseudocount, names)

    @property
    def size(self) -> int:
        """The number N of symbols."""
        return len(self.probabilities)

    @property
    def epsilon_max(self) -> float:
        """-log of the smallest mass: at this level even full disclosure is allowed."""
        return float(-math.log(self.probabilities.min()))

    @property
    def entropy(self) -> float:
        """Shannon entropy H(X) in nats."""
        return math.fsum(-p * math.log(p) for p in self.probabilities.tolist())

    @property
    def region_edges(self) -> Floats:
        """epsilon_0 .. epsilon_{N-1}, epsilon_max: the edges of the N privacy regions."""
        return regions.region_edges(self.probabilities)

    def region(self, epsilon: float) -> int:
        """k in 1..N with epsilon in [epsilon_{k-1}, epsilon_k), or N + 1 at or above epsilon_max."""
        return regions.region(self.probabilities, epsilon)

    @property
    def is_uniform(self) -> bool:
        """Whether all masses are equal up to rounding."""
        p = self.probabilities
        return bool(p.max() - p.min() <= regions.RELATIVE_NOISE * p.max())

    def index(self, label: Any) -> int:
        """The position of a label."""
        try:
            return self.labels.index(label)
        except ValueError:
            raise PriorError(f"no label {label!r} in this prior; its labels are {shorten(self.labels)}") from None

    def __len__(self) -> int:
        return self.size

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Prior):
            return NotImplemented
        return self.labels == other.labels and np.array_equal(self.probabilities, other.probabilities)

    def __hash__(self) -> int:
        return hash((self.labels, self.probabilities.tobytes()))

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{label!r}: {p:.4g}" for label, p in zip(self.labels[:8], self.probabilities[:8], strict=True)
        )
        more = f", … {self.size - 8} more" if self.size > 8 else ""
        return f"Prior({{{shown}{more}}})"


def check_labels(labels: Iterable[Any], size: int, what: str) -> Labels:
    """The labels as a tuple of distinct hashable Python values, one for each of `size` symbols."""
    names = tuple(label.item() if isinstance(label, np.generic) else label for label in labels)
    if len(names) != size:
        raise PriorError(f"{what} must have one label for each of its {size} symbols, got {len(names)} labels")
    try:
        distinct = set(names)
    except TypeError:
        bad = next(name for name in names if not isinstance(name, Hashable))
        raise PriorError(f"labels must be hashable, got {bad!r}; use strings, numbers or tuples") from None
    missing = [name for name in names if name is None or name != name]
    if missing:
        raise PriorError(f"labels must not be missing, got {missing[0]!r}; name the missing answer, e.g. 'no answer'")
    if len(distinct) < len(names):
        seen: set[Hashable] = set()
        twice = sorted({repr(name) for name in names if name in seen or seen.add(name)})  # type: ignore[func-returns-value]
        raise PriorError(f"labels must be distinct, got {', '.join(twice[:5])} more than once")
    return names


def count_values(values: Iterable[Any]) -> dict[Hashable, int]:
    """How often each value occurs in a list, array or column; a missing value is refused with its count."""
    if isinstance(values, str | bytes):
        raise PriorError("values must be a column of labels, got one string; wrap it in a list")
    if hasattr(values, "to_list"):  # pandas, polars
        values = values.to_list()
    elif hasattr(values, "to_pylist"):  # arrow
        values = values.to_pylist()
    elif isinstance(values, np.ndarray):
        values = values.ravel().tolist()
    counts: dict[Hashable, int] = {}
    missing = 0
    for value in values:
        if value is None or value != value:
            missing += 1
            continue
        counts[value] = counts.get(value, 0) + 1
    if missing:
        raise PriorError(
            f"values must not be missing, got {missing} missing values; drop them or name them, e.g. 'no answer'"
        )
    return counts


def shorten(labels: Sequence[Any], most: int = 8) -> str:
    """The labels as a list for a message, cut to the first few."""
    shown = ", ".join(repr(label) for label in labels[:most])
    return f"[{shown}{f', … {len(labels) - most} more' if len(labels) > most else ''}]"


def _as_vector(values: Any, what: str) -> Floats:
    try:
        p = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise PriorError(f"{what} must be numbers, got {values!r:.80}") from None
    if p.ndim != 1:
        raise PriorError(f"{what} must be one-dimensional, got shape {p.shape}")
    return p


def _check_masses(p: Floats, names: Labels) -> None:
    for bad, found in ((~np.isfinite(p), "not finite"), (p < 0, "negative")):
        if bad.any():
            value = p[bad][0]
            raise PriorError(f"prior must be a probability on every label, got {value} ({found}) for {_named(names, bad)}")
    if np.any(p == 0):
        raise PriorError(
            f"prior must be positive on every label, got 0 for {_named(names, p == 0)}; "
            "drop the label or smooth: Prior.from_counts(counts, pseudocount=1)"
        )


def _named(names: Labels, where: NDArray[np.bool_]) -> str:
    return shorten([name for name, hit in zip(names, where, strict=True) if hit], 5)
