"""The errors this library raises on purpose.

ExtremalError
├── PriorError          a prior that is not a probability distribution on distinct labels
├── MechanismError      a matrix that is not a mechanism, or does not fit the prior
├── EpsilonError        a privacy level that is not a finite number >= 0
├── RegionError         a closed form asked for outside the range where its theorem holds
├── UtilityError        a function that is not a sub-linear utility
├── OptionError         a method, tolerance, confidence, seed or other option that is not valid
├── SizeError           a computation that would not fit into memory or time
├── CertificationError  integer weights that do not satisfy the epsilon they are to be certified for
├── DisclosureError     a mechanism that discloses the true answers where nobody asked for that
├── FormatError         a mechanism file that is malformed, altered or too large
├── FileError           a data file that cannot be read, or a target that must not be written
├── ValuesError         a column that cannot be privatised: unknown or missing values, a wrong type or length
├── RegressionError     a model that the data, or the mechanism, do not determine
├── KeyingError         a secret key, a key file or record ids that cannot be used for keyed draws
├── SurveyError         a survey file, a report from a respondent, or a store that cannot be used
├── StoreError          a database that does not answer or has no room left
├── SolverError         a linear program that ended without an answer
├── ProofError          an upper bound below a value that was attained: a fault of this library
└── InstallationError   compiled code that is missing, does not fit its sources or fails its self-check

All of them are ValueErrors, except the last four, which are RuntimeErrors: they never are the caller's fault.
Every error has fields that say what is wrong, what was given and what to do; its text is made of them. The command
line and the explorer phrase the same fields for their own readers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

_Raised = TypeVar("_Raised", bound="ExtremalError")


class ExtremalError(Exception):
    """Base of every error raised on purpose by this library.

    Parameters
    ----------
    problem
        What is wrong; with a parameter, what must hold of it: "must be a number".
    parameter
        The name of the parameter that is wrong.
    given
        What was given instead, in a few words or values; never data at length.
    remedy
        What to do. Python code in it stands between backticks, so that other front ends can put their own words
        in its place.
    """

    def __init__(
        self,
        problem: object,
        *,
        parameter: str | None = None,
        given: object = None,
        remedy: str | None = None,
    ) -> None:
        super().__init__(problem, parameter, given, remedy)
        self.problem = str(problem)
        self.parameter = parameter
        self.given = None if given is None else " ".join(str(given).split("\n"))  # a matrix has lines
        self.remedy = remedy

    def phrase(self, words: Mapping[str, str]) -> str:
        """One sentence, in which parameters and code are replaced by what `words` has for them.

        Parameters
        ----------
        words
            What to say instead of each parameter or piece of code.
        """
        text = self.problem
        if self.parameter is not None:
            text = f"{words.get(self.parameter, self.parameter)} {text}"
        if self.given is not None:
            text += f", got {self.given}"
        if self.remedy is not None:
            parts = self.remedy.split("`")
            parts[1::2] = [words.get(code, code) for code in parts[1::2]]
            text += "; " + "".join(parts)
        return text

    def within(self, place: str, kind: type[_Raised]) -> _Raised:
        """The same complaint as an error of another kind, after where it was found; its fields stay apart.

        Parameters
        ----------
        place
            What comes before the problem: "mechanism: ".
        kind
            The kind of the new error.
        """
        about = "" if self.parameter is None else f"{self.parameter} "
        return kind(f"{place}{about}{self.problem}", given=self.given, remedy=self.remedy)

    def __str__(self) -> str:
        return self.phrase({})

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuilt, (type(self), *self.args)


def _rebuilt(
    kind: type[ExtremalError], problem: object, parameter: str | None, given: object, remedy: str | None
) -> ExtremalError:
    """An error from another process, with its fields."""
    return kind(problem, parameter=parameter, given=given, remedy=remedy)


class PriorError(ExtremalError, ValueError):
    """Not a probability distribution on distinct labels."""


class MechanismError(ExtremalError, ValueError):
    """Not a row-stochastic matrix, or one that does not fit the prior or another mechanism."""


class EpsilonError(ExtremalError, ValueError):
    """Not a finite privacy level >= 0."""


class RegionError(ExtremalError, ValueError):
    """Outside the range in which the theorem behind a closed form holds."""


class UtilityError(ExtremalError, ValueError):
    """Not a sub-linear function of the columns of a mechanism."""


class OptionError(ExtremalError, ValueError):
    """A method, tolerance, confidence, seed or other option that is not valid."""


class SizeError(ExtremalError, ValueError):
    """Too large for the method that was asked for."""


class SolverError(ExtremalError, RuntimeError):
    """A linear program ended without an answer."""


class ProofError(ExtremalError, RuntimeError):
    """An upper bound is below a value that was attained, by more than rounding: a fault of this library."""


class CertificationError(ExtremalError, ValueError):
    """Integer weights, or a mechanism, that do not satisfy the epsilon they are to be certified for."""


class DisclosureError(ExtremalError, ValueError):
    """A mechanism that discloses the true answers, fully or nearly, where nobody asked for that."""


class DisclosureWarning(UserWarning):
    """A design whose reports disclose the true answers, fully or nearly.

    Parameters
    ----------
    problem
        What is wrong.
    given
        What reports tell, in words.
    remedy
        What to do.
    """

    def __init__(self, problem: str, given: str, remedy: str) -> None:
        super().__init__(problem, given, remedy)
        self.problem, self.given, self.remedy = problem, given, remedy

    def __str__(self) -> str:
        return f"{self.problem}: {self.given}; {self.remedy}"


class FormatError(ExtremalError, ValueError):
    """A mechanism file that is malformed, altered or too large."""


class FileError(ExtremalError, ValueError):
    """A data file that cannot be read, or a target that must not be written."""


class ValuesError(ExtremalError, ValueError):
    """A column that cannot be privatised: unknown or missing values, a wrong type or length."""


class RegressionError(ExtremalError, ValueError):
    """A model that the data, or the mechanism, do not determine: collinear, separated or not identified."""


class KeyingError(ExtremalError, ValueError):
    """A secret key, a key file or record ids that cannot be used for keyed draws."""


class SurveyError(ExtremalError, ValueError):
    """A survey file, a report from a respondent, or a store of reports that cannot be used."""


class StoreError(ExtremalError, RuntimeError):
    """A database that does not answer or has no room left; nothing that was acknowledged is lost."""


class InstallationError(ExtremalError, RuntimeError):
    """Compiled code is missing, does not fit its sources or fails its self-check."""
