"""Designs with the least error of estimated shares, or of anything linear in them, with proven bounds."""
