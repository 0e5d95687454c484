"""What leaks: one release, several releases, systems of others."""
