"""A set of priors, a utility: columns are two nested sets of symbols."""
