"""Local randomizers: their exact output laws and text form."""

from shuffledp.randomizers.any_pure_ldp import AnyPureLDP
from shuffledp.randomizers.base import LocalRandomizer
from shuffledp.randomizers.continuous_noise import ContinuousNoise
from shuffledp.randomizers.discrete_laplace import DiscreteLaplace
from shuffledp.randomizers.domain import Domain, Integers, Tuples, UnitInterval
from shuffledp.randomizers.gaussian import Gaussian
from shuffledp.randomizers.hadamard import HadamardResponse
from shuffledp.randomizers.input_types import InputTypes, NamedTypes, TupleTypes
from shuffledp.randomizers.joint import Joint, joint
from shuffledp.randomizers.krr import KRR
from shuffledp.randomizers.laplace import Laplace
from shuffledp.randomizers.local_hash import BinaryLocalHash, LocalHash
from shuffledp.randomizers.matrix import MatrixRandomizer
from shuffledp.randomizers.neighbours import pairs_to_compare, why_no_other_is_worse
from shuffledp.randomizers.noise import SymmetricNoise
from shuffledp.randomizers.one_of import OneOf, one_of
from shuffledp.randomizers.pair import Input, Pair
from shuffledp.randomizers.parallel import Parallel, parallel
from shuffledp.randomizers.relation import Relation
from shuffledp.randomizers.subsample import Subsample, subsample
from shuffledp.randomizers.subset import SubsetSelection
from shuffledp.randomizers.support import SupportRandomizer
from shuffledp.randomizers.text import (
    COMPOSITIONS,
    MECHANISMS,
    as_family,
    as_randomizer,
    parameters,
    parse,
    parse_family,
    register,
)
from shuffledp.randomizers.unary import OUE, RAPPOR, UnaryEncoding

__all__ = [
    "COMPOSITIONS",
    "KRR",
    "MECHANISMS",
    "OUE",
    "RAPPOR",
    "AnyPureLDP",
    "BinaryLocalHash",
    "ContinuousNoise",
    "DiscreteLaplace",
    "Domain",
    "Gaussian",
    "HadamardResponse",
    "Input",
    "InputTypes",
    "Integers",
    "Joint",
    "Laplace",
    "LocalHash",
    "LocalRandomizer",
    "MatrixRandomizer",
    "NamedTypes",
    "OneOf",
    "Pair",
    "Parallel",
    "Relation",
    "Subsample",
    "SubsetSelection",
    "SupportRandomizer",
    "SymmetricNoise",
    "TupleTypes",
    "Tuples",
    "UnaryEncoding",
    "UnitInterval",
    "as_family",
    "as_randomizer",
    "joint",
    "one_of",
    "pairs_to_compare",
    "parallel",
    "parameters",
    "parse",
    "parse_family",
    "register",
    "subsample",
    "why_no_other_is_worse",
]
