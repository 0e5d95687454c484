"""regress(): models of answers that are known through reports alone."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from ..._confidence import check_confidence
from ..._types import Bools, Floats, Ints
from ...certification.certified import Certified
from ...errors import OptionError, ValuesError
from ...model.labels import Labels
from ...model.mechanism import Mechanism
from . import columns, models
from .assembly import Assembly
from .corrected import DIFFERENT, fit_corrected, misfit
from .covariance import ERRORS, covariance
from .families import Family, Gaussian, Ordinal
from .fit import fit
from .formula import Design, Parsed, check_columns, clear_terms, constant, cycled, parse
from .likelihood import Channel
from .private import Combinations, Release, check_rank, releases
from .result import MisfitWarning, Regression, Source
from .summary import DOUBT

Model = Literal[
    "logit", "probit", "multinomial", "ordinal", "ordinal-probit", "gaussian", "poisson", "binomial"
]
PREDICTORS = ("covariates", "shares", "prior", "corrected")


def regress(
    mechanism: Certified | Mechanism | Mapping[Any, Certified | Mechanism],
    formula: str,
    data: Any,
    *,
    model: Model | None = None,
    answers: Sequence[Any] | None = None,
    predictors: Literal["covariates", "shares", "prior", "corrected"] = "covariates",
    weights: Any = None,
    clusters: Any = None,
    errors: Literal["information", "robust", "cluster"] | None = None,
    confidence: float = 0.95,
) -> Regression:
    """The most likely coefficients of a model of true answers, from reports of them.

    A report y of a person with covariates z has probability Σ_x P(y|x) p(x|z): the model is about the true answer x,
    and P is the mechanism. With the identity as mechanism the results are those of an ordinary regression.

    Parameters
    ----------
    mechanism
        The mechanism that made the reports in the outcome's column; or a mapping column -> mechanism for private
        outcomes and predictors, in which a tuple of columns stands for reports that were drawn together.
    formula
        Such as "party ~ age + C(sex)", as formulaic reads it. Private columns are named like others.
    data
        Any frame that narwhals knows, a mapping name -> array, or the path of a CSV or Parquet file. Private columns
        hold reports. Rows with missing values are dropped, and `dropped` counts them.
    model
        "logit", "probit", "multinomial", "ordinal", "ordinal-probit"; for an outcome in the clear also "gaussian"
        and "poisson". By default logit or multinomial by the number of answers, "gaussian" for an outcome in the clear
        that is a number with more than two values.
    answers
        Labels of the outcome in the order of the model, if that of the mechanism will not do: the first is the
        reference, and the lowest of an ordinal model.
    predictors
        How private predictors depend on the rest: "covariates" (the default) fits a multinomial logit on the terms
        without private columns beside the model, "shares" the same shares for everybody, "prior" takes those that the
        mechanism was certified for as given. These three are likelihoods: where the outcome's model is wrong, private
        predictors are blamed for it, and a MisfitWarning says so. "corrected" needs neither a likelihood nor a model of
        the predictors: it corrects scores by the inverse of the mechanism; it is less precise where the model is right.
    weights
        Sampling weights: a column's name, or one number >= 0 a row.
    clusters
        What rows belong together: a column's name, or one value a row.
    errors
        "information", "robust" (sandwich) or "cluster". By default "cluster" if there are clusters, "robust" if there
        are weights or predictors="corrected", else "information".
    confidence
        Of each interval by itself.

    Returns
    -------
    Regression
        Coefficients, tests, predicted shares and average marginal effects.
    """
    level = check_confidence(confidence)
    chosen = models.check_model(model)
    parsed = parse(formula, intercept=chosen is not None and chosen.startswith("ordinal"))
    found = releases(mechanism, parsed)
    if predictors not in PREDICTORS:
        raise OptionError(
            f"must be one of {', '.join(PREDICTORS)}", parameter="predictors", given=f"{predictors!r}"
        )
    how = _errors(errors, clusters, weights is not None or predictors == "corrected")
    if predictors == "corrected" and how == "information":
        raise OptionError(
            "corrected scores have no information matrix", parameter="errors", remedy='use `errors="robust"`'
        )
    frame, weight, cluster, dropped, reports = _rows(parsed, found, data, weights, clusters)
    if how != "information":
        weight = weight * (len(weight) / weight.sum())
    name, labels, family = _outcome(parsed, found, frame, chosen, answers)
    outcome = parsed.outcome
    combinations = Combinations.of(found, outcome)
    for release in found:
        own = release.names != (outcome,)
        if own and predictors != "prior":
            check_rank(release, "shares and coefficients cannot be estimated together")
        elif not own and not isinstance(family, Ordinal):
            check_rank(release, "the model's coefficients are not determined")
    channels = [
        combinations.channel(release, codes, outcome, labels)
        for release, codes in zip(found, reports, strict=True)
    ]
    number = None
    if outcome not in {x for release in found for x in release.names}:
        column = _evaluated(parsed, frame)
        if labels:
            codes = columns.codes(column, labels, outcome)
            channels.append(Channel(codes, np.eye(len(labels))[:, None]))
        else:
            number = _number(column, outcome, family)
    design, designs = _designs(parsed, combinations, found, frame)
    covariates, covariate_design = None, None
    if combinations.names and predictors in ("covariates", "shares"):
        without = combinations.names if predictors == "covariates" else parsed.columns
        right = clear_terms(parsed.terms, set(without))
        covariate_design, covariates = Design.of(right, frame)
    assembly = Assembly(
        family,
        labels,
        design.names,
        {term: range(part.start, part.stop) for term, part in design.terms.items()},
        designs,
        tuple(channels),
        weight,
        weight * weight,
        cluster,
        number,
        combinations.labels,
        covariates,
        () if covariate_design is None else covariate_design.names,
        combinations.log_prior(found, outcome) if combinations.names and predictors == "prior" else None,
        _corrections(combinations, found, reports, channels, outcome) if combinations.names else None,
    )
    grouped = assembly.grouped()
    source = Source(parsed, found, combinations, design, covariate_design, frame, weight)
    doubt = None
    if combinations.names and predictors == "corrected":
        fitted = fit_corrected(grouped, len(frame))
        grouped = fitted.prepared.assembly
    else:
        fitted = fit(grouped, len(frame))
        if combinations.names and predictors != "prior" and cluster is None:
            doubt = misfit(fitted, grouped, len(frame))
    if doubt is not None and doubt < DIFFERENT:
        warnings.warn(MisfitWarning(f"{parsed.text}: {DOUBT}"), stacklevel=2)
    return Regression(
        formula=parsed.text,
        model=name,
        answers=labels,
        private=tuple(x for release in found for x in release.names),
        predictors=predictors if combinations.names else None,
        rows=len(frame),
        dropped=dropped,
        weighted=weights is not None,
        clusters=None if cluster is None else int(cluster.max()) + 1,
        errors=how,
        confidence=level,
        coefficients=fitted.coefficients,
        covariance=covariance(fitted, grouped, how, len(frame)),
        log_likelihood=fitted.log_likelihood,
        misfit=doubt,
        fitted=fitted,
        assembly=grouped,
        source=source,
    )


def _corrections(
    combinations: Combinations,
    found: Sequence[Release],
    reports: Sequence[Ints],
    channels: Sequence[Channel],
    outcome: str,
) -> tuple[Floats, ...] | None:
    """For each channel the table of corrections, that of the outcome as it is; None if one holds both."""
    tables = [channel.table for channel in channels]
    for k, (release, codes) in enumerate(zip(found, reports, strict=True)):
        if outcome not in release.names:
            tables[k] = combinations.correction(release, codes)
        elif len(release.names) > 1:
            return None
    return tuple(tables)


def _errors(errors: Any, clusters: Any, robust: bool) -> str:
    if errors is None:
        return "cluster" if clusters is not None else "robust" if robust else "information"
    if errors not in ERRORS:
        raise OptionError(f"must be one of {', '.join(ERRORS)}", parameter="errors", given=repr(errors)[:40])
    if errors == "cluster" and clusters is None:
        raise OptionError('errors="cluster" must come with clusters', remedy="name their column: `clusters=`")
    return str(errors)


def _rows(
    parsed: Parsed, found: Sequence[Release], data: Any, weights: Any, clusters: Any
) -> tuple[Any, Floats, Ints | None, dict[str, int], list[Ints]]:
    """The rows that have everything: columns, weights, clusters, reports; and how many lack what."""
    import pandas as pd

    private = [name for release in found for name in release.names]
    named = [x for x in (weights, clusters) if isinstance(x, str)]
    wanted = list(dict.fromkeys([*sorted(parsed.outcome_columns), *sorted(parsed.columns), *private, *named]))
    frame = columns.read(data, wanted, private)
    n = len(frame)
    if not n:
        raise ValuesError("must have rows", parameter="data", given="none")
    weight = np.ones(n)
    if weights is not None:
        what = f"weights in {weights!r}" if isinstance(weights, str) else "weights"
        weight = columns.numbers(frame[weights] if isinstance(weights, str) else weights, what, n)
    cluster = frame[clusters] if isinstance(clusters, str) else clusters
    absent: dict[str, Bools] = {}
    if cluster is not None:
        if len(cluster) != n:
            raise ValuesError("clusters must be one for each row", given=f"{len(cluster)} for {n} rows")
        absent["clusters"] = columns.missing(cluster)
    for name in dict.fromkeys([*sorted(parsed.outcome_columns), *sorted(parsed.columns)]):
        columns.check_kind(frame[name], name)
        absent[name] = columns.missing(frame[name])
    reports = [release.codes(frame) for release in found]
    whole = ~np.any(list(absent.values()), axis=0)
    keep = whole & (weight > 0)
    dropped = {name: int(gone.sum()) for name, gone in absent.items() if gone.any()}
    if not keep.any():
        raise ValuesError(
            "no row has a value in every column of the formula",
            given=", ".join(f"{count} missing in {name!r}" for name, count in dropped.items()),
        )
    if dropped:
        dropped = {"rows": int((~whole).sum()), **dropped}
    groups = None if cluster is None else pd.factorize(pd.Series(cluster)[keep])[0].astype(np.int64)
    kept = frame[keep].reset_index(drop=True)
    return kept, weight[keep], groups, dropped, [codes[keep] for codes in reports]


def _outcome(
    parsed: Parsed, found: Sequence[Release], frame: Any, model: str | None, answers: Any
) -> tuple[str, tuple[Any, ...], Family]:
    """The model's name, the answers in its order (none for numbers), and its family."""
    for release in found:
        if parsed.outcome in release.names:
            labels: Labels = release.inputs(parsed.outcome)
            name = model or models.default_model(len(labels))
            if name not in models.DISCRETE:
                raise OptionError(
                    f"a private outcome has answers, which {models.TITLES[name]} is no model of",
                    given=f"{len(labels)} answers",
                    remedy=f"use one of {', '.join(models.DISCRETE)}",
                )
            return name, models.ordered(labels, answers, name), models.family_of(name, len(labels))
    column = _evaluated(parsed, frame)
    name = models.model_of_clear(column, model)
    if name not in models.DISCRETE:
        return name, (), models.family_of(name, 0)
    levels = models.clear_levels(column)
    return name, models.ordered(levels, answers, name), models.family_of(name, len(levels))


def _evaluated(parsed: Parsed, frame: Any) -> Any:
    """An outcome in the clear: a column, or an expression of columns."""
    import pandas as pd

    if parsed.plain:
        return frame[parsed.outcome]
    check_columns(sorted(parsed.outcome_columns), list(frame.columns))
    _, matrix = Design.of(parse(f"{next(iter(parsed.outcome_columns))} ~ 0 + {parsed.outcome}").terms, frame)
    if matrix.shape[1] != 1:
        raise OptionError("the outcome must be one number a row", given=repr(parsed.outcome)[:60])
    return pd.Series(matrix[:, 0])


def _number(column: Any, name: str, family: Family) -> Floats:
    try:
        values = np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValuesError(f"the outcome {name!r} must be a number for this model", given="text") from None
    if not np.isfinite(values).all():
        raise ValuesError(f"the outcome {name!r} must be finite", given=int((~np.isfinite(values)).sum()))
    if not isinstance(family, Gaussian) and ((values < 0) | (values != np.round(values))).any():
        raise ValuesError(
            f"the outcome {name!r} of a Poisson model must be whole numbers >= 0",
            given=f"others in {int(((values < 0) | (values != np.round(values))).sum())} rows",
        )
    return values + 0.0


def _designs(
    parsed: Parsed, combinations: Combinations, found: Sequence[Release], frame: Any
) -> tuple[Design, tuple[Floats, ...]]:
    """The design, and its matrix for each combination of private predictors."""
    n = len(frame)
    if not combinations.names:
        design, X = Design.of(parsed.terms, frame)
        return design, (X,)
    known = {
        name: release.inputs(name)
        for release in found
        for name in combinations.names
        if name in release.names
    }
    mixed = frame.copy()
    for name, labels in known.items():  # every label occurs, so that the design knows all of them
        mixed[name] = cycled(labels, n)
    design, _ = Design.of(parsed.terms, mixed)
    return design, tuple(
        design.matrix(with_labels(frame, combinations.names, labels, known)) for labels in combinations.labels
    )


def with_labels(frame: Any, names: Sequence[str], labels: Sequence[Any], known: Mapping[str, Labels]) -> Any:
    """The frame with one label of each private predictor in every row."""
    return frame.assign(
        **{name: constant(label, known[name], len(frame)) for name, label in zip(names, labels, strict=True)}
    )
