"""Which model a regression uses: by its name, or by the outcome."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._common import checks
from ..._common.words import shorten
from ...errors import OptionError
from ...model.labels import Labels
from .families import LOGIT, PROBIT, Binary, Family, Gaussian, Multinomial, Ordinal, Poisson

TITLES = {
    "logit": "logit",
    "probit": "probit",
    "multinomial": "multinomial logit",
    "ordinal": "ordinal logit",
    "ordinal-probit": "ordinal probit",
    "gaussian": "linear model",
    "poisson": "Poisson model",
}
DISCRETE = ("logit", "probit", "multinomial", "ordinal", "ordinal-probit")


def check_model(model: Any) -> str | None:
    """The name of a model, None for the default; "binomial" is another name of the logit model."""
    if model == "binomial":
        return "logit"
    return (
        None
        if model is None
        else checks.choice(model, "model", TITLES, remedy="leave it out for the usual one")
    )


def family_of(model: str, answers: int) -> Family:
    """The family of a model for an outcome with so many answers."""
    if model in ("logit", "probit") and answers != 2:
        raise OptionError(
            f"{model} is a model of 2 answers",
            given=f"{answers} answers",
            remedy='use `model="multinomial"` or `model="ordinal"`',
        )
    if model in DISCRETE and answers < 2:
        raise OptionError("an outcome must have at least 2 answers", given=answers)
    match model:
        case "logit":
            return Binary(LOGIT)
        case "probit":
            return Binary(PROBIT)
        case "multinomial":
            return Multinomial(answers)
        case "ordinal":
            return Ordinal(answers, LOGIT)
        case "ordinal-probit":
            return Ordinal(answers, PROBIT)
        case "gaussian":
            return Gaussian()
        case _:
            return Poisson()


def default_model(answers: int) -> str:
    """The usual model of a discrete outcome."""
    return "logit" if answers == 2 else "multinomial"


def model_of_clear(column: Any, model: str | None) -> str:
    """The model of an outcome in the clear: numbers with more than two values have a mean, others shares."""
    if model is not None:
        return model
    import pandas as pd

    counted = int(pd.Series(column).nunique())
    numeric = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    return "gaussian" if numeric and counted > 2 else default_model(counted)


def ordered(labels: Labels, answers: Sequence[Any] | None, model: str) -> tuple[Any, ...]:
    """The answers in the order of the model: those named first, the rest as the mechanism has them.

    The first is the reference of a multinomial model, the lowest of an ordinal one.
    """
    if answers is None:
        return tuple(labels)
    given = [answers] if isinstance(answers, str) or not isinstance(answers, Sequence) else list(answers)
    texts = {str(x): x for x in labels}
    named = [x if x in labels else texts.get(str(x)) for x in given]
    if None in named or len(set(named)) < len(named):
        raise OptionError(
            f"must be different labels of {shorten(labels)}", parameter="answers", given=repr(given)[:80]
        )
    if model.startswith("ordinal") and len(named) < len(labels):
        raise OptionError(
            f"must name all {len(labels)} answers of an ordinal model, from the lowest to the highest",
            parameter="answers",
            given=f"{len(named)}",
        )
    return (*named, *(x for x in labels if x not in set(named)))


def clear_levels(column: Any) -> Labels:
    """The answers of a discrete outcome in the clear: declared categories, or its values in their order."""
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        return tuple(column.cat.categories)
    values = pd.unique(column.dropna())
    try:
        return tuple(x.item() if isinstance(x, np.generic) else x for x in sorted(values))
    except TypeError:
        return tuple(sorted(values, key=str))
