"""The columns that a formula names, from any frame, mapping or file; and the design matrices that it makes of them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._common import checks
from ..._common.files import file_name
from ..._common.frames import eager_frame
from ..._common.types import Bools, Floats, Ints
from ..._common.words import missing as missing_package
from ...errors import FileError, OptionError, ValuesError
from ...model.labels import Labels
from ..counts import report_codes

# What stands for a missing covariate in a CSV file; "None" is often an answer.
ABSENT = ["", "NA", "N/A", "NaN", "nan", "null", "NULL"]


@dataclass(frozen=True, eq=False)
class Parsed:
    """A formula: the outcome's column, or an expression of columns, and the terms on the right."""

    text: str
    outcome: str
    outcome_columns: frozenset[str]
    columns: frozenset[str]  # those on the right
    terms: Any  # formulaic's

    @property
    def used(self) -> list[str]:
        """All columns, those of the outcome first."""
        return list(dict.fromkeys([*sorted(self.outcome_columns), *sorted(self.columns)]))

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

    def refused(problem: str, remedy: str | None = None) -> OptionError:
        return OptionError(problem, parameter="formula", given=repr(text)[:80], remedy=remedy)

    if not isinstance(text, str) or text.count("~") != 1 or not text.partition("~")[0].strip():
        raise refused("must be text like outcome ~ covariate + C(category)", "name the outcome before one ~")
    try:
        whole = formulaic.Formula(text + " + 1" if intercept else text)
        left, right = list(whole.lhs), whole.rhs
        used = frozenset(map(str, right.required_variables))
        outcome_columns = frozenset(map(str, whole.lhs.required_variables))
    except (formulaic.errors.FormulaicError, AttributeError, SyntaxError) as error:
        if "`.` operator" in str(error):
            raise refused("must name its columns", "replace the dot") from None
        raise refused(f"cannot be read: {_one_line(error)}") from None
    if len(left) != 1 or not outcome_columns:
        raise refused("must have one column before the ~")
    if not len(list(right)):
        raise refused("must have something after the ~", "write 1 for an intercept alone")
    only = next(iter(outcome_columns))
    written = str(left[0]).strip().strip("`")
    return Parsed(text, only if written == only else written, outcome_columns, used, right)


@dataclass(frozen=True, eq=False)
class ModelMatrix:
    """How the terms of a formula make columns of numbers; the same for every frame, new ones included."""

    spec: Any  # formulaic's ModelSpec
    names: tuple[str, ...]
    terms: Mapping[str, slice]

    @classmethod
    def of(cls, terms: Any, frame: Any) -> tuple[ModelMatrix, Floats]:
        """The design that a frame defines, levels and centres included, and its matrix."""
        found = _materialized(terms, frame)
        spec = found.model_spec
        names = tuple(map(str, spec.column_names))
        slices = {str(term): part for term, part in spec.term_slices.items()}
        return cls(spec, names, slices), _numbers(found, names)

    def matrix(self, frame: Any) -> Floats:
        """The matrix of another frame."""
        return _numbers(_materialized(self.spec, frame), self.names)

    @property
    def categorical(self) -> dict[str, list[Any]]:
        """Factor, as written in the formula -> its levels, the reference first."""
        return {str(factor): list(state.levels) for factor, state in self.spec.factor_contrasts.items()}


_HOW: dict[str, Any] = {"context": {"np": np}, "na_action": "ignore", "output": "numpy"}


def clear_terms(terms: Any, private: set[str]) -> Any:
    """The terms that hold no private column, with an intercept: what P(private | the rest) may depend on."""
    formulaic = _formulaic()
    kept = [
        term for term in terms if not (set(map(str, formulaic.Formula([term]).required_variables)) & private)
    ]
    rest = [term for term in kept if str(term) != "1"]
    return formulaic.Formula(["1", *rest])


def labelled(labels: Labels, places: Ints) -> Any:
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
        raise missing_package("regression needs formulaic", "regression") from None
    return formulaic


def _materialized(terms: Any, frame: Any) -> Any:
    formulaic = _formulaic()
    try:
        with np.errstate(all="ignore"):
            return terms.get_model_matrix(frame, **_HOW)
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


@dataclass(frozen=True)
class File:
    """A CSV or Parquet file, with what its name does not say."""

    path: str
    format: str | None = None
    delimiter: str | None = None


def read(data: Any, wanted: Sequence[str], private: Sequence[str]) -> Any:
    """A pandas frame with the columns wanted; private columns of a CSV file stay text.

    Parameters
    ----------
    data
        Any eager frame that narwhals knows, a mapping name -> array, a File or the path of one.
    wanted
        The columns to read.
    private
        Those of them that hold reports.
    """
    import pandas as pd

    if isinstance(data, str | os.PathLike):
        data = File(file_name(data, "data", FileError))
    if isinstance(data, File):
        return _from_file(data, wanted, private)
    if isinstance(data, Mapping):
        checks.columns(wanted, data, "the data")
        columns = {name: data[name] for name in wanted}
        lengths = {name: len(column) for name, column in columns.items()}
        if len(set(lengths.values())) > 1:
            raise ValuesError("columns must be of one length", given=f"{lengths}"[:120])
        try:
            return _native(pd.DataFrame({name: _plain(column) for name, column in columns.items()}))
        except ValueError as error:
            raise ValuesError("columns must hold one value for each person", given=str(error)[:80]) from None
    return _native(_from_frame(data, wanted))


def _native(frame: Any) -> Any:
    """The frame with numbers in the byte order of this machine: pandas counts no others."""
    orders = {
        name: kind.newbyteorder("=")
        for name, kind in frame.dtypes.items()
        if isinstance(kind, np.dtype) and not kind.isnative
    }
    return frame.astype(orders) if orders else frame


def _from_frame(data: Any, wanted: Sequence[str]) -> Any:
    import pandas as pd

    frame = eager_frame(data, "data")
    checks.columns(wanted, frame.columns, "the data")
    native = frame.to_native()
    if isinstance(native, pd.DataFrame):
        return native[list(wanted)].reset_index(drop=True)
    return pd.DataFrame({name: _plain(frame.get_column(name)) for name in wanted})


def _plain(column: Any) -> Any:
    """A column as pandas holds it; the levels of an Enum keep their order."""
    import narwhals as nw
    import pandas as pd

    if isinstance(column, pd.Series):
        return column.array
    if isinstance(column, pd.Categorical):
        return column
    if isinstance(column, list | tuple):
        return list(column)
    try:
        series = nw.from_native(column, series_only=True, allow_series=True)
    except TypeError:
        return np.asarray(column)
    if isinstance(series.dtype, nw.Enum):
        return pd.Categorical(series.to_list(), categories=list(series.dtype.categories))
    if series.dtype.is_numeric() or series.dtype == nw.Boolean:
        return series.to_numpy()
    return pd.Series(series.to_list(), dtype=object)


def _from_file(file: File, wanted: Sequence[str], private: Sequence[str]) -> Any:
    import pandas as pd

    from ...release.files.labelled import LabelledData
    from ...release.files.parquet import ParquetData
    from ...release.files.source import open_data

    path = file.path
    opened = open_data(path, list(wanted), file.format, file.delimiter)
    if isinstance(opened, ParquetData):
        import pyarrow.parquet as pq

        return _from_frame(pq.read_table(path, columns=list(wanted)), wanted)
    if isinstance(opened, LabelledData):
        import pyarrow as pa

        return _from_frame(pa.table({name: next(opened.ids(name)) for name in wanted}), wanted)
    try:
        return pd.read_csv(
            path,
            sep=opened.header.delimiter,
            usecols=list(wanted),
            dtype=dict.fromkeys(private, str),
            keep_default_na=False,
            na_values={name: [""] if name in private else ABSENT for name in wanted},
            encoding="utf-8-sig",
            low_memory=False,
        )[list(wanted)]
    except (ValueError, UnicodeDecodeError) as error:
        raise FileError(
            "must be a CSV file", parameter="data", given=" ".join(str(error).split())[:200]
        ) from None


def check_kind(column: Any, name: str) -> None:
    """Refuse dates and times, of which no model says what they mean."""
    if column.dtype.kind in "mM":
        raise ValuesError(
            f"the column {name!r} must hold numbers, text or truth values",
            given=str(column.dtype),
            remedy="convert dates to numbers first, such as years",
        )


def missing(column: Any) -> Bools:
    """The rows that have no value."""
    import pandas as pd

    return np.asarray(pd.isna(column), dtype=bool)


def codes(column: Any, labels: Labels, name: str) -> Ints:
    """The number of the label in each row, texts that are written like a label included; -1 if there is none."""
    found, there = np.full(len(column), -1, dtype=np.int64), ~missing(column)
    try:
        found[there] = report_codes(labels, column[there])
    except ValuesError as error:
        raise error.within(f"column {name!r}: ", ValuesError) from None
    return found
