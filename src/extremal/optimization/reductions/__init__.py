"""Smaller problems with the same optimum or nearly so, and the way back."""
