"""What an upper bound must not be: less than a value that was attained."""

from __future__ import annotations

from ..errors import ProofError

ROUNDING = 1e-9  # of the value: what sums, factors and linear programs may be off by
LIFTS = 1e-14  # of a lift: what rounding does to it


def checked_bound(upper: float, value: float, rounding: float = 0.0) -> float:
    """The upper bound, or the value of a mechanism where rounding put the bound below it.

    A bound that is further below is contradicted by the mechanism: the proof is wrong. `rounding` is what the two may
    be off by, in addition to ROUNDING of the value.
    """
    if value - upper > ROUNDING * abs(value) + rounding:
        raise ProofError(
            "the upper bound of a design is below its value, so its proof is wrong",
            given=f"a bound of {upper:.12g} and a value of {value:.12g}",
            remedy="this is a fault of the library: report it with the prior and epsilon",
        )
    return max(upper, value)


def blurred(efficiency: float, epsilon: float) -> float:
    """How far off an efficiency may be that was measured from a matrix: lifts differ from 1 by about epsilon only."""
    return efficiency * min(1.0, LIFTS / epsilon)
