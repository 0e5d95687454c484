"""Formulas: which columns they name, and the design matrices that they make of a frame."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._common.types import Floats, Ints
from ..._common.words import missing
from ...errors import OptionError, ValuesError
from ...model.labels import Labels


@dataclass(frozen=True, eq=False)
class Parsed:
    """A formula: the outcome's column, or an expression of columns, and the terms on the right."""

    text: str
    outcome: str
    outcome_columns: frozenset[str]
    columns: frozenset[str]  # those on the right
    terms: Any  # formulaic's

    @property
    def plain(self) -> bool:
        """Whether the outcome is a column as it stands."""
        return self.outcome_columns == {self.outcome}


def parse(text: Any, *, intercept: bool = False) -> Parsed:
    """The formula that a text stands for; with an intercept whatever it says, if asked for.

    Parameters
    ----------
    text
        Such as "party ~ age + C(sex)".
    intercept
        For models whose thresholds take the place of the intercept.
    """
    formulaic = _formulaic()
    if not isinstance(text, str) or text.count("~") != 1 or not text.partition("~")[0].strip():
        raise OptionError(
            "must be text like outcome ~ covariate + C(category)",
            parameter="formula",
            given=repr(text)[:80],
            remedy="name the outcome before one ~",
        )
    try:
        whole = formulaic.Formula(text + " + 1" if intercept else text)
        left, right = list(whole.lhs), whole.rhs
        used = frozenset(map(str, right.required_variables))
        outcome_columns = frozenset(map(str, whole.lhs.required_variables))
    except (formulaic.errors.FormulaicError, AttributeError, SyntaxError) as error:
        if "`.` operator" in str(error):
            raise OptionError(
                "must name its columns", parameter="formula", given=repr(text)[:80], remedy="replace the dot"
            ) from None
        raise OptionError(
            f"cannot be read: {_one_line(error)}", parameter="formula", given=repr(text)[:80]
        ) from None
    if len(left) != 1 or not outcome_columns:
        raise OptionError("must have one column before the ~", parameter="formula", given=repr(text)[:80])
    if not len(list(right)):
        raise OptionError(
            "must have something after the ~",
            parameter="formula",
            given=repr(text)[:80],
            remedy="write 1 for an intercept alone",
        )
    only = next(iter(outcome_columns))
    written = str(left[0]).strip().strip("`")
    return Parsed(text, only if written == only else written, outcome_columns, used, right)


@dataclass(frozen=True, eq=False)
class Design:
    """How the terms of a formula make columns of numbers; the same for every frame, new ones included."""

    spec: Any  # formulaic's ModelSpec
    names: tuple[str, ...]
    terms: Mapping[str, slice]

    @classmethod
    def of(cls, terms: Any, frame: Any) -> tuple[Design, Floats]:
        """The design that a frame defines, levels and centres included, and its matrix."""
        found = _materialized(lambda: terms.get_model_matrix(frame, **_HOW))
        spec = found.model_spec
        names = tuple(map(str, spec.column_names))
        slices = {str(term): part for term, part in spec.term_slices.items()}
        return cls(spec, names, slices), _numbers(found, names)

    def matrix(self, frame: Any) -> Floats:
        """The matrix of another frame."""
        found = _materialized(lambda: self.spec.get_model_matrix(frame, **_HOW))
        return _numbers(found, self.names)

    @property
    def categorical(self) -> dict[str, list[Any]]:
        """Factor, as written in the formula -> its levels, the reference first."""
        return {str(factor): list(state.levels) for factor, state in self.spec.factor_contrasts.items()}

    def uses(self, term: str) -> set[str]:
        """The variables of a term."""
        return {
            str(name)
            for found, names in self.spec.term_variables.items()
            if str(found) == term
            for name in names
        }


_HOW: dict[str, Any] = {"context": {"np": np}, "na_action": "ignore", "output": "numpy"}


def clear_terms(terms: Any, private: set[str]) -> Any:
    """The terms that hold no private column, with an intercept: what P(private | the rest) may depend on."""
    formulaic = _formulaic()
    kept = [
        term for term in terms if not (set(map(str, formulaic.Formula([term]).required_variables)) & private)
    ]
    rest = [term for term in kept if str(term) != "1"]
    return formulaic.Formula(["1", *rest])


def check_columns(wanted: Sequence[str], there: Sequence[str], what: str = "the formula") -> None:
    """Refuse columns that the data do not have."""
    known = set(there)
    for name in wanted:
        if name not in known:
            near = difflib.get_close_matches(name, list(there), n=1)
            shown = ", ".join(there[:12]) + (f", … {len(there) - 12} more" if len(there) > 12 else "")
            raise ValuesError(
                f"{what} names the column {name!r}, which the data do not have",
                given=f"columns {shown}",
                remedy=f"did you mean {near[0]}?" if near else "correct the name",
            )


def constant(label: Any, labels: Labels, n: int) -> Any:
    """A column that holds one label of a private column in every row."""
    return _column(labels, np.full(n, labels.index(label)))


def cycled(labels: Labels, n: int) -> Any:
    """A column that holds the labels of a private column in turn."""
    return _column(labels, np.resize(np.arange(len(labels)), n))


def _column(labels: Labels, places: Ints) -> Any:
    """Labels of a private column inside of a design: numbers stay numbers, others are categories."""
    import pandas as pd

    if all(isinstance(x, int | float | np.number) and not isinstance(x, bool) for x in labels):
        return np.array(labels)[places]
    return pd.Categorical.from_codes(places, dtype=pd.CategoricalDtype([str(x) for x in labels]))


def _formulaic() -> Any:
    try:
        import formulaic
        import formulaic.errors
    except ImportError:
        raise missing("regression needs formulaic", "regression") from None
    return formulaic


def _materialized(make: Any) -> Any:
    formulaic = _formulaic()
    try:
        with np.errstate(all="ignore"):
            return make()
    except (formulaic.errors.FormulaicError, TypeError, ValueError, NameError) as error:
        raise OptionError(f"the formula cannot be evaluated: {_one_line(error)}") from None


def _numbers(found: Any, names: tuple[str, ...]) -> Floats:
    X = np.ascontiguousarray(np.asarray(found, dtype=np.float64))
    finite = np.isfinite(X)
    if not finite.all():
        k = int(np.argmin(finite.all(axis=0)))
        raise ValuesError(
            f"{names[k]} must be a finite number in every row",
            given=f"{int((~finite[:, k]).sum())} rows where it is not",
            remedy="drop these rows, or change the term",
        )
    return X + 0.0  # -0.0 becomes 0.0, so that equal rows have equal bytes


def _one_line(error: BaseException) -> str:
    text = re.sub(r"\x1b\[[0-9;]*m|⧛|⧚|\[[0-9;]+m", "", str(error))
    return " ".join(text.split())[:200]
