"""Audits of foreign systems from observed pairs of secret and report."""
