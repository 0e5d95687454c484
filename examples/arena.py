"""One report, in true answers.

How many true answers one report is worth, for the best design and for five usual methods. The higher the line, the
fewer people you must ask. The blue line is the best way to draw reports. The others are the usual methods of local
differential privacy, each set so that its reports leak no more than ε.
"""

import sys
from pathlib import Path

import extremal as ex
from extremal._common.plot import BLUE, GREY, ORANGE, picture
from extremal.studies.data import anes96

prior = ex.Prior.from_data(anes96()["party"])
epsilons = (0.25, 0.5, 0.75, 1.0, 1.25)
tables = [ex.compare(prior, epsilon, ex.shares) for epsilon in epsilons]
names = [row.name for row in tables[0].rows]
styles = dict(zip(names, ("-", "--", "-", "--", ":", "-."), strict=True))


def draw(axes):
    for name in names:
        values = [table.row(name).value for table in tables]
        color = (
            BLUE if name == "PML" else ORANGE if name in ("randomized response", "subset selection") else GREY
        )
        label = "best design" if name == "PML" else name
        axes.plot(epsilons, values, color=color, linestyle=styles[name], label=label)
    axes.set(xlabel="ε, the most that a report may leak (nats)", ylabel="true answers that a report is worth")
    axes.legend(loc="upper left")


for epsilon, table in zip(epsilons, tables, strict=True):
    others = max(row.value for row in table.rows[1:])
    print(
        f"ε = {epsilon:.2f}: worth {table.rows[0].value:.2f} direct answers, at most {others:.2f} elsewhere"
    )
folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/gallery")
folder.mkdir(parents=True, exist_ok=True)
picture(folder / "arena", draw)
