"""Optimal privacy mechanisms under pointwise maximal leakage: design, certify, privatize, estimate, audit."""

from . import adversary, closed_form, majorization
from .audit import Audit, audit, audit_attribute
from .audit_columns import audit_columns
from .audit_pairs import PairsAudit, audit_pairs
from .budget import PerRelease, epsilon_per_release, leakage_limit, releases_within
from .certify import Certified, certify, from_json, load
from .check import Check, check_design
from .composition import (
    AddedEpsilons,
    Composition,
    CompositionWarning,
    added_with_ldp,
    compose_releases,
    joint_release,
    repeat_release,
)
from .design import Design, design
from .differences import difference
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
from .estimate import Estimate, estimate
from .estimation import EstimationDesign, estimation_design
from .interval_table import IntervalTable
from .keyed import read_key, write_key
from .leakage import (
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
from .lift_vectors import extremal_lift_vectors
from .mechanism import Mechanism
from .neighbours import Comparison, compare, ldp_design, leakage_design, lip_design
from .pairing import agreement, pair_outputs
from .polytope import polytope_vertices
from .prior import Prior
from .prior_set import PriorSet
from .privatize.files import privatize_file
from .privatize.frames import joint_prior, privatize_frame
from .privatize.product import product_prior
from .processing import induced_prior, postprocess, preprocess, restrict
from .randomized_response import (
    randomized_response,
    randomized_response_epsilon,
    randomized_response_for_pml,
    randomized_response_parameter,
    randomized_response_pml,
)
from .reduce import reduce_outputs
from .report_counts import ReportCounts, count_reports
from .sample_size import ExpectedError, SampleSizes, compare_sample_sizes, expected_error, sample_size
from .sampling import SecureWords, SeededWords, Words
from .tradeoff import Tradeoff, tradeoff
from .transcript import Transcript, adaptive, posterior
from .utility import (
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

__version__: str

__all__ = [
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
    "Mechanism",
    "MechanismError",
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
    "adversary",
    "agreement",
    "audit",
    "audit_attribute",
    "audit_columns",
    "audit_pairs",
    "certify",
    "check_design",
    "check_sub_linear",
    "chi_squared",
    "closed_form",
    "compare",
    "compare_sample_sizes",
    "compose_releases",
    "count_reports",
    "design",
    "difference",
    "epsilon_per_release",
    "epsilon_pml",
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
    "ldp_design",
    "ldp_epsilon",
    "leakage_design",
    "leakage_distribution",
    "leakage_limit",
    "lift",
    "lip_design",
    "lip_epsilon",
    "load",
    "majorization",
    "maximal_leakage",
    "mutual_information",
    "pair_outputs",
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
    "read_key",
    "reduce_outputs",
    "releases_within",
    "repeat_release",
    "restrict",
    "sample_size",
    "tail_probability",
    "total_variation",
    "tradeoff",
    "write_key",
]
