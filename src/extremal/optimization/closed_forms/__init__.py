"""Where the optimum is known without a search."""
