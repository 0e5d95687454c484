"""Regression: a million reports of seven answers with ten continuous covariates, beside statsmodels on true answers.

Targets: multinomial logit of 10^6 rows within 10 s and 2 GB, data included. Covariates are continuous, so no two rows
are equal. statsmodels' MNLogit gets the true answers, which are easier: their likelihood is concave.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from report import Report, isolated

COVARIATES, ANSWERS = 10, 7
ROWS = {"tiny": [2_000], "quick": [100_000], "normal": [100_000, 1_000_000], "full": [100_000, 1_000_000]}


def run(report: Report) -> None:
    table = report.table(
        f"Multinomial logit, {COVARIATES} continuous covariates, {ANSWERS} answers",
        {
            "rows": "9d",
            "who": "<26",
            "seconds": "8.2f",
            "processor s": "11.2f",
            "peak MB": "8.0f",
            "ratio": "6.2f",
        },
        note="ratio: processor time against statsmodels' on as many true answers",
    )
    for rows in ROWS[report.level]:
        cases = {
            "statsmodels, true answers": ("statsmodels", 0.0),
            "extremal, true answers": ("extremal", 0.0),
            "extremal, ε = 1.5": ("extremal", 1.5),
        }
        compared = None
        for name, (who, epsilon) in cases.items():
            arguments = {"who": who, "rows": rows, "epsilon": epsilon, "seed": report.seed}
            done = isolated("regress", "fitted", arguments, 600.0)
            if done.result is None:
                report.broke(f"{name}, {rows} rows: {done.status}")
                continue
            seconds, cpu = done.result["seconds"], done.result["cpu"]
            compared = compared or cpu
            ok = None
            if who == "extremal" and rows == 1_000_000:
                ok = report.check(f"{name}: 10^6 rows within 10 s", seconds <= 10)
                ok &= report.check(f"{name}: 10^6 rows within 2 GB", (done.peak_mb or 0.0) <= 2000)
            table.row(rows, name, seconds, cpu, done.peak_mb, cpu / compared, ok=ok)


def fitted(who: str, rows: int, epsilon: float, seed: int) -> dict[str, Any]:
    """Seconds of one fit, in a process of its own."""
    import extremal as ex

    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, COVARIATES))
    B = rng.normal(scale=0.3, size=(COVARIATES + 1, ANSWERS))
    answers = np.argmax(B[0] + X @ B[1:] + rng.gumbel(size=(rows, ANSWERS)), axis=1)
    if who == "statsmodels":
        import statsmodels.api as sm

        call = lambda: sm.MNLogit(answers, sm.add_constant(X)).fit(disp=0)  # noqa: E731
    else:
        if epsilon:
            certified: Any = ex.certify(ex.design(ex.Prior.uniform(ANSWERS), epsilon))
            reports = np.asarray(certified.privatize(answers))
        else:
            certified, reports = ex.Mechanism(np.eye(ANSWERS)), answers
        data = {f"x{k}": X[:, k] for k in range(COVARIATES)} | {"y": reports}
        formula = "y ~ " + " + ".join(f"x{k}" for k in range(COVARIATES))
        ex.regress(certified, "y ~ 1", {"y": reports[:2000]})  # what is imported is not measured
        call = lambda: ex.regress(certified, formula, data)  # noqa: E731
    clock, cpu = time.perf_counter(), time.process_time()
    call()
    return {"seconds": time.perf_counter() - clock, "cpu": time.process_time() - cpu}
