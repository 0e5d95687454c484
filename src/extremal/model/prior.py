"""Prior: how common each answer is, as everybody knows before any report."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, ValuesView
from dataclasses import dataclass
from html import escape
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._common import checks
from .._common.frames import heat_cell, html_table
from .._common.types import Axes, Floats
from .._common.words import shorten
from ..errors import PriorError
from .counting import count_column, count_combinations
from .labels import Labels, check_labels
from .levels import SMALLEST_MASS, is_uniform, region, region_edges

SUM_TOLERANCE = 1e-9  # probabilities given may miss 1 by this much; they are then divided by their sum
ROUNDED = 4e-16  # the sum of probabilities that were divided by theirs: within this they stay as they are


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Prior:
    """How common each answer is: a positive probability for each label, in the order given.

    Probabilities come as a sequence, a mapping label -> probability or a pandas Series, whose index names the
    labels. Without labels they are 0..N-1.

    Examples
    --------
    >>> Prior({"yes": 0.25, "no": 0.75}).epsilon_max
    1.3862943611198906

    Parameters
    ----------
    probabilities
        A number for each answer, or a mapping label -> probability.
    labels
        The answers; 0, 1, … if None.
    """

    probabilities: Floats
    labels: Labels

    def __init__(
        self,
        probabilities: ArrayLike | Mapping[Any, float],
        labels: Iterable[Any] | None = None,
    ) -> None:
        p, names = _labelled(probabilities, labels, "prior")
        if len(p) < 2:
            raise PriorError(
                "a prior must have at least 2 labels",
                given=len(p),
                remedy="with one there is no secret to protect",
            )
        _check_masses(p, names)
        total = math.fsum(p)
        if abs(total - 1) > SUM_TOLERANCE:
            raise PriorError(
                "must sum to 1",
                parameter="prior",
                given=f"a sum of {total:.12g}",
                remedy="correct the shares; for counts or rounded shares use `Prior.from_counts(...)`, "
                "which divides by the sum",
            )
        if abs(total - 1) > ROUNDED:
            p = p / total
        p.setflags(write=False)
        object.__setattr__(self, "probabilities", p)
        object.__setattr__(self, "labels", names)

    @classmethod
    def uniform(cls, n_or_labels: int | Iterable[Any]) -> Prior:
        """Every label equally likely; labels 0..n-1 if only their number is given.

        Parameters
        ----------
        n_or_labels
            How many answers there are, or their labels.
        """
        if isinstance(n_or_labels, int | np.integer) and not isinstance(n_or_labels, bool):
            labels = list(range(n_or_labels))
        elif isinstance(n_or_labels, Iterable) and not isinstance(n_or_labels, str | bytes):
            labels = list(n_or_labels)
        else:
            raise PriorError(
                "a uniform prior must be given a number of labels or a list of them",
                given=f"{n_or_labels!r}",
                remedy="e.g. Prior.uniform(4)",
            )
        return cls(np.full(len(labels), 1 / max(len(labels), 1)), labels)

    @classmethod
    def from_counts(
        cls,
        counts: Mapping[Any, float] | ArrayLike,
        pseudocount: float = 0,
        labels: Iterable[Any] | None = None,
    ) -> Prior:
        """A prior from counts; `pseudocount` is added to each of them first.

        Parameters
        ----------
        counts
            A count for each answer, or a mapping label -> count.
        pseudocount
            A number added to each count, so that no answer has probability 0.
        labels
            The answers; 0, 1, … if None.
        """
        n, names = _labelled(counts, labels, "counts")
        extra = checks.number(
            pseudocount, "pseudocount", least=0, remedy="1 adds one answer a label", error=PriorError
        )
        bad = ~np.isfinite(n) | (n < 0)
        if bad.any():
            raise PriorError(
                "must be finite and >= 0",
                parameter="counts",
                given=f"{n[bad][0]:g} for {_named(names, bad)}",
                remedy="correct or drop them",
            )
        n = n + extra
        if not n.any():
            raise PriorError(
                "must not all be 0: there is nothing to learn a prior from",
                parameter="counts",
                remedy="give data, or a pseudocount for a uniform prior",
            )
        n = n / n.max()  # so that their sum is finite
        return cls(n / math.fsum(n), names)

    @classmethod
    def from_data(
        cls, values: Iterable[Any], pseudocount: float = 0, labels: Iterable[Any] | None = None
    ) -> Prior:
        """A prior counted from a column of answers; labels are sorted if they can be.

        With `labels`, exactly these symbols in this order: a symbol that does not occur counts 0 (so it needs
        a pseudocount), a value that is not among them is refused.

        Parameters
        ----------
        values
            The answers of people.
        pseudocount
            A number added to each count, so that no answer has probability 0.
        labels
            All possible answers, in order; those that occur if None.
        """
        counts = count_column(values, labels)
        return cls.from_counts(list(counts.values()), pseudocount, list(counts))

    @classmethod
    def joint(
        cls,
        frame: Any,
        columns: Sequence[Any],
        pseudocount: float = 0,
        labels: Sequence[Iterable[Any]] | None = None,
    ) -> Prior:
        """A prior counted from several columns of a frame: its labels are tuples of answers.

        Without `labels` the symbols are the combinations that occur, sorted if they can be. With `labels`, one
        list for each column, they are all combinations of these: one that does not occur counts 0, so it needs a
        pseudocount.

        Parameters
        ----------
        frame
            A frame, or a mapping column -> values.
        columns
            The names of the columns.
        pseudocount
            A number added to each count, so that no answer has probability 0.
        labels
            For each column all its possible answers.
        """
        return cls.from_counts(count_combinations(frame, columns, labels), pseudocount)

    @classmethod
    def product(cls, *priors: Prior) -> Prior:
        """The prior of independent attributes taken together: tuples of labels, the last one changing fastest.

        Parameters
        ----------
        *priors
            One prior for each attribute.
        """
        if len(priors) < 2:
            raise PriorError("a product must be of at least 2 priors", given=len(priors))
        masses = np.ones(1)
        for prior in priors:
            masses = np.outer(masses, check_prior(prior).probabilities).ravel()
        return cls(masses, list(product(*(prior.labels for prior in priors))))

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
        return region_edges(self.probabilities)

    def region(self, epsilon: float) -> int:
        """The region k of epsilon, 1..N: a report can rule out at most k - 1 answers. N + 1 from epsilon_max on.

        Parameters
        ----------
        epsilon
            The limit on leakage, in nats.
        """
        return region(self.probabilities, epsilon)

    @property
    def is_uniform(self) -> bool:
        """Whether all masses are equal up to rounding."""
        return is_uniform(self.probabilities)

    def index(self, label: Any) -> int:
        """The position of a label.

        Parameters
        ----------
        label
            One of the labels.
        """
        return checks.label(label, "label", self.labels, error=PriorError)

    def __len__(self) -> int:
        return self.size

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Prior):
            return NotImplemented
        return self.labels == other.labels and np.array_equal(self.probabilities, other.probabilities)

    def __hash__(self) -> int:
        return hash((self.labels, self.probabilities.tobytes()))

    def __reduce__(self) -> tuple[Any, ...]:
        return Prior, (self.probabilities, self.labels)  # checked, and read-only again, when unpickled

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{label!r}: {p:.4g}" for label, p in zip(self.labels[:8], self.probabilities[:8], strict=True)
        )
        more = f", … {self.size - 8} more" if self.size > 8 else ""
        return f"Prior({{{shown}{more}}})"

    def _repr_html_(self) -> str:
        """A table for notebooks, one row a label, the likelier the darker; the first rows of a long one."""
        most = 20
        rows = [
            f"<tr><th>{escape(str(label))}</th>{heat_cell(p, self.probabilities.max())}</tr>"
            for label, p in zip(self.labels[:most], self.probabilities[:most].tolist(), strict=True)
        ]
        if self.size > most:
            rows.append(f"<tr><td colspan='2'>… {self.size - most} more</td></tr>")
        head = "<tr><th>label</th><th>probability</th></tr>"
        return html_table(f"Prior on {self.size} labels, epsilon_max = {self.epsilon_max:.4g}", [head, *rows])

    def plot(self, axes: Axes | None = None) -> Axes:
        """Axes with a bar for the probability of each label.

        Parameters
        ----------
        axes
            Matplotlib axes to draw on; new ones if None.
        """
        from .._common.plot import draw_bars

        return draw_bars(
            self.probabilities.tolist(), self.labels, "How common each answer is", "probability", axes
        )


def check_prior(prior: Any) -> Prior:
    """The prior, if it is one."""
    given = "{...}" if isinstance(prior, Mapping) else "[0.5, 0.3, 0.2]"
    remedy = f"build one: Prior({given})"
    return checks.instance(prior, "prior", Prior, "a Prior", remedy=remedy, error=PriorError)


def _labelled(values: Any, labels: Iterable[Any] | None, what: str) -> tuple[Floats, Labels]:
    """The numbers and the labels of a sequence, a mapping or a pandas Series."""
    if isinstance(values, Mapping):
        if labels is not None:
            raise PriorError(
                f"{what} must get its labels once",
                given="a mapping and labels",
                remedy="give either a mapping or labels",
            )
        labels, values = list(values.keys()), list(values.values())
    elif (
        labels is None
        and hasattr(values, "to_numpy")
        and isinstance(getattr(values, "index", None), Iterable)
    ):
        labels = list(values.index)  # a pandas Series; columns of polars and arrow have none
    elif isinstance(values, Iterator | ValuesView):
        values = list(values)
    p = checks.numbers(values, what, finite=False, error=PriorError)
    return p, check_labels(range(len(p)) if labels is None else labels, len(p), what)


def _check_masses(p: Floats, names: Labels) -> None:
    bad = ~np.isfinite(p) | (p < 0)
    if bad.any():
        raise PriorError(
            "must be a probability on every label",
            parameter="prior",
            given=f"{p[bad][0]:g} for {_named(names, bad)}",
            remedy="correct it, or build the prior from data: `Prior.from_counts(...)`",
        )
    if np.any(p == 0):
        raise PriorError(
            "must be positive on every label",
            parameter="prior",
            given=f"0 for {_named(names, p == 0)}",
            remedy="drop the label or smooth: `Prior.from_counts(counts, pseudocount=1)`",
        )
    tiny = p < SMALLEST_MASS
    if tiny.any():
        raise PriorError(
            f"must be at least {SMALLEST_MASS} on every label",
            parameter="prior",
            given=f"{p[tiny][0]:g} for {_named(names, tiny)}",
            remedy="drop the label or merge it with another",
        )


def _named(names: Labels, where: NDArray[np.bool_]) -> str:
    return shorten([name for name, hit in zip(names, where, strict=True) if hit], 5)
