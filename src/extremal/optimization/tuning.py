"""Every constant of the optimization that is not mathematics: its unit, its reason, and the benchmark that fixes it.

A design is as right with other values: they decide how soon it is found and how near to the optimum. Constants that
say how far rounding may go, or what fits into memory, stand where they are used. What another value does to the designs
of a corpus is shown by `python benchmarks/same.py --set NAME=NUMBER`.
"""

from __future__ import annotations

# Work: its unit is one node of branch and bound, about 50 ns. Measured one by one; `benchmarks/design.py` and
# `benchmarks/families.py` would show a design that ends too early or too late.
NODES = 160_000_000  # of every design that states no other
NODES_FOR_EACH_SYMBOL = 2_400_000  # nodes more for each symbol
# Nodes for each symbol, of searches made of linear programs, which cost what they are counted for.
NODES_IN_PROGRAMS = 500_000
ROUNDS = 40  # of a search for estimates, whose programs for weights take most of the time
SPEED = 2e7  # nodes a second, to end a compiled search in time
OFTEN = 0.2  # seconds between two calls of progress from within a step: seen as alive, and not slowed
ROUND = 20_000  # nodes that a round costs beside its columns
TRY = 5_000  # nodes of large-neighbourhood search with 14 free symbols, twice that with 16
ITERATION = 500  # nodes of an iteration of the simplex method
ELEMENT = 1 / 100  # nodes, in addition, for each element of the program
CELL = 1 / 50  # nodes of a cell of a dynamic programme, or of a table of vertices
EVALUATED = 1 / 5  # nodes of one lift in a column whose utility is computed
CALL = 5_000  # nodes that a linear program costs before its first iteration
MOVED = 8  # nodes of each lift of a column that is tried
LOOKED_AT = 1 / 8  # nodes of a symbol that branch and bound over two sets looks at
PAIR = 2  # nodes of a pair of sums

# Which way is taken: where one becomes faster than the other. `benchmarks/design.py`, `families.py`, `shares.py`.
ENUMERATED = 10  # symbols up to which all vertices are listed for an f-information
ENUMERABLE = 14  # and for other utilities, which have nothing better
COARSE = 1e-7  # tolerances from which on a coarse table of f is enough
MEASURED = 1000  # symbols whose arc mechanism is made to measure its value: small levels need every digit
VERTICES_TABLED = 18  # symbols whose vertices are all listed: beyond that branch and bound is faster
SEARCHED = 300  # symbols up to which branch and bound is worth starting
EXHAUSTIVE = 36  # symbols up to which branch and bound is run to its end
PRICED_AT_ONCE = 20  # symbols up to which exact pricing finds columns faster than search
SHARED_ROWS = 0.8  # classes for each symbol, up to which equal symbols share a row
# Symbols up to which the first program takes a moment, and is solved whatever the time limit.
SOLVED_AT_ONCE = 300
MERGED_FROM = 50  # symbols: below, the program itself is fast
MERGED_ONLY_FROM = 400  # symbols up to which the unmerged program is worth trying
SPARSE = 60  # symbols that a column holds or leaves, up to which it is sparse
LISTED_PAIRS = 400_000  # columns of a set of priors in a program that is solved at once: about 10 s
MERGED_OVER_SETS = 60  # classes from which small symbols of a set are merged
FINEST_SUMS = 2_000  # counts in all up to which pairs of sums are gone through
# Lift vectors: so many can be gone through, and the check of a design does it too.
VERTICES_LISTED = 1_900_000
SHORT_LIST = 300_000  # lift vectors that are gone through in every round
EQUAL_WEIGHTS_FROM = 200  # symbols, beyond which the best weights take too long to find
LISTED = 6  # symbols: up to so many all lift vectors, at most 60, are mixed at once
DRAWN_FROM = 18  # symbols: up to so many the best weights take no time
LISTED_LEVELS = 3**12  # lift vectors of a set to be listed: all of 12 symbols
ARRANGED_FROM = 18  # symbols: beyond, arrangements of the best vector are not improved upon by other weights

# The knapsack oracle: `benchmarks/families.py` and `benchmarks/design.py`, gap and seconds.
CELLS = 1 << 15  # of each piece of the table of f: chords lie above t log t by at most 5e-10 max(1, high)
FINE_CELLS = 1 << 19  # and a 256th of that
LARGEST_TRACE = 500_000_000  # bytes that a dynamic programme may take to remember its choices
# Symbols whose 2^15 subset sums are looked up instead of being branched on: they fit the cache.
LARGEST_TABLE = 15
FRACTION = 0.2  # of the largest reduced value: columns of less are left for later rounds
NODES_TO_THE_END = 20_000_000  # for each partial symbol, where branch and bound is run to its end
FEW_NODES = 200_000  # for each partial symbol, at first and beyond: some columns and a bound, not a proof
MANY_COLUMNS = 200  # to find for each partial symbol when two are not enough
STALL = 20  # rounds over which a search has to close a tenth of the gap
MOVES = 40  # tried for each column
BLOCKS_TRIED = (80, 200)  # blocks to merge into, tried in turn
BLOCK_PART = 6  # blocks are at most this part of what a column holds or leaves
# Equal symbols up to which their exact optimum is the bound: more are too many to check it independently.
EVEN = 20_000

# Quadratic masters and their searches: `benchmarks/shares.py`, gap, seconds and outputs.
ENOUGH = 0.7  # of the goal: the rest is for fewer outputs
FEW_OUTPUTS = 4  # for each symbol, unless it takes more to reach the goal
SPARED = 5e-3  # of the efficiency, at most, for fewer outputs where the goal is missed
IDLE = 5  # rounds that gain next to nothing and end a search without limits
GAIN = 1e-9  # of the value: next to nothing
NEWTON_STEPS = 60  # at most: ten are usual
LEAST_WEIGHT = 0.3  # of the mean weight, to start from
NEAREST = 0.99  # of the way to where a weight vanishes
CUT = 0.1  # of the rows, to be dropped at once where their number counts
LARGEST_PART = 0.4  # of the rows, to be dropped at once, at first
SMALLEST_PART = 0.04  # and at last
PAIR_ROUNDS = 60  # of the quasi-Newton method for the bound by variances and covariances

# The exchange oracle: `benchmarks/shares.py`, gap, seconds and outputs.
FIXED_POINT = 30  # rounds of d <- d C_ii / a
RELAXED = 1e-4  # relative change of the bound by a round that is the last, where symbols are many
MOST_RELAXED = 1e-7  # and where they are few
SECTIONS = 8  # of the search between two proofs
SWEEPS = 20  # over all symbols, of a local search
FEW_SWEEPS = 2  # of one among many symbols
WIDE = 8  # times as many vectors are looked for in a round that has stalled
WIDEST = 40  # symbols up to which they are
ROUNDS_TO_GOAL = 20  # that a search may be away from the goal at the rate of its last round
ROUNDS_TO_AIM = 4  # and from there to the aim
MUCH_MIXED = 1e10  # multiplications of a step of the program, in all rounds: about 10 seconds
SOME_MIXED = 2e9  # and 2 seconds
HEAVY = 60  # symbols that the first vectors treat one by one
BLOCK = 8  # others in blocks of so many
BATCH = 30  # C is renewed after every N / BATCH vectors
LIGHT = 0.1  # mass of the lightest symbols together
NUMBER = 4.0  # times what the number of light symbols is worth if they are independent, which counts against a vector
FEWEST_LIGHT = 32  # light symbols: fewer do not crowd a vector
PULL = 0.2  # how strongly the next vector makes up for what the sum of those before misses
FIRST_VECTORS = (3, 4, 6, 8, 12, 16)  # for each symbol, to be mixed one after another until that is enough
FIRST_NEAR = 0.5  # of the goal: what these may lose against the most
MIXING = 5e9  # multiplications of a step of the program for their weights, at most
LONG_SAMPLES = (20, 40, 80, 160, 320)  # vectors for each symbol, of which the covariance proves a bound
DRAWING = 5e8  # vectors times symbols^2, at most
PROVEN_NEAR = 0.3  # of the goal: a bound so near needs no more of them
OUTPUTS = (3, 4, 5, 6, 9)  # for each symbol, tried until the goal is reached
NEARLY_ALL = 0.99  # of the goal: the rest is for rounding, and for what takes leakage to epsilon
LARGEST_MIX = 2e10  # outputs^2 * symbols: beyond, finding the best weights takes minutes
REPEATS = 30  # vectors for each symbol, from which on those that come up again end the search

# The nested oracle: `benchmarks/robust.py`, proven gap and processor seconds.
BLOCKS = 40  # to merge small symbols into
LITTLE = (1e-4, 1e-3)  # mass that columns leave where upper bounds decide
TOO_MANY = 0.7  # blocks for each symbol: merging would gain nothing
COARSE_BLOCKS = 50  # of a start
COARSE_SHARE = 0.2  # of the effort, for that start
BLOCKS_SHARE = 0.4  # of the effort, for columns of blocks
PROOF_SHARE = 0.3  # of what is left, for each bound over all symbols
BLOCKS_ENOUGH = 1e-4  # gap up to which blocks are good enough
STARTS = 40  # columns in use, and random ones, that local search starts from
INNER = 0.7  # how far prices are moved towards those of the best bound, at least
INMOST = 0.99  # and at most
FUTILE = 5  # searches at such prices that close next to nothing
FAR = 1e-2  # the gap down to which they are tried
FEW_LOOKED_AT = 2e5  # symbols looked at by branch and bound, for each symbol, for prices that change anyway
MANY_LOOKED_AT = 3e7  # and for a proof
MORE = 4  # times as many when that is not enough
SEEDS = 8  # local searches at the prices of a start
EFFECT = 0.05  # of the gap that a search must close
RESERVE = 0.15  # of the effort, for a last proof
HALF = 0.5  # of what is possible: a column that gains this much is worth a new program
SEARCHES = 6  # without a new column before one that proves nothing ends
PAIRS_KEPT = 10  # pairs of a kind that columns are made of
PLACES = 200_000  # nodes of branch and bound that wait at a time
BYTES = 40_000_000  # and what they take at most
NODE_BYTES = 200  # of one of them, and one more for each symbol
COLUMNS_KEPT = 60  # of one search
NESTED_SWEEPS = 4  # of local search from sets that are nearly nested

# The levels oracle: `benchmarks/shares.py`, its part on sets of priors, gap and seconds.
LEVEL_STEPS = 4  # of the bound over levels, each time
LEVEL_AIM = 0.5  # of the goal, that bounds of single cells need not be below
LIST_SHARE = 5  # so many times the number of symbols is the part of the list that is added at once
STALLS = 4  # rounds without gain, with a bound that is settled, after which to stop
SMALL_GAIN = 2e-4  # of the efficiency: rounds that bring less are stalled
COOLING = (1e-2, 1e-3, 2e-4)  # of the scale: how far a smooth maximum may be from the true one, in turn
LEVEL_ROUNDS = 120  # of the quasi-Newton method, each time
FIRST_ROUNDS = 600  # of it at first, up to FIRST_SIZE symbols, and fewer beyond
FIRST_SIZE = 30  # symbols
OTHERS = 0.2  # of the size that columns of a may have together with d: all but the first, the mean of lifts, begin so
CELLS_ADDED = 2500  # that a step adds to the tree
MOST_CELLS = 100_000  # of a tree: the check goes through them
PRECISION = 3e-3  # of the bound: cells need not be finer
LEVEL_PATIENCE = 6  # steps without a better bound
MEAN_WEIGHT = 0.9  # of the weight of the mean of lifts, d.lambda / d.1, that counts against them at first
MOST_KNOWN = 1500  # relaxed vectors that the maximum is taken over

# Symbols that are all alike: `benchmarks/shares.py`, its uniform priors.
ARRANGEMENTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)  # of the best vector, tried in turn
FEW_ENOUGH = 0.1  # of the goal, that few arrangements may lose; more are taken only to reach the goal
TRIES = 6  # for each number of arrangements
TRIED_ONCE_FROM = 200  # symbols
LARGEST_ARRANGED = 2e7  # numbers in all outputs
AT_ONCE = 100_000  # numbers: exchanges times eigenvalues that are looked at in one step
