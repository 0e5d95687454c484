"""A set of priors, a purpose: columns of three levels, bounds by trees of levels."""
