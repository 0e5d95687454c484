"""Optimal privacy mechanisms under pointwise maximal leakage: design, certify, privatize, estimate, audit."""

from . import composition, datasets, errors, keys, measures, planning, randomness, theory, utilities
from .auditing.audit import Audit, audit, audit_attribute
from .auditing.budget import PerRelease, epsilon_per_release, leakage_limit, releases_within
from .auditing.columns import audit_columns
from .auditing.composition import (
    AddedEpsilons,
    Composition,
    CompositionWarning,
    added_with_ldp,
    compose_releases,
    joint_release,
    repeat_release,
)
from .auditing.pairs.audit import PairsAudit, audit_pairs
from .auditing.transcript import Transcript, adaptive, posterior
from .certification.certify import Certified, certify, from_json, load
from .certification.check import Check, check_design
from .errors import (
    CertificationError,
    EpsilonError,
    ExtremalError,
    FileError,
    FormatError,
    KeyingError,
    MechanismError,
    OptionError,
    PriorError,
    RegionError,
    SizeError,
    SolverError,
    UtilityError,
    ValuesError,
)
from .estimation.counts import ReportCounts, count_reports
from .estimation.difference import difference
from .estimation.estimate import Estimate, estimate
from .estimation.interval_table import IntervalTable
from .estimation.planning import ExpectedError, SampleSizes, compare_sample_sizes, expected_error, sample_size
from .model.leakage import (
    LeakageDistribution,
    epsilon_pml,
    ldp_epsilon,
    leakage_distribution,
    lift,
    lip_epsilon,
    maximal_leakage,
    pml,
    tail_probability,
)
from .model.mechanism import Mechanism
from .model.notion import LDP, LIP, PML, MaximalLeakage, Notion
from .model.prior import Prior
from .model.prior_set import PriorSet
from .model.processing import induced_prior, postprocess, preprocess, restrict
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
from .optimization.comparison import Comparison, compare
from .optimization.design import design
from .optimization.estimation import EstimationDesign, estimation_design
from .optimization.result import Design
from .optimization.tradeoff import Tradeoff, tradeoff
from .release.files.privatize import privatize_file
from .release.frames import joint_prior, privatize_frame
from .release.keys import read_key, write_key
from .release.product import product_prior
from .release.sampler import SecureWords, SeededWords, Words
from .theory.lift_vectors import extremal_lift_vectors
from .theory.pairing import agreement, pair_outputs
from .theory.polytope import polytope_vertices
from .theory.randomized_response import (
    randomized_response,
    randomized_response_epsilon,
    randomized_response_for_pml,
    randomized_response_parameter,
    randomized_response_pml,
)
from .theory.reduction import reduce_outputs

__version__: str

__all__ = [
    "LDP",
    "LIP",
    "PML",
    "AddedEpsilons",
    "Audit",
    "CertificationError",
    "Certified",
    "Check",
    "Comparison",
    "Composition",
    "CompositionWarning",
    "Design",
    "EpsilonError",
    "Estimate",
    "EstimationDesign",
    "ExpectedError",
    "ExpectedGain",
    "ExtremalError",
    "FDivergence",
    "FInformation",
    "FileError",
    "FormatError",
    "IntervalTable",
    "KeyingError",
    "LeakageDistribution",
    "MaximalLeakage",
    "Mechanism",
    "MechanismError",
    "Notion",
    "OptionError",
    "PairsAudit",
    "PerRelease",
    "Prior",
    "PriorError",
    "PriorSet",
    "RegionError",
    "ReportCounts",
    "SampleSizes",
    "SecureWords",
    "SeededWords",
    "SizeError",
    "SolverError",
    "Tradeoff",
    "Transcript",
    "Utility",
    "UtilityError",
    "ValuesError",
    "Words",
    "adaptive",
    "added_with_ldp",
    "agreement",
    "audit",
    "audit_attribute",
    "audit_columns",
    "audit_pairs",
    "certify",
    "check_design",
    "check_sub_linear",
    "chi_squared",
    "compare",
    "compare_sample_sizes",
    "compose_releases",
    "composition",
    "count_reports",
    "datasets",
    "design",
    "difference",
    "epsilon_per_release",
    "epsilon_pml",
    "errors",
    "estimate",
    "estimation_design",
    "expected_error",
    "extremal_lift_vectors",
    "from_json",
    "hellinger",
    "induced_prior",
    "jensen_shannon",
    "joint_prior",
    "joint_release",
    "keys",
    "ldp_epsilon",
    "leakage_distribution",
    "leakage_limit",
    "lift",
    "lip_epsilon",
    "load",
    "maximal_leakage",
    "measures",
    "mutual_information",
    "pair_outputs",
    "planning",
    "pml",
    "polytope_vertices",
    "posterior",
    "postprocess",
    "preprocess",
    "privatize_file",
    "privatize_frame",
    "product_prior",
    "randomized_response",
    "randomized_response_epsilon",
    "randomized_response_for_pml",
    "randomized_response_parameter",
    "randomized_response_pml",
    "randomness",
    "read_key",
    "reduce_outputs",
    "releases_within",
    "repeat_release",
    "restrict",
    "sample_size",
    "tail_probability",
    "theory",
    "total_variation",
    "tradeoff",
    "utilities",
    "write_key",
]
