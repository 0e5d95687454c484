"""One report for each answer of a pasted sample, and what the reports tell about the shares."""

from __future__ import annotations

from collections import Counter

import extremal as ex

from .compute import Figures, Made
from .priors import shown
from .state import CONFIDENCE

MOST_SAMPLE = 10_000  # answers of a pasted sample
MOST_DRAWN = 200  # of them shown one by one


def privatize_sample(made: Made, text: str, allow_true_answers: bool = False) -> Figures:
    """One secure draw for each answer. Shares that cannot be told apart come without an estimate."""
    words = [line.strip() for line in text.strip().splitlines() if line.strip()]
    if len(words) == 1:
        words = [part.strip() for part in words[0].split(",") if part.strip()]
    if not 0 < len(words) <= MOST_SAMPLE:
        raise ex.errors.ValuesError(
            f"a sample must have between 1 and {MOST_SAMPLE} answers, got {len(words)}; give one a line"
        )
    named = {str(shown(label)): label for label in made.certified.inputs}
    values = [named.get(word, word) for word in words]
    reports = made.certified.privatize(values, allow_true_answers=allow_true_answers)
    truly = Counter(values)
    estimate = ex.estimate(made.certified, reports, CONFIDENCE)
    return {
        "count": len(values),
        "answers": [shown(value) for value in values[:MOST_DRAWN]],
        "reports": [shown(report) for report in reports],
        "rows": [
            {
                "label": shown(label),
                "sample": truly[label] / len(values),
                "identified": row["identified"],
                "estimate": row["estimate"] if row["identified"] else None,
                "lower": row["lower"],
                "upper": row["upper"],
            }
            for label, row in zip(estimate.labels, estimate.table.rows(), strict=True)
        ],
        "promise": f"{str(estimate.promise).capitalize()}.",
    }
