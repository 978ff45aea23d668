"""Local randomizers: their exact output laws and text form."""

from shuffledp.randomizers.any_pure_ldp import AnyPureLDP
from shuffledp.randomizers.base import Background, LocalRandomizer, Pair
from shuffledp.randomizers.discrete_laplace import DiscreteLaplace
from shuffledp.randomizers.gaussian import Gaussian
from shuffledp.randomizers.hadamard import HadamardResponse
from shuffledp.randomizers.krr import KRR
from shuffledp.randomizers.laplace import Laplace
from shuffledp.randomizers.local_hash import BinaryLocalHash, LocalHash
from shuffledp.randomizers.matrix import MatrixRandomizer
from shuffledp.randomizers.subset import SubsetSelection
from shuffledp.randomizers.text import MECHANISMS, parameters, parse, parse_family
from shuffledp.randomizers.unary import OUE, RAPPOR, UnaryEncoding

__all__ = [
    "KRR",
    "MECHANISMS",
    "OUE",
    "RAPPOR",
    "AnyPureLDP",
    "Background",
    "BinaryLocalHash",
    "DiscreteLaplace",
    "Gaussian",
    "HadamardResponse",
    "Laplace",
    "LocalHash",
    "LocalRandomizer",
    "MatrixRandomizer",
    "Pair",
    "SubsetSelection",
    "UnaryEncoding",
    "parameters",
    "parse",
    "parse_family",
]
