"""Uses of the library: the data that ships with it, the demo, the paper."""
