"""Oracles: at given prices, better columns and a bound over all columns."""
