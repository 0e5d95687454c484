"""A million rows, ten continuous covariates, seven answers: within 10 s of processor time and 2 GB."""

import json
import subprocess
import sys

import pytest

PROGRAM = """
import json, resource, time
import numpy as np
import extremal as ex

rng = np.random.default_rng(0)
n, p, J = 1_000_000, 10, 7
X, B = rng.standard_normal((n, p)), rng.normal(scale=0.3, size=(p + 1, J))
B -= B[:, :1]
x = np.argmax(B[0] + X @ B[1:] + rng.gumbel(size=(n, J)), axis=1)
mechanism = ex.Mechanism(0.6 * np.eye(J) + 0.4 / J)
y = (rng.random(n)[:, None] > np.cumsum(mechanism.matrix, axis=1)[x, :-1]).sum(axis=1)
data = {f"x{k}": X[:, k] for k in range(p)} | {"y": y}
start = time.process_time()
fit = ex.regress(mechanism, "y ~ " + " + ".join(f"x{k}" for k in range(p)), data)
seconds = time.process_time() - start
off = np.abs(fit.coefficients - B[:, 1:].T.ravel()) / fit.standard_errors
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"seconds": seconds, "off": off.max(), "peak": peak}))
"""


@pytest.mark.timed
@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is counted in KB")
def test_a_million_rows():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["off"] < 4.5
    assert found["peak"] < 2000
    assert found["seconds"] < 10
