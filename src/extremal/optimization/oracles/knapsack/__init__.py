"""One prior, a utility: columns are knapsacks, full and empty symbols and one in between."""
