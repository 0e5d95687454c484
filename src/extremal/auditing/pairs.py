"""audit_pairs(): what observed (secret, report) pairs prove about the leakage of a system, ours or not.

The system is a black box. Part of the pairs, chosen without looking at them, decides what to test; the other
part tests it, so a lucky choice cannot pass for evidence. Each test is an event E of the report and a secret
x, and bounds the lift P(x|E) / P(x) = P(E|x) / P(E) from below by Clopper-Pearson limits whose errors, added
up over all tests (Bonferroni), are at most 1 - confidence. All bounds hold at once with that confidence.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._common import checks
from .._common.json import json_text
from .._common.threads import one_thread
from .._common.types import Ints
from .._common.words import at_least, shorten
from ..errors import OptionError, ValuesError
from ..model.labels import is_hashable, is_missing
from ..model.levels import check_epsilon
from ..model.prior import Prior, check_prior
from .events import (
    Coded,
    Event,
    Met,
    better_read,
    bound_drawn,
    bound_estimated,
    bound_given,
    encode,
    events,
    read_column,
    shown,
)
from .figures import plain
from .text import MOST_ROWS, Cells, html, inert, label, markdown_table, number, sentence_case

FEWEST = 20  # pairs below which nothing could be shown
CHOOSING = 1 / 3  # the share of pairs that decides what to test
SPLITTING = 0x73706C6974  # names the stream of random numbers that splits the pairs


@dataclass(frozen=True)
class PairTest:
    """One event and one secret: how often they met, and what that proves.

    `lower` bounds the leakage of the event in nats from below; `estimate` is its plain estimate. `report` is
    the report if the event is a single one (`single`).
    """

    event: str
    secret: Any
    together: int
    event_count: int
    secret_count: int
    estimate: float
    lower: float
    single: bool = False
    report: Any = None

    def to_dict(self) -> dict[str, Any]:
        """All of it but the report, as plain numbers, strings and lists."""
        kept = {name: plain(value) for name, value in vars(self).items() if name not in ("single", "report")}
        return {**kept, "single_report": self.single}


@dataclass(frozen=True, eq=False, repr=False)
class PairsAudit:
    """Lower confidence bounds on the leakage of a system, all of which hold at once with `confidence`.

    A bound of 0 means that nothing was shown. That no violation was found is no proof that there is none.

    Attributes
    ----------
    pairs
        How many pairs there were.
    tested_pairs
        How many of them the bounds come from.
    secrets
        How many different answers occurred.
    reports
        How many different reports occurred.
    confidence
        The confidence level of all bounds together.
    claimed
        The level that the system claims.
    prior
        "estimated", "given" or "given, secrets drawn from it".
    tests
        The tests: one event and one answer each.
    """

    pairs: int
    tested_pairs: int
    secrets: int
    reports: int
    confidence: float
    claimed: float | None
    prior: str  # "estimated", "given" or "given, secrets drawn from it"
    tests: tuple[PairTest, ...]

    @property
    def epsilon_lower(self) -> float:
        """With the stated confidence the system's PML is at least this many nats."""
        return max((test.lower for test in self.tests), default=0.0)

    @property
    def worst(self) -> PairTest | None:
        """The test with the largest bound, if any was positive."""
        best = max(self.tests, key=lambda test: test.lower, default=None)
        return best if best is not None and best.lower > 0 else None

    @property
    def violation(self) -> bool:
        """Whether the claimed epsilon is refuted at the stated confidence; False if none was claimed."""
        return self.claimed is not None and self.epsilon_lower > self.claimed

    @property
    def verdict(self) -> str:
        """One sentence about the claim."""
        level, low = f"{self.confidence:.4g}", at_least(self.epsilon_lower)
        if self.claimed is None:
            return f"with confidence {level} the leakage is at least {low} nats"
        claim = f"{self.claimed:.6g}"
        if self.violation:
            return (
                f"VIOLATION: with confidence {level} the leakage is at least {low} nats, {claim} is claimed"
            )
        return (
            f"no violation of {claim} found: with confidence {level} the leakage is at least {low} nats; "
            "it may be larger"
        )

    def to_dict(self) -> dict[str, Any]:
        """All figures as plain numbers, strings and lists."""
        return {
            "pairs": self.pairs,
            "tested_pairs": self.tested_pairs,
            "secrets": self.secrets,
            "reports": self.reports,
            "confidence": self.confidence,
            "prior": self.prior,
            "claimed_epsilon": self.claimed,
            "epsilon_lower": self.epsilon_lower,
            "violation": self.violation if self.claimed is not None else None,
            "verdict": self.verdict,
            "tests": [test.to_dict() for test in self.tests],
        }

    def to_json(self) -> str:
        """to_dict() as JSON text, without NaN or infinities."""
        return json_text(self.to_dict(), indent=2)

    def to_markdown(self) -> str:
        """The audit as a page for readers who are not statisticians."""
        parts = [
            "# Audit of observed reports",
            sentence_case(self.verdict) + ".",
            f"{self.pairs} pairs of a secret and its report were examined: {self.secrets} different "
            f"secrets, {self.reports} different reports. A part of the pairs decided what to test; "
            f"{len(self.tests)} tests on the other {self.tested_pairs} pairs gave the bounds, all of "
            f"which hold at once with confidence {self.confidence:.4g}. The prior was {self.prior}.",
            "A system that keeps its promise is accused with probability at most "
            f"{1 - self.confidence:.3g}. That nothing was found is no proof that nothing leaks.",
            markdown_table(self._cells()),
        ]
        return inert("\n\n".join(parts)) + "\n"

    def _repr_html_(self) -> str:
        return html(str(self), self._cells())

    def _cells(self) -> Cells:
        tests = sorted(self.tests, key=lambda test: -test.lower)
        body = [
            (
                test.event,
                label(test.secret),
                f"{test.together} of {test.event_count}",
                f"{test.secret_count} of {self.tested_pairs}",
                number(test.estimate),
                at_least(test.lower),
            )
            for test in tests[:MOST_ROWS]
        ]
        return Cells(("when", "the secret was", "how often", "overall", "estimate in nats", "at least"), body)

    def __str__(self) -> str:
        lines = [self.verdict]
        if self.worst is not None:
            w = self.worst
            lines.append(
                f"strongest evidence: when {w.event}, the secret was {shown(w.secret)} in {w.together} of "
                f"{w.event_count} cases, and in {w.secret_count} of {self.tested_pairs} overall"
            )
        lines.append(f"{self.pairs} pairs, {len(self.tests)} tests on {self.tested_pairs} of them")
        return "\n".join(lines)

    def __repr__(self) -> str:
        claim = "" if self.claimed is None else f", claimed={self.claimed:.6g}, violation={self.violation}"
        return f"PairsAudit({self.pairs} pairs, epsilon_lower={self.epsilon_lower:.6g}{claim})"


@one_thread
def audit_pairs(
    x: Any,
    y: Any,
    *,
    epsilon: float | None = None,
    prior: Prior | None = None,
    drawn: bool = False,
    confidence: float = 0.95,
    seed: Any = 0,
) -> PairsAudit:
    """Lower bounds on the leakage of any system, from pairs of true answer x[i] and report y[i].

    x and y are columns of equal length: lists, arrays, pandas, polars or arrow columns. Reports may be
    anything, lists included; they are told apart as they are, order and types included. With `epsilon`, the
    claimed level, the result says whether the claim is refuted. A system that keeps its claim is accused
    with probability at most 1 - confidence, whatever its reports are.

    Without `prior` the pairs must be independent draws of people and their reports, and the prior is bounded
    from them too. With `prior` the secrets may have been chosen in any way, as long as each report was drawn
    independently for its secret. `drawn=True` adds that the secrets were drawn from the prior given, which
    makes the bounds a little larger. `seed` decides which third of the pairs chooses the tests.

    Examples
    --------
    >>> import extremal as ex
    >>> found = ex.audit_pairs(["yes", "no"] * 200, ["yes", "no"] * 200, epsilon=0.5)
    >>> round(found.epsilon_lower, 2), found.violation
    (0.54, True)

    Parameters
    ----------
    x
        The true answers.
    y
        The report for each of them.
    epsilon
        The level that the system claims, in nats.
    prior
        How common each answer is; estimated from the pairs if None.
    drawn
        Whether the answers were drawn from the prior.
    confidence
        The confidence level of all bounds together.
    seed
        The seed that splits the pairs into those that choose tests and those that are tested.

    Returns
    -------
    PairsAudit
        Bounds on the leakage, and whether a claim is refuted.
    """
    claimed = None if epsilon is None else check_epsilon(epsilon)
    alpha = 1 - checks.number(confidence, "confidence", least=0.5, below=1, remedy="0.95 is usual")
    secrets, reports = _columns(x, y, prior)
    if drawn and prior is None:
        raise OptionError(
            "drawn=True must come with the prior that secrets were drawn from",
            given="none",
            remedy="give prior=",
        )
    choosing = _split(len(reports.codes), seed)
    s, r = secrets.codes[~choosing], reports.codes[~choosing]
    ahead = len(r) / max(int(choosing.sum()), 1)
    chosen: list[Event] = []
    if choosing.any() and len(r) > 1:
        chosen = events(secrets.codes[choosing], reports.codes[choosing], reports.values, ahead)
    met = Met.of(s, r, chosen)
    if prior is None:
        how = "estimated"
        reads = better_read(Met.of(secrets.codes[choosing], reports.codes[choosing], chosen))
        lower = bound_estimated(met, chosen, reads, alpha)
    elif drawn:
        how = "given, secrets drawn from it"
        lower = bound_drawn(met, prior, alpha)
    else:
        how = "given"
        lower = bound_given(met, s, r, chosen, prior, alpha)
    tests = tuple(
        PairTest(
            event.what,
            secrets.values[event.secret],
            together,
            happened,
            occurred,
            math.log(together / occurred / _base(event, s, r, prior)) if together else 0.0,
            low,
            event.report is not None,
            None if event.report is None else reports.values[event.report],
        )
        for event, together, happened, occurred, low in zip(
            chosen,
            *(each.tolist() for each in (met.together, met.happened, met.occurred, lower)),
            strict=True,
        )
    )
    return PairsAudit(
        len(reports.codes), len(r), len(secrets.values), len(reports.values), confidence, claimed, how, tests
    )


def _base(event: Event, s: Ints, r: Ints, prior: Prior | None) -> float:
    """The probability of the event: how often it came, or under the prior given, not as the secrets happened to be."""
    held = event.holds[r]
    if prior is None:
        return int(np.count_nonzero(held)) / len(s)
    n = np.bincount(s, minlength=prior.size)
    share = np.bincount(s[held], minlength=prior.size) / np.maximum(n, 1)
    return float(prior.probabilities @ share)


def _split(n: int, seed: Any) -> NDArray[np.bool_]:
    """Which pairs choose the tests, independently of the pairs.

    A stream of its own: with default_rng(seed) the split would follow the very numbers that a caller may have
    drawn secrets or reports from with the same seed.
    """
    words = np.random.SeedSequence([SPLITTING, checks.whole(seed, "seed")])
    return np.random.Generator(np.random.Philox(words)).random(n) < CHOOSING


def _columns(x: Any, y: Any, prior: Prior | None) -> tuple[Coded, Coded]:
    secrets, reports = read_column(x, "x"), read_column(y, "y")
    checks.length(reports, "y", len(secrets), "secret", error=ValuesError)
    if len(secrets) < FEWEST:
        raise ValuesError(
            f"an audit must have at least {FEWEST} pairs",
            given=len(secrets),
            remedy="thousands show more, collect them by calling the system again",
        )
    if any(is_missing(value) for value in secrets if not isinstance(value, list | tuple | np.ndarray)):
        raise ValuesError(
            "must not be missing",
            parameter="secrets",
            given="a missing value in x",
            remedy="drop the record or name it, e.g. 'no answer'",
        )
    if prior is None:
        coded = encode(secrets)
        if len(coded.values) < 2:
            raise ValuesError(
                "must hold at least 2 different secrets",
                parameter="x",
                given=f"only {shown(secrets[0])}",
                remedy="what is the same for everybody is no secret",
            )
        return coded, encode(reports)
    row = {label: i for i, label in enumerate(check_prior(prior).labels)}
    known = (tuple(value) if isinstance(value, list) else value for value in secrets)
    codes = np.array([row.get(x, -1) if is_hashable(x) else -1 for x in known], dtype=np.int64)
    if codes.min() < 0:
        unknown = [secrets[i] for i in np.flatnonzero(codes < 0)[:5].tolist()]
        raise ValuesError(
            f"every secret must be a label of the prior, {shorten(prior.labels)}",
            given=shorten(unknown),
            remedy="labels are compared as they are, 1 is not '1'",
        )
    return Coded(codes, prior.labels), encode(reports)
