"""The same protection from fewer people.

How many people to ask for shares as exact as 500 true answers would give. It depends on how much a report may help to
guess a person's answer. The blue line is the best way to draw reports. The red line is classical randomized response
under the same limit.
"""

import math
import sys
from pathlib import Path

import extremal as ex
from extremal._common.plot import BLUE, GREY, VERMILION, picture
from extremal.studies.data import anes96

prior = ex.Prior.from_data(anes96()["party"])
factors = [1.25, 1.5, 2, 2.5, 3, 4]
people: dict[str, list[float]] = {"randomized response": [], "extremal": []}
for factor in factors:
    response = ex.theory.randomized_response_for_pml(prior, math.log(factor))
    best = ex.design(prior, math.log(factor)).mechanism
    for name, mechanism in zip(people, (response, best), strict=True):
        people[name].append(500 / ex.shares(prior, mechanism))


def draw(axes):
    for (name, needed), style in zip(people.items(), ({"c": VERMILION}, {"c": BLUE}), strict=True):
        axes.plot(factors, needed, "s-" if name == "extremal" else "o--", label=name, **style)
    i = factors.index(2)
    high, low = (needed[i] for needed in people.values())
    axes.annotate("", (2, low * 1.08), (2, high / 1.08), arrowprops={"arrowstyle": "->", "color": GREY})
    axes.annotate(f"{high / low:.0f} times fewer people", (2.05, 1.6 * low))
    axes.set(yscale="log", xlabel="a report makes any guess at most … times as likely to be right")
    axes.set(ylabel="people to ask", yticks=[500, 1000, 3000, 10_000, 30_000, 100_000, 300_000])
    axes.set_yticklabels(["500", "1,000", "3,000", "10,000", "30,000", "100,000", "300,000"])
    axes.minorticks_off()
    axes.legend()


# To hundreds: a design may differ from the best one by the gap it is proven to.
for i, factor in enumerate(factors):
    response, best = people["randomized response"][i], people["extremal"][i]
    people_asked = f"{round(response, -2):,.0f} people or {round(best, -2):,.0f}"
    print(f"factor {factor:g}: {people_asked}, {response / best:.1f} times fewer")
folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/gallery")
folder.mkdir(parents=True, exist_ok=True)
picture(folder / "people", draw, (6.4, 3.8))
