"""The demo: the whole way on a real survey, beside randomized response."""
