"""shuffledp: certified privacy of locally randomized reports behind a shuffler.

>>> from shuffledp import KRR, ShuffleAccountant
>>> accountant = ShuffleAccountant(KRR(k=10, epsilon0=2.0), n=10_000)
>>> round(accountant.get_epsilon(target_delta=1e-6), 4)
0.0798
"""

from shuffledp._version import __version__ as __version__
from shuffledp.accounting import (
    AllowedRounds,
    Calibration,
    GeneralClone,
    Group,
    MixedAccountant,
    OpenGroup,
    Report,
    RequiredUsers,
    Rounds,
    RoundsReport,
    ShuffleAccountant,
    calibrate_epsilon0,
    calibrate_tiers,
    max_rounds,
    required_users,
)
from shuffledp.auditing import Audit, audit
from shuffledp.certification import Certificate, CertificateError, certify, verify
from shuffledp.collection import (
    Aggregator,
    Estimate,
    estimate_pooled,
    estimate_tiers,
    shuffle,
    simulate,
)
from shuffledp.comparison import Comparison, Curves, compare, curve
from shuffledp.decomposition import Decomposition
from shuffledp.errors import AccuracyWarning, ContradictionError, NoAnswerError
from shuffledp.files import BudgetExceededError, Ledger
from shuffledp.interval import Interval
from shuffledp.planning import plan
from shuffledp.randomizers import (
    KRR,
    OUE,
    RAPPOR,
    AnyPureLDP,
    BinaryLocalHash,
    DiscreteLaplace,
    Gaussian,
    HadamardResponse,
    Laplace,
    LocalHash,
    LocalRandomizer,
    MatrixRandomizer,
    Pair,
    SubsetSelection,
    SupportRandomizer,
    SymmetricNoise,
    UnaryEncoding,
    joint,
    one_of,
    parallel,
    parse,
    register,
    subsample,
)

__all__ = [
    "KRR",
    "OUE",
    "RAPPOR",
    "AccuracyWarning",
    "Aggregator",
    "AllowedRounds",
    "AnyPureLDP",
    "Audit",
    "BinaryLocalHash",
    "BudgetExceededError",
    "Calibration",
    "Certificate",
    "CertificateError",
    "Comparison",
    "ContradictionError",
    "Curves",
    "Decomposition",
    "DiscreteLaplace",
    "Estimate",
    "Gaussian",
    "GeneralClone",
    "Group",
    "HadamardResponse",
    "Interval",
    "Laplace",
    "Ledger",
    "LocalHash",
    "LocalRandomizer",
    "MatrixRandomizer",
    "MixedAccountant",
    "NoAnswerError",
    "OpenGroup",
    "Pair",
    "Report",
    "RequiredUsers",
    "Rounds",
    "RoundsReport",
    "ShuffleAccountant",
    "SubsetSelection",
    "SupportRandomizer",
    "SymmetricNoise",
    "UnaryEncoding",
    "audit",
    "calibrate_epsilon0",
    "calibrate_tiers",
    "certify",
    "compare",
    "curve",
    "estimate_pooled",
    "estimate_tiers",
    "joint",
    "max_rounds",
    "one_of",
    "parallel",
    "parse",
    "plan",
    "register",
    "required_users",
    "shuffle",
    "simulate",
    "subsample",
    "verify",
]
