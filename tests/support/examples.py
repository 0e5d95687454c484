"""How many examples dear properties are tried on."""

from hypothesis import settings


def at_most(count):
    """As many as the profile says, but never more than this: `quick` tries fewer, `ci` would try more."""
    return settings(max_examples=min(count, settings.default.max_examples))


def up_to(count):
    """So many with the profile `ci` or one that tries more, and in proportion with `quick`."""
    return settings(max_examples=min(count, -(-count * settings.default.max_examples // 50)))
