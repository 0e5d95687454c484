"""The same protection from fewer people.

How many people to ask for shares as exact as 500 true answers would give, if no guess about anybody may get more than
twice as likely to be right. The question has seven answers (party identification in the American National Election
Study of 1996). Classical randomized response gives the true answer with a fixed probability, and else a random one.
"""

import math
import sys
from pathlib import Path

import matplotlib.pyplot as plt

import extremal as ex

plt.style.use(Path(__file__).with_name("extremal.mplstyle"))
prior = ex.Prior.from_data(ex.datasets.anes96()["party"])
factors = [1.25, 1.5, 2, 2.5, 3, 4]
people: dict[str, list[float]] = {"randomized response": [], "extremal": []}
for factor in factors:
    response = ex.theory.randomized_response_for_pml(prior, math.log(factor))
    best = ex.design(prior, math.log(factor)).mechanism
    for name, mechanism in zip(people, (response, best), strict=True):
        people[name].append(500 / ex.shares(prior, mechanism))


# To hundreds: a design may differ from the best one by the gap it is proven to.
for i, factor in enumerate(factors):
    response, best = people["randomized response"][i], people["extremal"][i]
    people_asked = f"{round(response, -2):,.0f} people or {round(best, -2):,.0f}"
    print(f"factor {factor:g}: {people_asked}, {response / best:.1f} times fewer")
folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/gallery")
folder.mkdir(parents=True, exist_ok=True)
figure, axes = plt.subplots(figsize=(7.6, 1.7))
i = factors.index(2)
needed = [round(one[i], -2) for one in people.values()]
bars = axes.barh([1, 0], needed, height=0.62, color=["0.72", "C0"])
axes.bar_label(bars, [f"{count:,.0f} people" for count in needed], padding=6, fontsize=15)
axes.set_yticks([1, 0], list(people), fontsize=15)
axes.set(xticks=[], xlim=(0, 1.28 * max(needed)))
axes.grid(False)
axes.tick_params(length=0)
axes.spines[:].set_visible(False)
for ending in ("png", "svg"):
    figure.savefig(folder / f"people.{ending}")
