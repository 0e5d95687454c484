"""How many people to ask, and how precise they will be.

The more people you ask, and the larger ε, the more precise the shares. Each line is one ε, with the best design for
shares. Read off how many points to each side a share is known to, for a number of people. Four times as many people
halve the error; below ε = 1, half of ε takes about four times as many. The dashed line is what true answers would
give.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt

import extremal as ex

plt.style.use(Path(__file__).with_name("extremal.mplstyle"))
prior = ex.Prior([0.20, 0.20, 0.10, 0.05, 0.10, 0.15, 0.20])
precision = ex.planning.precision(prior, people=[100, 300, 1000, 3000, 10_000, 30_000])
print(precision)
folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/gallery")
folder.mkdir(parents=True, exist_ok=True)
figure, axes = plt.subplots(figsize=(6.4, 4.4))
precision.plot(axes)
for ending in ("png", "svg"):
    figure.savefig(folder / f"planning.{ending}")
