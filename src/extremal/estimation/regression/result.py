"""What a regression found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from typing import Any

import numpy as np

from ..._common import checks
from ..._common.frames import to_frame
from ..._common.json import finite_or_none, json_text
from ..._common.plot import GREY, given_axes
from ..._common.types import Axes, Floats
from ..._common.words import aligned
from . import inference, tables
from .assembly import Assembly, Parameter
from .columns import ModelMatrix, Parsed
from .fit import Fitted
from .inference import variance_ratios
from .reading import Combinations
from .tables import FigureTable


class MisfitWarning(UserWarning):
    """The outcome's model does not fit, so that coefficients of private predictors are not to be trusted."""


@dataclass(frozen=True, eq=False)
class Source:
    """What new rows are read with: the formula, the private columns and the frame that was fitted."""

    parsed: Parsed
    combinations: Combinations
    design: ModelMatrix
    covariate_design: ModelMatrix | None
    frame: Any
    weights: Floats


@dataclass(frozen=True, eq=False, repr=False)
class Regression:
    """Coefficients of a model of true answers, estimated from reports.

    `log_likelihood`, `aic` and `bic` mean nothing for corrected scores, which have no likelihood.
    `coefficients` and `covariance` are in the order of `parameters`. A parameter has an `answer` (of a multinomial
    model: the odds are those against the first of `answers`), a `column` of the design, and a `part`: "" for
    coefficients, "threshold" and "scale" for the rest of the model, "private" for the shares of private predictors.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> certified = ex.certify(ex.design(prior, 0.6))
    >>> answers = ["never", "never", "once", "often"] * 200
    >>> data = {"age": [20, 40, 60, 80, 30] * 160}
    >>> data["answer"] = certified.privatize(answers, source=ex.randomness.SeededWords(1))
    >>> import pandas
    >>> fitted = ex.regress(certified, "answer ~ age", pandas.DataFrame(data))
    >>> len(fitted.coefficients) if hasattr(fitted, "coefficients") else None
    4

    Attributes
    ----------
    formula
        The formula.
    model
        The kind of model.
    answers
        The answers of the outcome, the reference first.
    private
        The private columns.
    predictors
        How private predictors depend on the rest; None if there are none.
    rows
        How many rows were used.
    dropped
        How many rows lacked a value, by column.
    weighted
        Whether there were weights.
    clusters
        How many clusters there were; None without any.
    errors
        The kind of standard errors.
    confidence
        The confidence level of the intervals.
    coefficients
        The estimates, in the order of `parameters`.
    covariance
        Their covariance matrix.
    log_likelihood
        The log-likelihood of the reports.
    misfit
        A p-value: whether likelihood and corrected scores of private predictors agree.
    fitted
        What the fit returned.
    assembly
        The design matrices.
    source
        The data and how to read them.
    """

    formula: str
    model: str
    answers: tuple[Any, ...]
    private: tuple[str, ...]
    predictors: str | None  # how private predictors depend on the rest; None if there are none
    rows: int
    dropped: Mapping[str, int]  # column -> rows without a value there; "rows" is how many went
    weighted: bool
    clusters: int | None
    errors: str
    confidence: float = field(default=0.95, kw_only=True)
    coefficients: Floats
    covariance: Floats
    log_likelihood: float
    misfit: float | None  # p-value: whether likelihood and corrected scores of private predictors agree
    fitted: Fitted = field(repr=False)
    assembly: Assembly = field(repr=False)
    source: Source = field(repr=False)

    def with_confidence(self, confidence: float) -> Regression:
        """The same with intervals that each hold with another confidence than 95 %.

        Parameters
        ----------
        confidence
            The confidence level.
        """
        return replace(self, confidence=checks.confidence(confidence))

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What each coefficient belongs to."""
        return self.fitted.prepared.parameters

    @property
    def standard_errors(self) -> Floats:
        """Of each coefficient."""
        return tables.every(self).standard_errors

    @property
    def z(self) -> Floats:
        """Coefficients in standard errors."""
        return tables.every(self).z

    @property
    def p_values(self) -> Floats:
        """Two-sided, for a coefficient of 0."""
        return tables.every(self).p_values

    @property
    def lower(self) -> Floats:
        """Lower ends of the intervals, each of which holds by itself."""
        return tables.every(self).lower

    @property
    def upper(self) -> Floats:
        """Upper ends of the intervals, each of which holds by itself."""
        return tables.every(self).upper

    @property
    def empty(self) -> tuple[Any, ...]:
        """Answers of an ordinal model that have share 0 at the maximum: the thresholds beside them coincide."""
        return tuple(self.answers[k] for k in sorted(self.fitted.prepared.assembly.empty))

    @cached_property
    def variance_ratios(self) -> Floats:
        """How many times larger the variance of each coefficient is than from as many true answers."""
        return variance_ratios(self.fitted)

    @property
    def aic(self) -> float:
        """Akaike's information criterion."""
        return 2 * len(self.coefficients) - 2 * self.log_likelihood

    @property
    def bic(self) -> float:
        """The Bayesian information criterion."""
        return float(np.log(self.rows)) * len(self.coefficients) - 2 * self.log_likelihood

    @cached_property
    def table(self) -> FigureTable:
        """The coefficients of the model, without those of private predictors' shares."""
        chosen = [k for k, p in enumerate(self.parameters) if p.part != "private"]
        kept = [self.parameters[k] for k in chosen]
        several = len({p.answer for p in kept}) > 1
        return replace(
            tables.every(self),
            keys=("answer", "term") if several else ("term",),
            labels=tuple((p.answer, p.column) if several else (p.column,) for p in kept),
            estimates=self.coefficients[chosen],
            covariance=self.covariance[np.ix_(chosen, chosen)],
        )

    def wald(self, term: str | None = None) -> inference.Test:
        """The Wald test that all coefficients of a term are 0; without one, of all terms but the intercept.

        Parameters
        ----------
        term
            A term of the formula; all but the intercept if None.
        """
        return inference.wald(self, term)

    def likelihood_ratio(self, other: Regression | str) -> inference.Test:
        """The likelihood-ratio test against a nested model, or against this one without a term.

        Not for weighted or clustered rows, whose likelihood is none of the sample: use `wald`.

        Parameters
        ----------
        other
            A nested model, or a term to leave out.
        """
        return inference.likelihood_ratio(self, other)

    def tests(self) -> inference.TestTable:
        """For each term the Wald test and, where rows are unweighted, the likelihood-ratio test."""
        return inference.tests(self)

    def shares(self, data: Any = None, *, at: Mapping[str, Any] | None = None) -> FigureTable:
        """Predicted shares of the answers, or the predicted mean, on average over the rows.

        Parameters
        ----------
        data
            Other rows than those that were fitted; private columns are not needed.
        at
            Column -> value that every row gets, e.g. {"age": 40}; of a private predictor, one of its labels.
        """
        return tables.shares(self, data, at)

    def predict(self, data: Any = None) -> Floats:
        """The probability of every answer for each row, or its mean: (rows, answers).

        Parameters
        ----------
        data
            New rows; those of the fit if None.
        """
        return tables.predict(self, data)

    def effects(self, *variables: str) -> FigureTable:
        """Average marginal effects on the share of each answer, or on the mean.

        Of a number the derivative; of a category or a private predictor the difference to its first level.

        Parameters
        ----------
        *variables
            Names of columns; all of them if none is given.
        """
        return tables.effects(self, variables)

    def records(self) -> list[dict[str, Any]]:
        """Every coefficient with its figures and what privacy cost it, one mapping for each."""
        ratios = self.variance_ratios.tolist()
        return [
            {**row, "variance_ratio": finite_or_none(ratio)}
            for row, ratio in zip(tables.every(self).rows(), ratios, strict=True)
        ]

    def to_frame(self, library: str | None = None) -> Any:
        """The same as a frame of pandas, polars or pyarrow: of the library named, else of the first installed.

        Parameters
        ----------
        library
            "pandas", "polars" or "pyarrow"; if None, the first of them that is installed.
        """
        return to_frame(self.records(), library)

    def to_dict(self) -> dict[str, Any]:
        """Everything, in types that JSON knows as far as the labels are."""
        return {
            "formula": self.formula,
            "model": self.model,
            "answers": list(self.answers),
            "private": list(self.private),
            "predictors": self.predictors,
            "rows": self.rows,
            "dropped": dict(self.dropped),
            "errors": self.errors,
            "clusters": self.clusters,
            "confidence": self.confidence,
            "intervals": self.table.promise.kind,
            "log_likelihood": self.log_likelihood,
            "aic": self.aic,
            "bic": self.bic,
            "misfit": self.misfit,
            "coefficients": self.records(),
            "notes": self.notes(),
        }

    def to_json(self) -> str:
        """The same as text; a label that JSON does not know is written as its str()."""
        return json_text(self.to_dict())

    def notes(self) -> list[str]:
        """What a reader of the figures must know, in words."""
        found = []
        if self.misfit is not None and self.misfit < tables.DIFFERENT:
            found.append(f"WARNING: {tables.DOUBT}")
        if self.dropped:
            each = ", ".join(f"{n} in {name!r}" for name, n in self.dropped.items() if name != "rows")
            found.append(f"{self.dropped['rows']} rows dropped because values are missing: {each}")
        if self.empty:
            named = " or ".join(map(repr, self.empty))
            found.append(
                f"the reports fit best if nobody's true answer is {named}: the thresholds beside it coincide, and "
                "their errors take that for certain"
            )
        ratios = self.variance_ratios[[p.part != "private" for p in self.parameters]]
        low, high = float(ratios.min()), float(ratios.max())
        if 1 + 1e-9 < high < float("inf"):
            span = f"{low:.1f}" if f"{low:.1f}" == f"{high:.1f}" else f"{low:.1f} to {high:.1f}"
            found.append(
                f"privacy costs precision: variances are {span} times those from as many true answers"
            )
        if self.predictors is not None:
            outcome = self.source.parsed.outcome
            names = ", ".join(name for name in self.private if name != outcome)
            found.append(f"private predictors ({names}): {tables.PREDICTORS[self.predictors]}")
        if self.answers and self.model == "multinomial":
            found.append(f"coefficients are log odds against {self.answers[0]!r}")
        if self.weighted:
            found.append(
                "rows are weighted: the log-likelihood is that of the weighted rows, and tests are Wald's"
            )
        found.append(str(self.table.promise))
        return found

    def summary(self) -> str:
        """A table of text, as statistics packages print it."""
        body: list[str] = []
        for answer, cells in tables.tables(self).items():
            if answer is not None:
                body.append(f"{self.source.parsed.outcome} = {answer}")
            body += [*aligned(cells, 1), ""]
        lines = [self.formula, *tables.facts(self)]
        rule = "=" * max(map(len, [*lines, *body]))
        return "\n".join(
            [*lines, rule, *body[:-1], rule, *(f"{note[:1].upper()}{note[1:]}." for note in self.notes())]
        )

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return f"Regression({self.formula!r}, {self.model}, {self.rows} rows)"

    def _repr_html_(self) -> str:
        return self.table._repr_html_() + "".join(f"<p>{escape(note)}</p>" for note in self.notes())

    def plot(self, axes: Axes | None = None) -> Axes:
        """Axes with every coefficient and its interval, the intercepts left out.

        Parameters
        ----------
        axes
            Matplotlib axes to draw on; new ones if None.
        """
        chosen = [k for k, p in enumerate(self.parameters) if p.part == "" and p.column != "Intercept"]
        chosen = chosen or [k for k, p in enumerate(self.parameters) if p.part == ""]
        axes = given_axes(axes, (6.4, max(1.4 + 0.3 * len(chosen), 2.4)))
        answers = list(dict.fromkeys(self.parameters[k].answer for k in chosen))
        places = np.arange(len(chosen))
        for place, k in zip(places, chosen, strict=True):
            colour = tables.COLOURS[answers.index(self.parameters[k].answer) % len(tables.COLOURS)]
            axes.hlines(place, self.lower[k], self.upper[k], color=colour)
            axes.plot(self.coefficients[k], place, "o", color=colour)
        axes.axvline(0.0, color=GREY, linewidth=0.8)
        axes.set_yticks(places, [str(self.parameters[k])[:48].replace("$", r"\$") for k in chosen])
        axes.invert_yaxis()
        axes.set_xlabel(f"coefficient, with intervals at {self.confidence:g}")
        axes.set_title(tables.title(self), fontsize="medium")
        return axes
