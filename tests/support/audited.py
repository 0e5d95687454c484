"""Mechanisms to audit."""

import extremal as ex

PRIOR = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
SKEWED = ex.Mechanism([[1, 0], [0.5, 0.5], [0, 1]], PRIOR.labels, ["low", "high"])
SOFT = ex.Mechanism([[0.6, 0.4], [0.5, 0.5], [0.4, 0.6]], PRIOR.labels, ["low", "high"])
