"""One prior, a purpose: columns by exchanges of symbols, bounds by variances and covariances."""
