"""From a prior, an epsilon and a purpose to the best mechanism and a proven bound."""
