"""What the numbers of windows mean, place by place."""


def weight(windows, place):
    """Out of 2^62: the first places of an answer are in the set, and the first of those weigh one more."""
    if place >= windows.size:
        return windows.outside
    return windows.inside + (place < windows.extra)
