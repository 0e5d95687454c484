"""Weights of given lift vectors."""

import numpy as np
import pytest

from extremal.optimization.masters.quadratic import centred


def test_balanced_weights_are_as_large_as_a_general_solver_finds():
    import cvxpy as cp  # slow to import

    rng = np.random.default_rng(0)
    for spread in (1.0, 1e-3):
        X = np.vstack([rng.normal(size=(6, 3)), spread * rng.random((6, 3))])
        w = rng.random(len(X))
        q = cp.Variable(len(X))
        cp.Problem(cp.Maximize(w @ cp.log(q)), [X.T @ q == 0, cp.sum(q) == 1]).solve(solver="CLARABEL")
        found = centred(X, w)
        assert found.sum() == pytest.approx(1, abs=1e-9)
        np.testing.assert_allclose(found, q.value, rtol=1e-3)


def test_rows_on_one_side_have_no_balanced_weights():
    with pytest.raises(np.linalg.LinAlgError):
        centred(np.array([[1.0, 0.2], [0.5, -1.0], [0.1, 1.0]]), np.ones(3))
