"""Regression with private columns: everything follows from the likelihood of the reports."""
