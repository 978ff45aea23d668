"""Local randomizers: their exact output laws and text form."""

from shuffledp.mechanisms.base import LocalRandomizer
from shuffledp.mechanisms.composed.joint import Joint, joint
from shuffledp.mechanisms.composed.one_of import OneOf, one_of
from shuffledp.mechanisms.composed.parallel import Parallel, parallel
from shuffledp.mechanisms.composed.subsample import Subsample, subsample
from shuffledp.mechanisms.domain import Domain, Integers, Tuples, UnitInterval
from shuffledp.mechanisms.finite.any_pure_ldp import AnyPureLDP
from shuffledp.mechanisms.finite.matrix import MatrixRandomizer
from shuffledp.mechanisms.input_types import InputTypes, NamedTypes, TupleTypes
from shuffledp.mechanisms.neighbours import pairs_to_compare, why_no_other_is_worse
from shuffledp.mechanisms.noise.continuous_noise import ContinuousNoise
from shuffledp.mechanisms.noise.discrete_laplace import DiscreteLaplace
from shuffledp.mechanisms.noise.gaussian import Gaussian
from shuffledp.mechanisms.noise.laplace import Laplace
from shuffledp.mechanisms.noise.symmetric_noise import SymmetricNoise
from shuffledp.mechanisms.pair import Input, Pair
from shuffledp.mechanisms.relation import Relation
from shuffledp.mechanisms.support.hadamard import HadamardResponse
from shuffledp.mechanisms.support.krr import KRR
from shuffledp.mechanisms.support.local_hash import BinaryLocalHash, LocalHash
from shuffledp.mechanisms.support.subset import SubsetSelection
from shuffledp.mechanisms.support.support import SupportRandomizer
from shuffledp.mechanisms.support.unary import OUE, RAPPOR, UnaryEncoding
from shuffledp.mechanisms.text import (
    COMPOSITIONS,
    MECHANISMS,
    as_family,
    as_randomizer,
    parameters,
    parse,
    parse_family,
    register,
)

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
