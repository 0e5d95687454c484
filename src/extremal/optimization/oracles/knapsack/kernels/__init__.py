"""The inner loops of the solver: what C is given, checked."""
