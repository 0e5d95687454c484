"""regress(): models of answers that are known through reports alone."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from ..._common import checks
from ..._common.threads import one_thread
from ..._common.types import Floats, Ints
from ...certification.certified import Certified
from ...errors import OptionError
from ...model.mechanism import Mechanism
from ..sample import SampleDesign, check_sample
from . import families
from .assembly import Assembly
from .columns import ModelMatrix, Parsed, clear_terms, parse
from .families import Family, Ordinal
from .fit import fit, fit_corrected
from .inference import covariance, misfit
from .likelihood import Emissions
from .reading import (
    Combinations,
    OutcomeModel,
    PrivateColumns,
    Rows,
    check_rank,
    corrections,
    pooled,
    private_columns,
    read_designs,
    read_outcome,
    read_rows,
)
from .result import MisfitWarning, Regression, Source
from .tables import DIFFERENT, DOUBT, ERRORS, PREDICTORS

Model = Literal[
    "logit", "probit", "multinomial", "ordinal", "ordinal-probit", "gaussian", "poisson", "binomial"
]


@one_thread
def regress(
    mechanism: Certified | Mechanism | Mapping[Any, Certified | Mechanism] | Sequence[tuple[Any, Any]],
    formula: str,
    data: Any = None,
    *,
    model: Model | None = None,
    answers: Sequence[Any] | None = None,
    predictors: Literal["covariates", "shares", "prior", "corrected"] = "covariates",
    sample: SampleDesign | None = None,
    errors: Literal["information", "robust", "cluster"] | None = None,
) -> Regression:
    """A model of true answers, fitted to reports: the coefficients that make the reports most likely.

    A report y of a person with covariates z has probability Σ_x P(y|x) p(x|z): the model is about the true answer x,
    and P is the mechanism. With the identity as mechanism the results are those of an ordinary regression.

    Examples
    --------
    >>> import extremal as ex
    >>> response = ex.Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"], ["no", "yes"])
    >>> data = {"ill": ["no", "no", "yes"] * 100 + ["no", "yes", "yes"] * 100, "old": [0] * 300 + [1] * 300}
    >>> ex.regress(response, "ill ~ old", data).coefficients.round(2).tolist()
    [-1.61, 3.22]

    Parameters
    ----------
    mechanism
        The mechanism that made the reports in the outcome's column; or a mapping column -> mechanism for private
        outcomes and predictors, in which a tuple of columns stands for reports that were drawn together. Or a list of
        pairs (mechanism or mapping, data) of different people; a later mechanism may depend on earlier reports.
    formula
        Such as "party ~ age + C(sex)", as formulaic reads it. Private columns are named like others.
    data
        Any frame that narwhals knows, a mapping name -> array, or the path of a CSV or Parquet file. Private columns
        hold reports. Rows with missing values are dropped, and `dropped` counts them. Pairs come without.
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
    sample
        How people were drawn: weights and clusters. Coefficients know no strata.
    errors
        "information", "robust" (sandwich) or "cluster". By default "cluster" if there are clusters, "robust" if there
        are weights or predictors="corrected", else "information".

    Returns
    -------
    Regression
        Coefficients, tests, predicted shares and average marginal effects.
    """
    chosen = families.check_model(model)
    parsed = parse(formula, intercept=chosen is not None and chosen.startswith("ordinal"))
    checks.choice(predictors, "predictors", PREDICTORS)
    if isinstance(mechanism, list | tuple):
        if data is not None or predictors == "corrected":
            raise OptionError(
                'pairs have their data beside their mechanisms, and no predictors="corrected"',
                given=f"{len(mechanism)} pairs",
                remedy="e.g. `regress([(c1, one), (c2, two)], formula)`",
            )
        named = [] if sample is None else sample.names
        mechanism, data = pooled(mechanism, parsed, named)
    found = private_columns(mechanism, parsed)
    weights, clusters = _drawn(sample)
    how = _errors(errors, clusters, weights is not None or predictors == "corrected")
    if predictors == "corrected" and how == "information":
        raise OptionError(
            "corrected scores have no information matrix", parameter="errors", remedy='use `errors="robust"`'
        )
    rows = read_rows(parsed, found, data, weights, clusters)
    if how != "information":
        rows = replace(rows, weights=rows.weights * (len(rows.weights) / rows.weights.sum()))
    outcome = read_outcome(parsed, found, rows.frame, chosen, answers)
    _check_ranks(found, parsed.outcome, outcome.family, predictors)
    combinations = Combinations.of(found, parsed.outcome)
    assembly, source = _assembled(parsed, found, rows, outcome, combinations, predictors)
    n, doubt = len(rows.frame), None
    if combinations.names and predictors == "corrected":
        fitted = fit_corrected(assembly, n)
        assembly = fitted.prepared.assembly
    else:
        fitted = fit(assembly, n)
        doubt = misfit(fitted, assembly, n)
    if doubt is not None and doubt < DIFFERENT:
        warnings.warn(MisfitWarning(f"{parsed.text}: {DOUBT}"), stacklevel=2)
    return Regression(
        formula=parsed.text,
        model=outcome.model,
        answers=outcome.answers,
        private=tuple(x for private in found for x in private.names),
        predictors=predictors if combinations.names else None,
        rows=n,
        dropped=rows.dropped,
        weighted=weights is not None,
        clusters=None if rows.clusters is None else int(rows.clusters.max()) + 1,
        errors=how,
        coefficients=fitted.coefficients,
        covariance=covariance(fitted, how, n),
        log_likelihood=fitted.log_likelihood,
        misfit=doubt,
        fitted=fitted,
        assembly=assembly,
        source=source,
    )


def _check_ranks(found: Sequence[PrivateColumns], outcome: str, family: Family, predictors: str) -> None:
    """Refuse mechanisms that cannot tell answers apart, where the model has nothing else to tell them by."""
    for private in found:
        own = private.names != (outcome,)
        if own and predictors != "prior":
            check_rank(private, "shares and coefficients cannot be estimated together")
        elif not own and not isinstance(family, Ordinal):
            check_rank(private, "the model's coefficients are not determined")


def _assembled(
    parsed: Parsed,
    found: Sequence[PrivateColumns],
    rows: Rows,
    outcome: OutcomeModel,
    combinations: Combinations,
    predictors: str,
) -> tuple[Assembly, Source]:
    """What decides the fit, equal rows as one; and what new rows are read with."""
    inputs = [combinations.inputs(private, outcome.answers) for private in found]
    channels = [
        Emissions(codes, private.mechanism.matrix[own])
        for private, codes, own in zip(found, rows.reports, inputs, strict=True)
    ]
    if outcome.channel is not None:
        channels.append(outcome.channel)
    design, designs = read_designs(parsed, combinations, rows.frame)
    covariates, covariate_design = np.zeros((len(rows.frame), 0)), None
    if combinations.names and predictors in ("covariates", "shares"):
        without = combinations.names if predictors == "covariates" else parsed.columns
        covariate_design, covariates = ModelMatrix.of(clear_terms(parsed.terms, set(without)), rows.frame)
    given = bool(combinations.names) and predictors == "prior"
    assembly = Assembly(
        family=outcome.family,
        answers=outcome.answers,
        names=design.names,
        terms={term: range(part.start, part.stop) for term, part in design.terms.items()},
        designs=designs,
        channels=tuple(channels),
        weights=rows.weights,
        squares=rows.weights**2,
        clusters=rows.clusters,
        outcome=outcome.number,
        configurations=combinations.labels,
        covariates=covariates,
        covariate_names=() if covariate_design is None else covariate_design.names,
        log_shares=combinations.log_prior(found) if given else None,
        corrections=_corrections(combinations, found, inputs, channels),
    )
    source = Source(parsed, combinations, design, covariate_design, rows.frame, rows.weights)
    return assembly.grouped(), source


def _corrections(
    combinations: Combinations,
    found: Sequence[PrivateColumns],
    inputs: Sequence[Ints],
    channels: Sequence[Emissions],
) -> tuple[Floats, ...] | None:
    """For each channel the table of corrections, that of the outcome as it is; None where there can be none."""
    if not combinations.names:
        return None
    tables = [channel.table for channel in channels]
    for k, (private, rows) in enumerate(zip(found, inputs, strict=True)):
        predictors, P = len(combinations.own(private)), private.mechanism.matrix
        if 0 < predictors < len(private.names):  # of both outcome and predictors
            return None
        if predictors:
            if np.linalg.matrix_rank(P) < len(P):
                return None
            tables[k] = corrections(P, channels[k].codes)[rows]
    return tuple(tables)


def _drawn(sample: SampleDesign | None) -> tuple[Any, Any]:
    """The weights and the clusters."""
    sample = check_sample(sample)
    if sample is None:
        return None, None
    if sample.strata is not None:
        raise OptionError("regressions know no strata", parameter="sample", remedy="leave strata out")
    return sample.weights, sample.clusters


def _errors(errors: Any, clusters: Any, robust: bool) -> str:
    if errors is None:
        return "cluster" if clusters is not None else "robust" if robust else "information"
    checks.choice(errors, "errors", ERRORS)
    if errors == "cluster" and clusters is None:
        raise OptionError(
            'errors="cluster" must come with clusters',
            remedy="name their column: `ex.SampleDesign(clusters=…)`",
        )
    return str(errors)
