"""From reports to figures: shares, intervals, differences, sample sizes."""
