"""A scikit-learn transformer that puts reports in the place of answers, inside a pipeline.

A pipeline calls `transform` when it likes: once for every fold of a cross-validation, again to predict, again in a
notebook cell that is run twice. Fresh draws would give several independent reports of one person, which together tell
more than one may. So all draws are keyed: the same person with the same answer gets the same report every time.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._common import checks
from .._common.frames import eager_frame
from .._common.words import missing, shorten
from ..certification.certified import Certified
from ..draw.columns import shown
from ..draw.keys import Keyed, check_columns_name, check_given_name
from ..errors import KeyingError, OptionError, ValuesError
from .job import labels_instead
from .privatize import privatize

try:
    from sklearn.base import BaseEstimator, TransformerMixin
    from sklearn.utils.validation import check_array, check_is_fitted, validate_data
except ImportError as error:
    raise missing("extremal.sklearn needs scikit-learn 1.6 or newer", "sklearn") from error


class Privatizer(TransformerMixin, BaseEstimator):  # type: ignore[misc] # scikit-learn has no types
    """Columns with reports in place of answers; the same person and answer give the same report in every call.

    Nothing is learnt from the data: `fit` notes the columns and looks at no value. Columns without a mechanism pass
    through as they are. Each private column is a secret of its own; answers that depend on each other are one secret,
    for which `extremal.privatize` has joint mechanisms.

    Parameters
    ----------
    mechanisms
        The certified mechanism of each private column by name, or one for all columns.
    keyed
        `extremal.Keyed` with the path of a key file, which `extremal.keys.write` or `extremal key` makes. The key is
        read when reports are drawn, and is in no parameter and no pickle. Its ids say who is who: the name of a column
        that holds one id for each person, or a function that takes the data and returns the ids. A column of ids is
        left out of the result. Another occasion draws new reports of the same people, which tell more.
    columns
        The names of the columns of an array, one text for each position, or a function that takes the data and returns
        them. Reports depend on these names, so name each column after its question. Frames bring their own names.
    unknown_as
        A label that missing and unknown values count as, or a mapping with one for each column. Without it they are
        refused.
    allow_true_answers
        Draw even with mechanisms whose reports disclose the answers, fully or nearly; they are refused otherwise.

    Attributes
    ----------
    n_features_in_
        How many columns there are.
    feature_names_in_
        Their names, if the data are a frame.
    kept_
        The positions of the columns that are in the result: all but that of the ids.
    """

    def __init__(
        self,
        mechanisms: Mapping[Any, Certified] | Certified | None = None,
        *,
        keyed: Keyed | None = None,
        columns: Sequence[str] | Callable[[Any], Sequence[str]] | None = None,
        unknown_as: Hashable | Mapping[Any, Hashable] = None,
        allow_true_answers: bool = False,
    ) -> None:
        self.mechanisms = mechanisms
        self.keyed = keyed
        self.columns = columns
        self.unknown_as = unknown_as
        self.allow_true_answers = allow_true_answers

    def fit(self, X: Any, y: Any = None) -> Privatizer:
        """Note the columns, after checking that the parameters fit them.

        Parameters
        ----------
        X
            A frame of pandas, polars or others, or an array with two dimensions.
        y
            Ignored.
        """
        data = self._data(X, reset=True)
        who = self._checked().ids
        names = self._names(data, X)
        private = self._private(names, who)
        absent = [name for name in private if name not in names]
        absent += [who] if not callable(who) and who not in names else []
        if absent:
            raise ValuesError(
                "must be a column of the data",
                parameter="a column with a mechanism, or ids,",
                given=shown(absent[0]),
                remedy=f"name one of {shorten(names, 20)}",
            )
        if not callable(who) and who in private:
            raise KeyingError("must be a column that stays as it is", parameter="ids", given=shown(who))
        self._of_array = isinstance(data, np.ndarray)
        for name in () if self._of_array else private:
            check_given_name(name)
        self._columns = names
        self.kept_ = [j for j, name in enumerate(names) if callable(who) or name != who]
        return self

    def transform(self, X: Any) -> Any:
        """Reports in place of answers: a frame of the same kind, or an array, without the column of ids.

        Parameters
        ----------
        X
            Data with the columns that `fit` saw. Every person must occur once.
        """
        check_is_fitted(self)
        data, keyed = self._data(X, reset=False), self._checked()
        array, who = isinstance(data, np.ndarray), keyed.ids
        if array != self._of_array:  # positions are no names, and keyed draws have names
            seen, given = ("an array", "a frame") if self._of_array else ("a frame", "an array")
            raise ValuesError(
                f"must be {seen}, as in fit", parameter="X", given=given, remedy="convert it, or fit again"
            )
        names = self._names(data, X)
        if names != self._columns:
            raise ValuesError(
                "must be the names that fit saw",
                parameter="columns",
                given=shorten(names, 20),
                remedy="reports depend on them: fit again",
            )
        chosen = self._private(names, who)
        unknown, allowed = self.unknown_as, self.allow_true_answers
        if unknown is not None and not isinstance(unknown, Mapping):
            unknown = dict.fromkeys(chosen, unknown)
        unknown = labels_instead(unknown, chosen)
        ids = who(X) if callable(who) else data[:, names.index(who)] if array else data[who]
        keyed = replace(keyed, key=keyed.secret, ids=ids)  # read once
        if not array:
            reports = privatize(data, chosen, keyed=keyed, unknown_as=unknown, allow_true_answers=allowed)
            return reports if callable(who) else eager_frame(reports).drop(who).to_native()
        columns = []
        for j in self.kept_:
            name, column = names[j], data[:, j]
            if name in chosen:
                how: Any = {"keyed": keyed, "column": name, "unknown_as": unknown.get(name)}
                column = chosen[name].privatize(column, **how, allow_true_answers=allowed)
            columns.append(column)
        arrays = [np.asarray(column) for column in columns]
        if arrays and all(array.dtype.kind in "biuf" for array in arrays):
            return np.column_stack(arrays)
        joined = np.empty((len(data), len(arrays)), dtype=object)
        for j, one in enumerate(arrays):
            joined[:, j] = one
        return joined

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """The names of the columns of the result.

        Parameters
        ----------
        input_features
            As many as `fit` saw; of a frame, the same. Columns of an array keep the names that `columns` gives them.
        """
        check_is_fitted(self)
        known = getattr(self, "feature_names_in_", None)
        names = self._columns if input_features is None else list(input_features)
        if len(names) != self.n_features_in_ or (known is not None and names != list(known)):
            raise ValueError("input_features must be the names of the columns that fit saw")
        return np.asarray([self._columns[j] for j in self.kept_], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True  # missing values are refused, or count as a label
        tags.input_tags.string = True
        tags.transformer_tags.preserves_dtype = []  # what comes out has the type of the labels
        return tags

    def _data(self, X: Any, *, reset: bool) -> Any:
        """The frame as it is, or the array; their width and names are those that fit saw."""
        if hasattr(X, "columns") and not isinstance(X, np.ndarray):
            validate_data(self, X, skip_check_array=True, reset=reset)
            return X
        array = check_array(X, dtype=None, ensure_all_finite=False, estimator=self)
        validate_data(self, X, skip_check_array=True, reset=reset)
        return array

    def _checked(self) -> Keyed:
        """What keys the draws, after checking that it and the mechanisms are given."""
        if self.mechanisms is None:
            raise OptionError(
                "must be given", parameter="mechanisms", remedy="certify a design: certify(design)"
            )
        remedy = "a pipeline draws repeatedly: write a key file with keys.write(path), and give keyed=Keyed(path, ids)"
        keyed = checks.instance(self.keyed, "keyed", Keyed, "a Keyed", remedy=remedy, error=KeyingError)
        if isinstance(keyed.key, bytes):
            raise KeyingError(
                "must be the path of a key file",
                parameter="key",
                given="the key itself, which would be in every pickle of the pipeline",
                remedy="write one with keys.write(path)",
            )
        return keyed

    def _private(self, names: list[Any], who: Any) -> dict[Any, Certified]:
        """The mechanism of each private column; `who` names the column of ids, or makes them."""
        if isinstance(self.mechanisms, Mapping):
            return dict(self.mechanisms)
        one: Any = self.mechanisms
        return {name: one for name in names if callable(who) or name != who}

    def _names(self, data: Any, X: Any) -> list[Any]:
        """The names of the columns: those of a frame, or those that the caller gives to an array."""
        own = None if isinstance(data, np.ndarray) else list(eager_frame(data).columns)
        if self.columns is None:
            if own is not None:
                return own
            raise KeyingError(
                "must name the columns of an array",
                parameter="columns",
                given="none: under a position two questions of two arrays would share their noise",
                remedy='e.g. columns=["person", "visits", "age"], or give a frame',
            )
        found = self.columns(X) if callable(self.columns) else self.columns
        names = [] if isinstance(found, str) else list(found)
        if len(names) != data.shape[1] or len(set(names)) < len(names) or (own is not None and names != own):
            raise KeyingError(
                f"must be {data.shape[1]} different names"
                if own is None
                else "must be the names of the frame, or left out",
                parameter="columns",
                given=shown(found),
            )
        return [check_columns_name(name) for name in names]
