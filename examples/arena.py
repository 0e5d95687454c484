"""One report, in true answers.

How many true answers one report is worth, for the best design and for five usual methods. The higher the line, the
fewer people you must ask. The blue line is the best way to draw reports. The others are the usual methods of local
differential privacy, each set so that its reports leak no more than ε.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt

import extremal as ex

plt.style.use(Path(__file__).with_name("extremal.mplstyle"))
prior = ex.Prior.from_data(ex.datasets.anes96()["party"])
epsilons = (0.25, 0.5, 0.75, 1.0, 1.25)
tables = [ex.compare(prior, epsilon, ex.shares) for epsilon in epsilons]
names = [row.name for row in tables[0].rows]
styles = dict(zip(names, ("-", "--", "-", "--", ":", "-."), strict=True))


for epsilon, table in zip(epsilons, tables, strict=True):
    others = max(row.value for row in table.rows[1:])
    print(
        f"ε = {epsilon:.2f}: worth {table.rows[0].value:.2f} direct answers, at most {others:.2f} elsewhere"
    )
folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/gallery")
folder.mkdir(parents=True, exist_ok=True)
figure, axes = plt.subplots()
for name in names:
    values = [table.row(name).value for table in tables]
    color = "C0" if name == "PML" else "C1" if name in ("randomized response", "subset selection") else "0.4"
    label = "best design" if name == "PML" else name
    axes.plot(epsilons, values, color=color, linestyle=styles[name], label=label)
axes.set(xlabel="ε, the most that a report may leak (nats)", ylabel="true answers that a report is worth")
axes.legend(loc="upper left")
for ending in ("png", "svg"):
    figure.savefig(folder / f"arena.{ending}")
