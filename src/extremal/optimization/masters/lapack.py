"""Small linear systems, solved by LAPACK without what scipy does around it: that takes longer than the solving."""

from __future__ import annotations

import numpy as np

from ..._common.types import Floats


def solve_positive(A: Floats, B: Floats, lower: bool = True) -> Floats:
    """A^-1 B for a symmetric A, of which one triangle is read; LinAlgError unless it is positive definite."""
    from scipy.linalg.lapack import dpotrf, dpotrs

    factor, failed = dpotrf(A, lower=lower, clean=False, overwrite_a=True)
    if failed:
        raise np.linalg.LinAlgError("the matrix is not positive definite")
    solution, _ = dpotrs(factor, B, lower=lower)
    return np.asarray(solution)


def least_squares(A: Floats, b: Floats) -> Floats:
    """The shortest x that brings the square matrix A x as near to b as possible."""
    from scipy.linalg.lapack import dgelsy, dgelsy_lwork

    n = len(b)
    cutoff = float(np.finfo(np.float64).eps)
    room = int(dgelsy_lwork(n, n, 1, cutoff)[0])
    _, x, _, _, _ = dgelsy(A, b[:, None], np.zeros((n, 1), dtype=np.int32), cutoff, room)
    return np.asarray(x[:n, 0])
