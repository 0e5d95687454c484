"""Master programs: the best mixture of the columns known so far, its value and its prices."""
