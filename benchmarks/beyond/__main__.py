"""Write the figures beyond the paper into a folder. Exit status 1 if a check fails.

From the root of the repository: python -m benchmarks.beyond --output DIR [--figure beyond-size] [--seed S]
"""

import argparse
import sys
import warnings

from extremal.errors import DisclosureWarning
from extremal.studies.paper import SEED, draw

from . import FIGURES

parser = argparse.ArgumentParser(prog="python -m benchmarks.beyond", description=__doc__)
parser.add_argument("--output", required=True, metavar="DIR", help="the folder to write to")
parser.add_argument("--figure", action="append", choices=FIGURES, help="all if left out")
parser.add_argument("--seed", type=int, default=SEED, help="of the simulations (default: %(default)s)")
options = parser.parse_args()
chosen = {name: make for name, make in FIGURES.items() if options.figure is None or name in options.figure}
warnings.simplefilter("ignore", DisclosureWarning)  # curves go up to levels that allow everything
done = draw(chosen, options.output, options.seed)
print(done)
for check in done.checks:
    if check.passed is False:
        print(f"FAIL: {check.statement}: stated {check.stated}, found {check.found}")
sys.exit(0 if done.passed else 1)
