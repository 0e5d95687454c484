"""Many designs in a row: trade-offs, comparisons, samples of priors, and fewer outputs."""
