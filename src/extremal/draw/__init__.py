"""Drawing reports: the sampler, keys and names, and columns of any kind as row numbers and back."""
