"""What a design may be for, besides estimating shares: f-informations, divergences, gains, or your own."""

from .model.purpose import Purpose
from .model.purposes import Quadratic
from .model.utility import (
    ExpectedGain,
    FDivergence,
    FInformation,
    Utility,
    check_sub_linear,
    chi_squared,
    hellinger,
    jensen_shannon,
    mutual_information,
    total_variation,
)

__all__ = [
    "ExpectedGain",
    "FDivergence",
    "FInformation",
    "Purpose",
    "Quadratic",
    "Utility",
    "check_sub_linear",
    "chi_squared",
    "hellinger",
    "jensen_shannon",
    "mutual_information",
    "total_variation",
]
