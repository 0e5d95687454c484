"""Values that cannot be wrong once built (priors, mechanisms, utilities) and what is measured on them."""
