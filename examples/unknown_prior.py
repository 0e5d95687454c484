"""If the prior comes from a small sample.

You never know exactly how common each answer is. A design that takes the shares of a sample for the truth may leak
more than it should (orange). A design for all priors that fit the sample keeps the limit of 0.7 (blue), and keeps
less information in return (grey). Both problems shrink with the size of the sample.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt

import extremal as ex

plt.style.use(Path(__file__).with_name("extremal.mplstyle"))
shares = {"never": 0.45, "once": 0.3, "often": 0.2, "daily": 0.05}
epsilon = 0.7
people = [100, 200, 500, 1000, 2000, 5000, 10_000, 100_000]
plain, robust = [], []
for n in people:
    priors = ex.PriorSet.from_counts(
        {label: round(n * share) for label, share in shares.items()}, confidence=0.95
    )
    plain.append(ex.epsilon_pml(priors, ex.design(priors.nominal, epsilon, ex.mutual_information).mechanism))
    robust.append(ex.design(priors, epsilon, ex.mutual_information))


for n, leak, d in zip(people, plain, robust, strict=True):
    print(
        f"{n:>7} people: {leak:.3f} instead of {epsilon}; the design for the set keeps it with {d.value:.3f} nats"
    )
folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/gallery")
folder.mkdir(parents=True, exist_ok=True)
figure, axes = plt.subplots()
axes.plot(people, plain, "s--", color="C1", label="leaks in the worst case: designed for the sample")
leaks = [ex.epsilon_pml(d.prior_set, d.mechanism) for d in robust]
axes.plot(people, leaks, "o-", color="C0", label="leaks in the worst case: designed for the set")
axes.plot(people, [d.value for d in robust], "o:", color="0.4", label="mutual information of the latter")
axes.set(xscale="log", ylim=(0, None), xlabel="people in the sample", ylabel="nats")
axes.legend()
for ending in ("png", "svg"):
    figure.savefig(folder / f"unknown_prior.{ending}")
