"""What arguments must be. Each function gives the value back as it is used, or raises one structured error.

    number, whole, confidence           one number within bounds
    numbers, increasing, probabilities  a vector of finite numbers: of any kind, growing, or a distribution
    matrix                              a matrix of finite numbers
    choice, label, labels, cover        one of the words, or one, some or all of the labels, that are known
    length                              something with one element for each of so many others
    instance, function                  a value of some type, or something that can be called
    mapping                             a mapping that is not empty

They share their last arguments. `parameter` is the name in the signature, or the option or field that a person sees;
`remedy` says what to do; `error` is the kind of error where it is not an OptionError. What is not on this list is
raised where it is found, as `Error("must be …", parameter=…, given=…, remedy=…)`.
The name of a file is checked by `files.file_name`, an array of any shape is read by `floats`.
"""

from __future__ import annotations

import math
import numbers as abstract
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from decimal import Decimal
from difflib import get_close_matches
from typing import Any, TypedDict, TypeVar, Unpack

import numpy as np

from ..errors import ExtremalError, OptionError, ValuesError
from .types import Floats
from .words import brief, cut, listed, shorten

_T = TypeVar("_T")


class How(TypedDict, total=False):
    """What every check can be told: what to do, and the kind of error where it is not an OptionError."""

    remedy: str | None
    error: type[ExtremalError]


AS_THEY_ARE = "labels are compared as they are: 1 is not '1'"
EQUAL_ROWS = "give rows of equal length"
SUM_SLACK = 1e-9  # by which the sum of probabilities may differ from 1


def number(
    value: Any,
    parameter: str,
    *,
    above: float | None = None,
    least: float | None = None,
    below: float | None = None,
    most: float | None = None,
    **how: Unpack[How],
) -> float:
    """The value as a float, if it is a finite number within the bounds; truth values and text are no numbers."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if isinstance(value, abstract.Real | Decimal) and not isinstance(value, bool | np.bool_):
        try:
            found = float(value)
        except OverflowError:  # an int or a fraction that no double holds
            found = np.inf
        if (
            np.isfinite(found)
            and (above is None or found > above)
            and (least is None or found >= least)
            and (below is None or found < below)
            and (most is None or found <= most)
        ):
            return found
    if least is not None and most is not None:
        bounds = f" from {least:g} to {most:g}"
    else:
        sides = (("above", above), (">=", least), ("below", below), ("at most", most))
        bounds = " and".join(f" {word} {bound:g}" for word, bound in sides if bound is not None)
    raise _refusal(f"must be a number{bounds}", parameter, value, how)


def whole(
    value: Any,
    parameter: str,
    *,
    least: int = 0,
    most: int | None = None,
    **how: Unpack[How],
) -> int:
    """The value as an int, if it is a whole number within the bounds."""
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        found = int(value)
        if found >= least and (most is None or found <= most):
            return found
    bounds = f">= {least}" if most is None else f"from {least} to {most}"
    raise _refusal(f"must be a whole number {bounds}", parameter, value, how, f"e.g. {least}")


def confidence(value: Any, parameter: str = "confidence", *, remedy: str = "0.95 is usual") -> float:
    """A confidence level or a power: a number above 0 and below 1."""
    return number(value, parameter, above=0, below=1, remedy=remedy)


def numbers(
    values: Any,
    parameter: str,
    *,
    size: int | None = None,
    finite: bool = True,
    **how: Unpack[How],
) -> Floats:
    """A fresh vector of finite numbers: one for each of `size` things, such as answers, if a size is given."""
    found = _vector(values)
    if found is None or (finite and not np.isfinite(found).all()):
        problem = f"must be a list of {'finite ' * finite}numbers"
        raise _refusal(problem, parameter, values, how, "give a flat list of numbers")
    if size is not None:
        length(found, parameter, size, "answer", **how)
    return found


def increasing(
    values: Any,
    parameter: str,
    *,
    count: int = 1,
    finite: bool = False,
    **how: Unpack[How],
) -> Floats:
    """A vector of at least `count` numbers, each above the one before; infinite ones may be the first and the last."""
    found = _vector(values)
    rising = found is not None and len(found) >= count and bool(np.all(found[1:] > found[:-1]))
    if found is None or not rising or (finite and not np.isfinite(found).all()):
        raise _refusal(f"must be at least {count} increasing numbers", parameter, values, how)
    return found


def probabilities(values: Any, parameter: str, **how: Unpack[How]) -> Floats:
    """A fresh vector of numbers >= 0 that sum to 1 up to rounding."""
    found = _vector(values)
    if found is None or not np.all((found >= 0) & (found < np.inf)) or abs(math.fsum(found) - 1) > SUM_SLACK:
        raise _refusal(
            "must be a probability distribution",
            parameter,
            values,
            how,
            "give finite numbers >= 0 that sum to 1",
        )
    return found


def matrix(
    values: Any,
    parameter: str,
    *,
    shape: tuple[int | None, int | None] = (None, None),
    square: bool = False,
    **how: Unpack[How],
) -> Floats:
    """A fresh matrix of finite numbers, which is not empty, with as many rows and columns as are asked for."""
    try:
        found = floats(values)
    except (TypeError, ValueError, OverflowError):
        found = np.zeros(0)
    if found.ndim != 2 or found.size == 0 or not np.isfinite(found).all():
        raise _refusal("must be a finite matrix", parameter, values, how, EQUAL_ROWS)
    rows, columns = (len(found), len(found)) if square else shape
    if rows not in (None, len(found)) or columns not in (None, found.shape[1]):
        sizes = [f"{n} {what}" for n, what in ((rows, "rows"), (columns, "columns")) if n is not None]
        problem = f"must have {' and '.join(sizes)}"
        raise _wrong(problem, parameter, f"shape {found.shape}", how, EQUAL_ROWS)
    return found


def choice(value: Any, parameter: str, known: Iterable[str], **how: Unpack[How]) -> str:
    """The value, if it is one of the words that are known."""
    words = list(known)
    if isinstance(value, str) and value in words:
        return value
    raise _refusal(f"must be one of {', '.join(words)}", parameter, value, how)


def label(value: Any, parameter: str, known: Sequence[Hashable], **how: Unpack[How]) -> int:
    """The position of the value among the labels that are known."""
    try:
        return known.index(value)
    except (TypeError, ValueError):  # numpy's arrays do not compare
        problem = f"must be one of {shorten(known)}"
        raise _refusal(problem, parameter, value, how, AS_THEY_ARE) from None


def labels(
    values: Iterable[Any],
    parameter: str,
    known: Iterable[Hashable],
    **how: Unpack[How],
) -> None:
    """Refuse values that are not among the labels that are known."""
    names = tuple(known)
    known_names = set(names)
    strange = [value for value in values if not _is_in(value, known_names)]
    if strange:
        raise _wrong(f"must be among {shorten(names)}", parameter, shorten(strange, 3), how, AS_THEY_ARE)


def cover(
    values: Iterable[Hashable],
    parameter: str,
    wanted: Iterable[Hashable],
    **how: Unpack[How],
) -> None:
    """Refuse values among which a label is missing; there may be more."""
    there = set(values)
    absent = [name for name in wanted if name not in there]
    if absent:
        given = f"none for {shorten(absent, 3)}"
        raise _wrong("must cover every label", parameter, given, how, "add what is missing")


def columns(wanted: Iterable[Any], there: Iterable[Any], where: str) -> None:
    """Refuse names of columns that are not there; one that is nearly like one is asked about."""
    known = list(there)
    for name in wanted:
        if name not in known:
            plain = {str(column).strip().casefold(): column for column in known}
            near = get_close_matches(str(name).strip().casefold(), plain, n=1)
            remedy = f"did you mean {cut(plain[near[0]])}?" if near else "correct the name"
            raise ValuesError(f"{where} must have the column {name!r}", given=listed(known), remedy=remedy)


def length(
    values: Sequence[_T] | np.ndarray[Any, Any],
    parameter: str,
    size: int,
    each: str,
    **how: Unpack[How],
) -> None:
    """Refuse what has not one element for each of `size` things, such as "report"."""
    if len(values) != size:
        raise _wrong(
            f"must be one for each {each}, {size} in all", parameter, len(values), how, "give as many"
        )


def instance(
    value: Any,
    parameter: str,
    kind: type[_T] | tuple[type[_T], ...],
    words: str,
    **how: Unpack[How],
) -> _T:
    """The value, if it is of the type, which is called `words`: "a Prior"."""
    if isinstance(value, kind):
        return value
    raise _refusal(f"must be {words}", parameter, value, how)


def function(value: Any, parameter: str, arguments: str, **how: Unpack[How]) -> Callable[..., Any]:
    """The value, if it can be called; `arguments` says with what: "(value, upper bound)"."""
    if callable(value):
        return value  # type: ignore[no-any-return]
    raise _refusal(f"must be a function of {arguments}", parameter, value, how)


def mapping(value: Any, parameter: str, words: str, **how: Unpack[How]) -> Mapping[Any, Any]:
    """The value, if it is a mapping with at least one entry; `words` says from what to what: "name -> labels"."""
    if isinstance(value, Mapping) and value:
        return value
    raise _refusal(f"must be a mapping {words}", parameter, value, how)


def floats(values: Any) -> Floats:
    """A fresh array of the numbers given, also infinite ones. Text raises TypeError, though numpy would convert it."""
    if isinstance(values, np.ma.MaskedArray):
        values = np.ma.filled(values.astype(np.float64), np.nan)
    raw = np.asarray(values)
    text = raw.dtype.kind == "O" and any(isinstance(value, str | bytes) for value in raw.flat)
    if text or raw.dtype.kind not in "biufO":
        raise TypeError("not numbers")
    return np.array(raw, dtype=np.float64)


def _vector(values: Any) -> Floats | None:
    try:
        found = floats(values)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if found.ndim == 1 else None


def _is_in(value: Any, names: Set[Hashable]) -> bool:
    try:
        return value in names
    except TypeError:  # not hashable, so no label
        return False


def _refusal(problem: str, parameter: str, value: Any, how: How, remedy: str | None = None) -> ExtremalError:
    return _wrong(problem, parameter, brief(value, 60), how, remedy)


def _wrong(problem: str, parameter: str, given: Any, how: How, remedy: str | None) -> ExtremalError:
    """The error, with the usual remedy where the caller has none."""
    remedy = how.get("remedy") or remedy
    return how.get("error", OptionError)(problem, parameter=parameter, given=given, remedy=remedy)
