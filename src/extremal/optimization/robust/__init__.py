"""The same for sets of priors."""
