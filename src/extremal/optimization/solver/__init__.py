"""The linear program of Theorem 5 at any size, by column generation."""
