"""The main job on a real survey: learn the prior of a sensitive answer, design, check, compare (make demo)."""

from __future__ import annotations

import math

import numpy as np

import extremal as ex
from extremal.data import anes96

EPSILON = 0.7
ORDER = [
    "Strong Democrat",
    "Weak Democrat",
    "Independent-Democrat",
    "Independent-Independent",
    "Independent-Republican",
    "Weak Republican",
    "Strong Republican",
]


def main() -> None:
    """Print the whole way from answers to a mechanism and what it protects."""
    answers = anes96()["party"]
    prior = ex.Prior.from_data(answers, labels=ORDER)
    design = ex.design(prior, EPSILON)
    response = ex.randomized_response_for_pml(prior, EPSILON)
    _heading("The question")
    print(f"Party identification of {len(answers)} people, American National Election Study 1996.")
    for label, p in zip(prior.labels, prior.probabilities, strict=True):
        print(f"  {label:<24}{p:7.1%}  {'#' * round(100 * p)}")
    _heading(f"The optimal mechanism at epsilon = {EPSILON}")
    print(design)
    print("\nFor each true answer (rows), how often each answer is reported (columns, same order, in %):\n")
    for label, row in zip(prior.labels, _in_order(design.mechanism, prior), strict=True):
        print(f"  {label:<24}" + "".join(f"{100 * p:7.1f}" if p > 0 else "      -" for p in row))
    _leakage(prior, design.mechanism)
    _risk(prior)
    _heading("Against randomized response at the same leakage")
    print(f"{'epsilon':>9}{'optimal':>12}{'proven max':>12}{'rand. resp.':>13}{'gain':>8}{'  method'}")
    curve = ex.tradeoff(prior, [0.02, 0.1, 0.3, EPSILON, 1.0, 1.5, 2.0, 3.0])
    for row, optimal, other in zip(curve.rows(), curve.optimal, curve.randomized_response, strict=True):
        print(
            f"{row['epsilon']:>9.3g}{optimal:>12.6f}{row['upper_bound']:>12.6f}{other:>13.6f}"
            f"{optimal / other:>7.1f}x  {row['method']}"
        )
    print(f"Mutual information in nats; the answer itself holds {prior.entropy:.4f}.")
    agree = ex.agreement(prior, design.mechanism), ex.agreement(prior, response)
    print(f"Reports that equal the true answer: {agree[0]:.1%} optimal, {agree[1]:.1%} randomized response.")
    _heading("Checked by code that shares nothing with the solver")
    print(ex.check_design(prior, EPSILON, ex.mutual_information, design))


def _leakage(prior: ex.Prior, mechanism: ex.Mechanism) -> None:
    _heading("What each report can tell, at most")
    leak = dict(zip(mechanism.outputs, ex.pml(prior, mechanism), strict=True))
    often = dict(zip(mechanism.outputs, mechanism.output_distribution(prior), strict=True))
    for label in prior.labels:
        if label in leak:
            bar = "=" * round(40 * leak[label] / prior.epsilon_max)
            print(f"  {label!s:<24} reported {often[label]:6.1%}   leaks {leak[label]:.4f}  {bar}")
    print(f"Without protection a report leaks up to {prior.epsilon_max:.4f}. LDP of this mechanism: ", end="")
    ldp = ex.ldp_epsilon(mechanism)
    print("none, some reports exclude some answers." if math.isinf(ldp) else f"{ldp:.4f}.")


def _risk(prior: ex.Prior) -> None:
    _heading("In words")
    factor = math.exp(EPSILON)
    print(
        f"Whatever somebody wants to know about a respondent's party, one report multiplies the chance to guess\n"
        f"it right by at most {factor:.2f}: from 10% to at most {10 * factor:.1f}%. "
        f"A yes-no fact that holds for less than\n"
        f"{1 / factor:.0%} of all people can never be known for certain from a report."
    )


def _in_order(mechanism: ex.Mechanism, prior: ex.Prior) -> np.ndarray:
    """The matrix with one column for each label of the prior, zeros where it is never reported."""
    P = np.zeros((prior.size, prior.size))
    for j, label in enumerate(mechanism.outputs):
        P[:, prior.index(label)] = mechanism.matrix[:, j]
    return P


def _heading(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}")


if __name__ == "__main__":
    main()
