"""Optimal privacy mechanisms under pointwise maximal leakage: design, certify, privatize, estimate, audit."""

from . import composition, datasets, errors, keys, measures, planning, randomness, theory, utilities
from .auditing.audit import Audit, audit, audit_attribute
from .auditing.columns import audit_columns
from .auditing.pairs.audit import PairsAudit, audit_pairs
from .certification.certify import Certified, certify, from_json, load
from .certification.check import Check, check_design
from .estimation.counts import ReportCounts, count_reports
from .estimation.difference import difference
from .estimation.estimate import Estimate, estimate
from .estimation.interval_table import IntervalTable
from .model.leakage import epsilon_pml, pml
from .model.mechanism import Mechanism
from .model.notion import LDP, LIP, PML, MaximalLeakage, Notion
from .model.prior import Prior
from .model.prior_set import PriorSet
from .model.utility import ExpectedGain, FDivergence, FInformation, Utility, mutual_information
from .optimization.comparison import Comparison, compare
from .optimization.design import design
from .optimization.estimation import EstimationDesign, estimation_design
from .optimization.result import Design
from .optimization.tradeoff import Tradeoff, tradeoff
from .release.files.privatize import privatize_file
from .release.frames import joint_prior, privatize_frame
from .release.product import product_prior

__version__: str

__all__ = [
    "LDP",
    "LIP",
    "PML",
    "Audit",
    "Certified",
    "Check",
    "Comparison",
    "Design",
    "Estimate",
    "EstimationDesign",
    "ExpectedGain",
    "FDivergence",
    "FInformation",
    "IntervalTable",
    "MaximalLeakage",
    "Mechanism",
    "Notion",
    "PairsAudit",
    "Prior",
    "PriorSet",
    "ReportCounts",
    "Tradeoff",
    "Utility",
    "audit",
    "audit_attribute",
    "audit_columns",
    "audit_pairs",
    "certify",
    "check_design",
    "compare",
    "composition",
    "count_reports",
    "datasets",
    "design",
    "difference",
    "epsilon_pml",
    "errors",
    "estimate",
    "estimation_design",
    "from_json",
    "joint_prior",
    "keys",
    "load",
    "measures",
    "mutual_information",
    "planning",
    "pml",
    "privatize_file",
    "privatize_frame",
    "product_prior",
    "randomness",
    "theory",
    "tradeoff",
    "utilities",
]
