"""Optimal privacy mechanisms under pointwise maximal leakage: design, certify, privatize, estimate, audit."""

from . import (
    compliance,
    composition,
    datasets,
    errors,
    keys,
    large,
    measures,
    noise,
    numeric,
    panels,
    planning,
    randomness,
    theory,
    utilities,
)
from .auditing.audit import Audit, audit
from .auditing.pairs import audit_pairs
from .certification.certified import Certified, load
from .certification.certify import certify
from .certification.check import check_design
from .draw.keys import Keyed
from .estimation.counts import ReportCounts
from .estimation.estimate import Method, estimate
from .estimation.plan import plan
from .estimation.regression.regress import regress
from .estimation.regression.result import Regression
from .estimation.result import Estimate
from .estimation.sample import SampleDesign
from .model.leakage import epsilon_pml, pml
from .model.levels import LDP, LIP, PML, MaximalLeakage
from .model.mechanism import Mechanism
from .model.prior import Prior
from .model.prior_set import PriorSet
from .model.purpose import shares
from .model.purposes import groups, mean
from .model.utility import ExpectedGain, FDivergence, FInformation, Utility, mutual_information
from .optimization.curves import compare, fewer_reports, sample_tradeoff, tradeoff
from .optimization.design import design
from .optimization.finish import Design
from .release.privatize import privatize

__version__: str

__all__ = [
    "LDP",
    "LIP",
    "PML",
    "Audit",
    "Certified",
    "Design",
    "Estimate",
    "ExpectedGain",
    "FDivergence",
    "FInformation",
    "Keyed",
    "MaximalLeakage",
    "Mechanism",
    "Method",
    "Prior",
    "PriorSet",
    "Regression",
    "ReportCounts",
    "SampleDesign",
    "Utility",
    "audit",
    "audit_pairs",
    "certify",
    "check_design",
    "compare",
    "compliance",
    "composition",
    "datasets",
    "design",
    "epsilon_pml",
    "errors",
    "estimate",
    "fewer_reports",
    "groups",
    "keys",
    "large",
    "load",
    "mean",
    "measures",
    "mutual_information",
    "noise",
    "numeric",
    "panels",
    "plan",
    "planning",
    "pml",
    "privatize",
    "randomness",
    "regress",
    "sample_tradeoff",
    "shares",
    "theory",
    "tradeoff",
    "utilities",
]
