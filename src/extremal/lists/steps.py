"""Which numbers the set of a report holds: a start, plus the first places of a step.

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

import numpy as np

from .._common.types import Ints


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
