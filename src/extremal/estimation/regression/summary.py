"""The text of a regression: a table, and what its reader must know."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._common.plot import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION, empty_axes
from .corrected import DIFFERENT
from .families import TITLES
from .fit import text_of
from .table import aligned

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .result import Regression

escaped = escape

ERRORS = {
    "information": "from the observed information",
    "robust": "robust (sandwich)",
    "cluster": "robust, between clusters",
}
DOUBT = (
    "the model of the outcome, or that of the private predictors, does not fit: do not trust the coefficients of "
    'private predictors, use predictors="corrected"'
)
PREDICTORS = {
    "covariates": "their shares depend on the other covariates (a multinomial logit fitted along with the model)",
    "shares": "their shares are the same for everybody, whatever the other covariates, and fitted along with the model",
    "corrected": "scores are corrected by the inverse of the mechanism, without a model of their shares",
    "prior": "their shares are those of the mechanism's prior, for everybody, and taken as given",
}


def title(result: Regression) -> str:
    """The model in words."""
    what = TITLES[result.model]
    return f"{what[:1].upper()}{what[1:]} of {result.source.parsed.outcome}"


def records(result: Regression) -> list[dict[str, Any]]:
    """Every coefficient, one mapping for each."""
    return [
        {
            "part": p.part or "coefficient",
            "answer": "" if p.answer is None else p.answer,
            "term": p.column,
            "estimate": float(result.coefficients[k]),
            "standard_error": float(result.standard_errors[k]),
            "z": float(result.z[k]),
            "p_value": float(result.p_values[k]),
            "lower": float(result.lower[k]),
            "upper": float(result.upper[k]),
            "variance_ratio": _finite(float(result.variance_ratios[k])),
        }
        for k, p in enumerate(result.parameters)
    ]


def document(result: Regression) -> dict[str, Any]:
    """Everything, for JSON."""
    return {
        "formula": result.formula,
        "model": result.model,
        "answers": list(result.answers),
        "private": list(result.private),
        "predictors": result.predictors,
        "rows": result.rows,
        "dropped": dict(result.dropped),
        "errors": result.errors,
        "clusters": result.clusters,
        "confidence": result.confidence,
        "intervals": result.table.promise.kind,
        "log_likelihood": result.log_likelihood,
        "aic": result.aic,
        "bic": result.bic,
        "misfit": result.misfit,
        "coefficients": records(result),
        "notes": notes(result),
    }


def notes(result: Regression) -> list[str]:
    """What a reader of the figures must know, in words."""
    found = []
    if result.misfit is not None and result.misfit < DIFFERENT:
        found.append(f"WARNING: {DOUBT}")
    if result.dropped:
        each = ", ".join(f"{n} in {name!r}" for name, n in result.dropped.items() if name != "rows")
        found.append(f"{result.dropped['rows']} rows dropped because values are missing: {each}")
    if result.empty:
        named = " or ".join(map(repr, result.empty))
        found.append(
            f"the reports fit best if nobody's true answer is {named}: the thresholds beside it coincide, and their "
            "errors take that for certain"
        )
    ratios = result.variance_ratios[[p.part != "private" for p in result.parameters]]
    low, high = float(ratios.min()), float(ratios.max())
    if 1 + 1e-9 < high < float("inf"):
        span = f"{low:.1f}" if f"{low:.1f}" == f"{high:.1f}" else f"{low:.1f} to {high:.1f}"
        found.append(f"privacy costs precision: variances are {span} times those from as many true answers")
    if result.predictors is not None:
        outcome = result.source.parsed.outcome
        names = ", ".join(name for name in result.private if name != outcome)
        found.append(f"private predictors ({names}): {PREDICTORS[result.predictors]}")
    if result.answers and result.model == "multinomial":
        found.append(f"coefficients are log odds against {result.answers[0]!r}")
    if result.weighted:
        found.append(
            "rows are weighted: the log-likelihood is that of the weighted rows, and tests are Wald's"
        )
    found.append(str(result.table.promise))
    return found


def text(result: Regression) -> str:
    """The summary as statistics packages print it."""
    body: list[str] = []
    for answer, cells in tables(result).items():
        if answer is not None:
            body.append(f"{result.source.parsed.outcome} = {answer}")
        body += [*aligned(cells, 1), ""]
    lines = [result.formula, *facts(result)]
    rule = "=" * max(map(len, [*lines, *body]))
    return "\n".join([*lines, rule, *body[:-1], rule, *_sentences(notes(result))])


def facts(result: Regression) -> list[str]:
    """What was fitted to what, and how well."""
    figures = [("Rows", f"{result.rows}"), ("Log-likelihood", f"{result.log_likelihood:.3f}")]
    figures += [("AIC", f"{result.aic:.2f}"), ("BIC", f"{result.bic:.2f}")]
    if result.predictors == "corrected":  # there is no likelihood
        figures[1:] = [("", "")] * 3
    found = [
        ("Outcome", result.source.parsed.outcome, *figures[0]),
        ("Model", TITLES[result.model], *figures[1]),
        ("Private", ", ".join(result.private), *figures[2]),
        ("Errors", ERRORS[result.errors], *figures[3]),
    ]
    return aligned([[f"{a}:", b, f"{c}:" if c else "", d] for a, b, c, d in found], 3)


def tables(result: Regression) -> dict[Any, list[list[str]]]:
    """For each answer, or None, the headings and rows of its coefficients; shares of private predictors have none."""
    low = (1 - result.confidence) / 2
    head = ["", "coef", "std err", "z", "P>|z|", f"[{low:.3f}", f"{1 - low:.3f}]", "privacy"]
    found: dict[Any, list[list[str]]] = {}
    z, p_values, ratios = result.z, result.p_values, result.variance_ratios
    for k, parameter in enumerate(result.parameters):
        if parameter.part == "private":
            continue
        found.setdefault(parameter.answer, [head]).append(
            [
                parameter.column,
                f"{result.coefficients[k]:.4f}",
                f"{result.standard_errors[k]:.4f}",
                f"{z[k]:.3f}",
                f"{p_values[k]:.3f}",
                f"{result.lower[k]:.4f}",
                f"{result.upper[k]:.4f}",
                f"x {ratios[k]:.2f}" if ratios[k] < 1e6 else "-",
            ]
        )
    return found


def _sentences(found: list[str]) -> list[str]:
    return [note[:1].upper() + note[1:] + "." for note in found]


def _finite(value: float) -> float | None:
    return value if value < float("inf") else None


COLOURS = (BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY, BLACK)


def draw(result: Regression, axes: Axes | None = None) -> Axes:
    """Axes with a point and a bar for every coefficient; answers differ by colour and by name."""
    chosen = [k for k, p in enumerate(result.parameters) if p.part == "" and p.column != "Intercept"]
    chosen = chosen or [k for k, p in enumerate(result.parameters) if p.part == ""]
    if axes is None:
        axes = empty_axes((6.4, max(1.4 + 0.3 * len(chosen), 2.4)))
    answers = list(dict.fromkeys(result.parameters[k].answer for k in chosen))
    places = np.arange(len(chosen))
    for place, k in zip(places, chosen, strict=True):
        colour = COLOURS[answers.index(result.parameters[k].answer) % len(COLOURS)]
        axes.hlines(place, result.lower[k], result.upper[k], color=colour)
        axes.plot(result.coefficients[k], place, "o", color=colour)
    axes.axvline(0.0, color=GREY, linewidth=0.8)
    axes.set_yticks(places, [text_of(result.parameters[k])[:48].replace("$", r"\$") for k in chosen])
    axes.invert_yaxis()
    axes.set_xlabel(f"coefficient, with intervals at {result.confidence:g}")
    axes.set_title(title(result), fontsize="medium")
    return axes
