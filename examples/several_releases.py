"""Several reports about one person.

If you ask again and draw a new report, both together reveal more than one. The picture shows what 1 to 10 reports
leak together. The sum of their leakages (dotted) is not a limit: two to seven reports of the optimal mechanism leak
more than that.
"""

import math
import sys
from pathlib import Path

import matplotlib.pyplot as plt

import extremal as ex

plt.style.use(Path(__file__).with_name("extremal.mplstyle"))
prior = ex.Prior.uniform(5)
epsilon = math.log(5 / 4)  # each report of the optimal mechanism rules out one of five answers
mechanisms = {
    "optimal mechanism": (ex.theory.closed_form.uniform(prior, epsilon), "C0", "o-"),
    "randomized response": (ex.theory.randomized_response_for_pml(prior, epsilon), "C1", "s--"),
}
numbers = range(1, 11)
leaks = {
    name: [ex.composition.repeat_release(prior, mechanism, n).epsilon for n in numbers]
    for name, (mechanism, _, _) in mechanisms.items()
}


for name, found in leaks.items():
    print(f"{name}: " + " ".join(f"{leak:.3f}" for leak in found))
print("sum: " + " ".join(f"{n * epsilon:.3f}" for n in numbers))
folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/gallery")
folder.mkdir(parents=True, exist_ok=True)
figure, axes = plt.subplots()
axes.plot(numbers, [n * epsilon for n in numbers], ":", color="0.4", label="sum, not a bound")
for name, (_, color, style) in mechanisms.items():
    axes.plot(numbers, leaks[name], style, color=color, label=name)
axes.axhline(prior.epsilon_max, color="0.4", linewidth=0.8)
axes.set(xlabel="independent reports about one answer", ylabel="leakage of all together (nats)")
axes.legend(loc="lower right")
for ending in ("png", "svg"):
    figure.savefig(folder / f"several_releases.{ending}")
