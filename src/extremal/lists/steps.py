"""Subset selection for alphabets of any size: a report is a start and a step, and stands for a set of answers.

Answers are numbered 0, 1, 2, … below a prime p. The set of a report is start + D, where D are the first d places of the
step. The step is drawn first, without a look at the answer; it is the public seed of the report. Given
the step, the place of x - start decides how likely the start is:

    P(start | step, x) = A if x is in the set, else B,   with   d A + (p - d) B = 1.

Any two answers are in the same number of sets. So a report holds the true answer with probability P = d A and any other
with probability Q = (d - P) / (p - 1), as if the set were drawn among all sets of d numbers: the error of estimated
shares is that of subset selection, which no mechanism of the same level of local differential privacy improves on where
answers are alike (Ye and Barg).

What it leaks: the step says nothing about x, so the lift of (step, start) is that of the start given the step,
at most A / (B + (A - B) m), if every set that holds an answer has at least the mass m. Sets are no lighter than the
d - (p - N) rarest of the N answers together, which need not lie in one set: for few answers the bound can be some
tenths of a nat above what is leaked. With m = 0 the bound is A / B: the level of local differential privacy.

Which numbers the set of a report holds: a start, plus the first places of a step.

Let p be a prime, g its least primitive root, e a divisor of p - 1 and n = (p - 1) / e. Step i = 0 … e - 1 lays out the
numbers modulo p in places: place c n + t holds g^(i + c + e t) for c < e and t < n, and the last place holds 0. The
first d = u n places hold D_i = g^i D_0: u cosets of the subgroup C of e-th powers. The set of a report (i, start) is
start + D_i.

Every two numbers are in the same number of these e p sets. Multiplying by an element of C does not change D_0, so the e
multiples g^i D_0, each taken |C| times, are all p - 1 multiples a D_0; and for every pair y ≠ y' in D_0 exactly one a
solves x - z = a (y - y'). So the set of a random start and step holds any two answers as often as a random set of d
numbers does, although there are few steps. With few steps all answers are counted by e convolutions of length p.

Files of the first version have the steps 1 … p - 1 instead, and sets start, start + step, start + 2 step, ….
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from .._common.types import Floats, Ints
from ..model.leakage import Doubt


@dataclass(frozen=True)
class Cosets:
    """The places of `steps` steps, of cosets of the powers of this number.

    Attributes
    ----------
    prime
        p, the modulus.
    steps
        e, a divisor of p - 1: how many steps there are.
    """

    prime: int
    steps: int

    def numbers(self, step: Ints | int, places: Ints) -> Ints:
        """The number at each place of each step."""
        exponents = np.asarray(step) + self._exponents(np.minimum(places, self.prime - 2))
        found = self._powers[exponents % (self.prime - 1)]
        return np.where(places == self.prime - 1, 0, found)

    def places(self, step: Ints | int, numbers: Ints) -> Ints:
        """The place of each number in each step."""
        t, c = np.divmod((self._logarithms[numbers] - step) % (self.prime - 1), self.steps)
        return np.where(numbers == 0, self.prime - 1, c * self._order + t)

    def _exponents(self, places: Ints) -> Ints:
        c, t = np.divmod(places, self._order)
        return np.asarray(c + self.steps * t)

    @property
    def _order(self) -> int:
        """Of the subgroup of e-th powers."""
        return (self.prime - 1) // self.steps

    @cached_property
    def _powers(self) -> Ints:
        """g^0, g^1, … g^(p - 2)."""
        g = primitive_root(self.prime)
        found = np.ones(1, dtype=np.int64)
        while len(found) < self.prime - 1:
            more = found * pow(g, len(found), self.prime) % self.prime
            found = np.concatenate([found, more[: self.prime - 1 - len(found)]])
        return found

    @cached_property
    def _logarithms(self) -> Ints:
        """The exponent of each number; 0, which has none, gets 0."""
        found = np.zeros(self.prime, dtype=np.int64)
        found[self._powers] = np.arange(self.prime - 1)
        return found


@dataclass(frozen=True)
class Progressions:
    """The places of the first version: with step i, place j holds (i + 1) j."""

    prime: int

    @property
    def steps(self) -> int:
        """All."""
        return self.prime - 1

    def numbers(self, step: Ints | int, places: Ints) -> Ints:
        """The number at each place of each step."""
        return np.asarray((np.asarray(step) + 1) * places % self.prime)

    def places(self, step: Ints | int, numbers: Ints) -> Ints:
        """The place of each number in each step."""
        square = np.asarray(step) + 1
        inverse, exponent = np.ones_like(square), self.prime - 2
        while exponent:  # 1 / step is its power p - 2
            if exponent & 1:
                inverse = inverse * square % self.prime
            square = square * square % self.prime
            exponent >>= 1
        return np.asarray(numbers * inverse % self.prime)


Steps = Cosets | Progressions


def is_prime(n: int) -> bool:
    """Whether n is prime, by division: 2^29 takes 12,000 of them."""
    if n < 4:
        return n > 1
    return n % 2 == 1 and all(n % k for k in range(3, math.isqrt(n) + 1, 2))


def next_prime(n: int, steps: int = 1) -> int:
    """The least prime from n on that is 1 modulo `steps`."""
    candidate = max(n, 2)
    candidate += (1 - candidate) % steps
    while not is_prime(candidate):
        candidate += steps
    return candidate


def primitive_root(p: int) -> int:
    """The least number of which every other one is a power modulo p, but 0."""
    rest, factors, divisor = p - 1, [], 2
    while rest > 1:
        if divisor * divisor > rest:
            divisor = rest
        if rest % divisor == 0:
            factors.append(divisor)
            while rest % divisor == 0:
                rest //= divisor
        divisor += 1
    return next(g for g in range(1, p) if all(pow(g, (p - 1) // q, p) != 1 for q in factors))


LARGEST = 1 << 24  # answers: decoding holds some arrays of them
MOST_SIZES = 1 << 18  # of sets that are tried at once
MOST_STEPS = (
    1 << 13
)  # numbers of steps that are tried: with more, sets are so small that members can be counted
MOST_PRIMES = 64  # numbers of steps for which a prime is looked for
DEARER = 0.005  # how much the error may grow, as a share, for fewer steps and so faster counting


class Supports(NamedTuple):
    """With what probability a report holds the true answer, and any other one."""

    own: float
    other: float


def supports(prime: int, size: int, inside: float) -> Supports:
    """From the probability `inside` that a set of `size` numbers holds the true answer."""
    return Supports(inside, (size - inside) / (prime - 1))


def least_held(answers: int, prime: int, size: int) -> int:
    """How many answers a set that holds one holds at least: p - N of its numbers may be none."""
    return max(1, size - (prime - answers))


class Choice(NamedTuple):
    """The steps and sets that estimate all shares best, and the odds A / B, which may be infinite."""

    prime: int
    steps: int
    size: int
    odds: float


def best_choice(masses: Floats | None, answers: int, epsilon: float) -> Choice:
    """The fewest steps with which the expected squared error of all shares is at most 0.5 % above the least one.

    With the masses of the answers, under PML for that prior; without, under local differential privacy, where answers
    are taken as all alike.
    """
    lightest = None if masses is None else np.cumsum(np.sort(masses))
    prime = next_prime(answers)
    size = _best_size(lightest, answers, prime, epsilon)
    (least,), (odds,) = _errors(np.array([size]), lightest, answers, prime, epsilon)
    steps = np.arange(1, min(prime - 1, MOST_STEPS))
    cosets = np.clip(np.floor(steps * size / prime) + np.array([[0], [1]]), 1, steps)
    about, _ = _errors((cosets / steps * (prime - 1)).ravel(), lightest, answers, prime, epsilon)
    good = np.flatnonzero(about <= (1 + DEARER) * least)
    for k in good[np.argsort(good % len(steps), kind="stable")][:MOST_PRIMES].tolist():
        e, u = int(steps[k % len(steps)]), int(cosets.ravel()[k])
        p = next_prime(answers, e)
        d = u * (p - 1) // e
        (error,), (found,) = _errors(np.array([d]), lightest, answers, p, epsilon)
        if d < p and error <= (1 + DEARER) * least:
            return Choice(p, e, d, float(found))
    return Choice(prime, max(prime - 1, 1), size, float(odds))


def _best_size(lightest: Floats | None, answers: int, prime: int, epsilon: float) -> int:
    """The best size of sets. Of very many, some that grow in proportion are tried, then all near the best."""
    largest = max(prime - 1, 1)
    if largest <= MOST_SIZES:
        sizes = np.arange(1, largest + 1, dtype=np.float64)
    else:
        some = np.unique(np.rint(np.geomspace(1, largest, MOST_SIZES)))
        near = int(np.argmin(_errors(some, lightest, answers, prime, epsilon)[0]))
        sizes = np.arange(some[max(near - 1, 0)], some[min(near + 1, len(some) - 1)] + 1)
    return int(sizes[np.argmin(_errors(sizes, lightest, answers, prime, epsilon)[0])])


def _errors(
    sizes: Floats, lightest: Floats | None, answers: int, prime: int, epsilon: float
) -> tuple[Floats, Floats]:
    """The error of sets of each size, and the odds that epsilon allows; `lightest` are masses of the rarest answers."""
    top = math.exp(min(epsilon, 700.0))
    odds = np.full(len(sizes), top)
    if lightest is not None:
        held = np.maximum(sizes - (prime - answers), 1).astype(np.int64)
        m = lightest[held - 1]
        room = 1 - m * top
        with np.errstate(divide="ignore"):
            odds = np.where(room > 0, top * (1 - m) / np.where(room > 0, room, 1.0), np.inf)
    with np.errstate(invalid="ignore"):
        own = np.where(np.isinf(odds), 1.0, odds * sizes / (odds * sizes + prime - sizes))
    other = (sizes - own) / (prime - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = (own * (1 - own) + (answers - 1) * other * (1 - other)) / (own - other) ** 2
    return np.where(own > other, error, np.inf), odds


CELLS = (
    1 << 24
)  # members of sets that are looked at, over all steps; where that is not enough, over some steps
GOLDEN = (math.sqrt(5) - 1) / 2  # its multiples spread evenly


def doubt_of_windows(
    shares: Floats | None, answers: int, layout: Steps, size: int, inside: float, outside: float
) -> Doubt:
    """The doubt before and after a report, for probabilities of places `inside` and `outside` of a set.

    Without shares all answers are equally common. Where the sets hold too many answers for a disclosure, `after` is
    what is left at least.
    """
    prime = layout.prime
    if shares is None:
        before = (answers - 1) / answers
        if size == 1:
            return Doubt(before, prime * outside * before)
        return Doubt(before, 1 - max(inside, outside) * prime / answers)
    ordered = np.sort(shares)[::-1]
    before = math.fsum(ordered[1:])
    # An answer is in `size` of the sets of a step, so the commonest ones are guessed at best in all of theirs.
    right = inside * size * math.fsum(ordered[: -(-prime // size)]) + outside * prime * float(ordered[0])
    if size > 1 and not Doubt(before, 1 - right).disclosed:
        return Doubt(before, 1 - right)
    wrong = [_wrong(shares, layout, step, size, inside, outside) for step in _steps(layout, size)]
    return Doubt(before, math.fsum(wrong) / len(wrong))


def _steps(layout: Steps, size: int) -> list[int]:
    """Steps whose sets are looked at; with sets of one all steps are alike."""
    each = layout.prime * max(
        math.log(layout.prime), 1.0
    )  # until every set holds one of the answers seen so far
    wanted = 1 if size == 1 else min(layout.steps, max(int(CELLS / each), 1))
    if wanted == layout.steps:
        return list(range(layout.steps))
    return [int(layout.steps * (k * GOLDEN % 1)) for k in range(1, wanted + 1)]


def _wrong(masses: Floats, layout: Steps, step: int, size: int, inside: float, outside: float) -> float:
    """The chance that the best guess from a set of this step is wrong."""
    best = np.zeros(layout.prime)  # the mass of the commonest answer in the set of each start
    unknown, first = np.ones(layout.prime, dtype=np.bool_), layout.numbers(step, np.arange(size))
    left = layout.prime
    for x in np.argsort(-masses, kind="stable").tolist():
        starts = (x - first) % layout.prime
        found = starts[unknown[starts]]
        best[found], unknown[found] = masses[x], False
        left -= len(found)
        if not left:
            break
    total = math.fsum(masses)
    within = max(size * total - math.fsum(best), 0.0)
    # Where none of the set is as likely as the commonest answer outside of it, that one is guessed.
    lost = np.maximum(outside * float(masses.max()) - inside * best, 0.0)
    return max(total * (layout.prime - size) * outside + within * inside - math.fsum(lost), 0.0)
