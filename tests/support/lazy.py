"""Libraries that take long to import and that few files use.

Every process collects every file, but runs only some of them: these are imported when they are first used.
"""

import importlib
import warnings


class Lazy:
    """A module that is imported when something of it is asked for; what it warns of then is not ours."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, attribute):
        if attribute.startswith("__"):  # pytest asks everything whether it is a test
            raise AttributeError(attribute)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return getattr(importlib.import_module(self._name), attribute)
