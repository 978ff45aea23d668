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
    Setting,
    ShuffleAccountant,
    calibrate_epsilon0,
    calibrate_tiers,
    max_rounds,
    required_users,
)
from shuffledp.accounting.messages import FabricatedMessages, NoisyCounts
from shuffledp.basics.errors import AccuracyWarning, ClaimError, ContradictionError, NoAnswerError
from shuffledp.basics.interval import Interval
from shuffledp.certificates import Certificate, CertificateError, certify, verify
from shuffledp.collection import (
    Aggregator,
    Estimate,
    estimate_pooled,
    estimate_tiers,
    shuffle,
    simulate,
)
from shuffledp.collection.message_protocol import MessageProtocol
from shuffledp.comparison import Comparison, Curves, compare, curve
from shuffledp.decomposition import Decomposition
from shuffledp.deployment.audit import Audit, audit
from shuffledp.deployment.files import BudgetExceededError, Ledger
from shuffledp.mechanisms import (
    KRR,
    OUE,
    RAPPOR,
    AnyPureLDP,
    BinaryLocalHash,
    ContinuousNoise,
    DiscreteLaplace,
    Gaussian,
    HadamardResponse,
    Laplace,
    LocalHash,
    LocalRandomizer,
    MatrixRandomizer,
    Pair,
    Relation,
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
from shuffledp.mechanisms.messages.fabricated import FixedNumber, PerDevice, PoissonPerValue
from shuffledp.planning import plan

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
    "ClaimError",
    "Comparison",
    "ContinuousNoise",
    "ContradictionError",
    "Curves",
    "Decomposition",
    "DiscreteLaplace",
    "Estimate",
    "FabricatedMessages",
    "FixedNumber",
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
    "MessageProtocol",
    "MixedAccountant",
    "NoAnswerError",
    "NoisyCounts",
    "OpenGroup",
    "Pair",
    "PerDevice",
    "PoissonPerValue",
    "Relation",
    "Report",
    "RequiredUsers",
    "Rounds",
    "RoundsReport",
    "Setting",
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
