"""Simulated surveys that learn the prior: do sets, limits, intervals and tests hold as often as they say?

    python benchmarks/stages.py [--surveys 1000] [--looked 60] [--seed 0] [--priors 2301] [--tiny]

Ten priors drawn at random, two or three stages, each designed for the set that the reports before it gave; where that
would disclose true answers, or no set is left, the mechanism before it stays. In each survey the set of every redesign
holds the shares of the next people except with probability 5 % over all of them. From some later stage on people may
differ from those before, by a share of them who give the rarest answer in place of the most common one, which `drift`
allows for. Some of the reports before may be forged: each is the one that speaks most for the rarest answer, so that
the next mechanism reveals it most. Rows of the table are figures that were promised, and how often each was missed.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import beta

import extremal as ex

DELTA = 0.05  # over all redesigns of a survey
EPSILONS = (0.5, 0.8, 1.2, 2.0)
SIZES = ((800, 4000), (500, 1500, 5000))
ANSWERS = (2, 2, 3, 3, 4, 4, 5, 5, 6, 7)
CASES = ((0.0, 0.0), (0.05, 0.0), (0.2, 0.0), (0.0, 0.01), (0.0, 0.05), (0.0, 0.2), (0.05, 0.05))
INSIDE = 3.0  # standard errors from 0 and 1: shares there have no corner near
LOOKS = 50


def priors(seed: int = 2301) -> list[np.ndarray]:
    """Ten priors that nobody chose."""
    rng = np.random.default_rng(seed)
    return [rng.dirichlet(np.ones(n)) for n in ANSWERS]


@dataclass
class Survey:
    """What one survey found: sets, leakages and the estimate."""

    truth: np.ndarray
    later: np.ndarray
    epsilon: float
    pairs: list[tuple[ex.Certified, dict]] = field(default_factory=list)
    held: list[bool] = field(default_factory=list)
    leaked: list[float] = field(
        default_factory=list
    )  # less the limit, under the shares of the people of the stage

    @property
    def too_much(self) -> bool:
        """Whether a stage whose set held leaked more than the limit."""
        return any(held and leaked > 1e-9 for held, leaked in zip(self.held, self.leaked, strict=True))


def certified(priors: ex.PriorSet, epsilon: float) -> ex.Certified:
    """The design for a set; a warning that it discloses comes before the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ex.errors.DisclosureWarning)
        return ex.certify(ex.design(priors, epsilon))


def run(
    pi: np.ndarray, epsilon: float, sizes: tuple[int, ...], shift: float, forged: float, seed: int
) -> Survey:
    """One survey."""
    rng = np.random.default_rng(seed)
    later = pi.copy()
    moved = min(shift, 0.9 * float(pi.max()))
    later[np.argmax(pi)] -= moved
    later[np.argmin(pi)] += moved
    found = Survey(pi, later, epsilon)
    since = int(rng.integers(1, len(sizes)))
    priors = ex.PriorSet.at_least(len(pi), 0)
    c, possible = certified(priors, epsilon), True
    for stage, people in enumerate(sizes):
        last = stage == len(sizes) - 1
        theirs = later if stage >= since else pi
        if stage:
            found.held.append(possible and priors.contains(ex.Prior(theirs)))
            found.leaked.append(ex.epsilon_pml(ex.Prior(theirs), c.mechanism) - epsilon)
        fake = 0 if last else int(forged * people)
        counts = rng.multinomial(people - fake, theirs @ c.mechanism.matrix)
        counts[np.argmax(c.mechanism.matrix[np.argmin(theirs)] / (theirs @ c.mechanism.matrix))] += fake
        found.pairs.append((c, dict(zip(c.outputs, counts.tolist(), strict=True))))
        if not last:
            assumed = {"forged": forged, "drift": 2 * moved}
            level = 1 - DELTA / (len(sizes) - 1)
            try:
                learned = ex.PriorSet.from_reports(found.pairs, confidence=level, **assumed)
                c, priors, possible = certified(learned, epsilon), learned, True
            except ex.errors.DisclosureError:  # the limit protects nobody where shares are like these
                possible = True
            except ex.errors.PriorError:  # reports refute all shares: that set has missed
                possible = False
    return found


def one_stage(found: Survey, error: float, rng: np.random.Generator) -> np.ndarray:
    """The estimate of a survey under the last mechanism alone whose summed squared error is expected to be the same."""
    c, pi = found.pairs[-1][0], found.truth
    P = c.mechanism.matrix
    one = np.trace(np.linalg.inv((P / (pi @ P)) @ P.T)) - pi @ pi
    counts = rng.multinomial(round(one / error), pi @ P)
    return ex.estimate(c, dict(zip(c.outputs, counts.tolist(), strict=True))).shares


def looked(pi: np.ndarray, epsilon: float, sizes: tuple[int, ...], seed: int) -> bool:
    """Whether the intervals for every look held the shares at every one of the looks at a survey."""
    found = run(pi, epsilon, sizes, 0.0, 0.0, seed)
    rng = np.random.default_rng(seed)
    columns = [
        rng.permutation([y for y, count in reports.items() for _ in range(count)])
        for _, reports in found.pairs
    ]
    for seen in np.unique(np.geomspace(20, sum(sizes), LOOKS).astype(int)):
        pairs, left = [], int(seen)
        for (c, _), column in zip(found.pairs, columns, strict=True):
            if left > 0:
                pairs.append((c, column[:left].tolist()))
                left -= len(column)
        bounds = ex.estimate(pairs, intervals="always")
        if (bounds.lower > pi).any() or (bounds.upper < pi).any():
            return False
    return True


class Tally:
    """Figures that were promised, how often each was missed, and in how many cases."""

    def __init__(self) -> None:
        self.rows: dict[str, list[int]] = {}

    def add(self, what: str, missed: Iterable[bool] | bool) -> None:
        """Some more cases."""
        row = self.rows.setdefault(what, [0, 0])
        values = np.atleast_1d(np.asarray(missed))
        row[0] += int(values.sum())
        row[1] += values.size

    def text(self) -> str:
        """A table; with the ends of a 95 % interval."""
        lines = ["| what | cases | missed | 95 % interval |", "|---|---|---|---|"]
        for what, (missed, cases) in self.rows.items():
            low = beta.ppf(0.025, missed, cases - missed + 1) if missed else 0.0
            high = beta.ppf(0.975, missed + 1, cases - missed) if missed < cases else 1.0
            lines.append(
                f"| {what} | {cases:,} | {100 * missed / cases:.2f} % | {100 * low:.2f} to {100 * high:.2f} % |"
            )
        return "\n".join(lines)


def judge(found: Survey, shift: float, forged: float, tally: Tally) -> ex.Estimate:
    """What one survey promised and missed."""
    case = f"shift {100 * shift:g} %, forged {100 * forged:g} %"
    tally.add(f"a set misses the shares of the next people: {case}", not all(found.held))
    tally.add(f"a stage leaks more than ε although its set holds: {case}", found.too_much)
    e = ex.estimate(found.pairs)
    if not forged:
        tally.add(f"the test of drift at level 5 % finds none: {case}", e.drift.p_value > 0.05)
    if not forged and not shift:
        errors = e.standard_errors
        inside = np.minimum(found.truth, 1 - found.truth) > INSIDE * errors
        if inside.all():
            tally.add("an ordinary interval misses", (e.lower > found.truth) | (e.upper < found.truth))
        together = ex.estimate(found.pairs, intervals="all")
        wrong = (together.lower > found.truth) | (together.upper < found.truth)
        tally.add("one of the simultaneous intervals misses", wrong.any())
    return e


@dataclass
class Errors:
    """Of estimates and of those from one stage, a row for each survey; standard errors of the former."""

    pooled: list[np.ndarray] = field(default_factory=list)
    single: list[np.ndarray] = field(default_factory=list)
    standard: list[np.ndarray] = field(default_factory=list)

    def biases(self) -> tuple[float, ...]:
        """The largest bias, that of one stage, the largest excess of one over the other, in standard errors; chance."""
        unit = np.mean(self.standard, axis=0)
        bias, other = (np.abs(np.mean(off, axis=0)) / unit for off in (self.pooled, self.single))
        return float(bias.max()), float(other.max()), float((bias - other).max()), len(self.pooled) ** -0.5


def study(
    k: int,
    numbers: Iterable[int],
    looks: Iterable[int],
    tally: Tally,
    errors: Errors,
    pi: np.ndarray | None = None,
) -> None:
    """Surveys of one prior, by number."""
    pi = priors()[k] if pi is None else pi
    epsilon, sizes = EPSILONS[k % len(EPSILONS)], SIZES[k % len(SIZES)]
    for number in numbers:
        shift, forged = (0.0, 0.0) if number % 2 else CASES[number // 2 % len(CASES)]
        seed = 1_000_003 * k + number
        found = run(pi, epsilon, sizes, shift, forged, seed)
        e = judge(found, shift, forged, tally)
        if not shift and not forged:
            error = float((e.standard_errors**2).sum())
            errors.pooled.append(e.shares - pi)
            errors.single.append(one_stage(found, error, np.random.default_rng(seed)) - pi)
            errors.standard.append(e.standard_errors)
    for number in looks:
        seed = 2_000_003 * (k + 1) + number
        tally.add(
            "an interval for every look misses at one of 50 looks", not looked(pi, epsilon, sizes, seed)
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--surveys", type=int, default=1000, help="for each prior")
    parser.add_argument(
        "--looked", type=int, default=60, help="surveys looked at all the time, for each prior"
    )
    parser.add_argument("--seed", type=int, default=0, help="number of the first survey")
    parser.add_argument("--priors", type=int, default=2301, help="seed of the priors")
    parser.add_argument("--tiny", action="store_true", help="a few surveys, to see that it runs")
    options = parser.parse_args()
    surveys, looks, every = (7, 1, (0, 5)) if options.tiny else (options.surveys, options.looked, range(10))
    tally, biases = Tally(), []
    for k in every:
        errors = Errors()
        first = options.seed
        numbers = range(first, first + surveys), range(first, first + looks)
        study(k, *numbers, tally, errors, priors(options.priors)[k])
        biases.append((k + 1, errors.biases()))
    print(tally.text())
    print(
        "\n| prior | largest bias | of one stage | largest excess | standard error of these |\n|---|---|---|---|---|"
    )
    for k, row in biases:
        print(f"| {k} | " + " | ".join(f"{value:.3f}" for value in row) + " |")


if __name__ == "__main__":
    main()
