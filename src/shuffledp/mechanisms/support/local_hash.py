"""Local hashing: hash the value into few buckets, then randomized response."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from flint import arb
from numpy.typing import NDArray

from shuffledp.basics.arrays import IntArray
from shuffledp.basics.errors import check_size
from shuffledp.mechanisms.aggregate import Aggregate, BitSums, OnlyMultiset
from shuffledp.mechanisms.base import Values
from shuffledp.mechanisms.finite.masses import working_digits
from shuffledp.mechanisms.sampling import Bits
from shuffledp.mechanisms.sampling.checks import check_integers
from shuffledp.mechanisms.sampling.hashing import (
    LARGE_PRIME,
    SMALL_PRIME,
    AllFunctions,
    HashFamily,
    Polynomials,
)
from shuffledp.mechanisms.sampling.layout import unsigned
from shuffledp.mechanisms.support.krr import KRR
from shuffledp.mechanisms.support.support import IndependentSupport, nearest_to_exp

#: A function may take as many integers as a polynomial has coefficients.
_MAX_WORDS = 3

#: Why nothing more is known of a sum than of the multiset.
_LIMITED = "hash functions of a domain of no known size are independent at three inputs only"
_TOO_LARGE = "hash functions of so large a domain are independent at three inputs only"

#: Relative error of the masses of a family of polynomials instead of all functions.
_POLYNOMIAL_ERROR = 2.0**-48

#: Up to so many buckets the small field is as good as uniform; and the large one.
_FEW_BUCKETS, _MAX_BUCKETS = 32, 1 << 32


class _LocalHash(IndependentSupport):
    r"""Hash uniformly into g buckets and report the hash function and a g-RR of the bucket.

    The function is drawn among all functions where the domain is so small that one can be named in
    24 bytes: that is the law of the accounting, constant functions included. For larger domains it
    is a polynomial of degree 2, whose values at any three inputs are independent. Then

    - buckets are uniform up to 1/p, which changes the masses for one, two or three inputs by a
      factor of at most :math:`1+3(g/p)^2+(g/p)^3`. That is below :math:`1+2^{-50}` for
      :math:`g\le32`, :math:`p=2^{31}-1` and for :math:`g\le2^{32}`, :math:`p=2^{61}-1`.
    - the share of functions that are constant on the domain is another one than
      :math:`g^{1-D}`. It enters only the blanket, and any c that is not above the true one gives a
      valid bound; the accounting without a domain size has c for a share of 0. A share of
      :math:`g^{1-D}` changes the masses of that one by at most :math:`g^{2-D}` and
      :math:`4g^{-D}e^{\varepsilon_0}` of themselves; unless both are below :math:`2^{-50}` the
      mechanism does not run with a domain size.

    The sum of both is below :math:`2^{-48}`, the ``law_error`` of every mass.
    """

    epsilon0: float

    @property
    @abstractmethod
    def hash_buckets(self) -> int:
        """Number of buckets g."""

    @property
    def aggregate(self) -> Aggregate:
        r"""The counts of supported values: bits of an unary encoding, if all functions are drawn.

        Given the report and the bucket of the true value, the buckets of all other values are
        independent and uniform. So a report supports the true value with probability
        :math:`E/(E+g-1)` and every other one with probability 1/g, all independently.
        """
        # Exactly these classes: one derived from them may state another law.
        if type(self) not in (BinaryLocalHash, LocalHash):
            return OnlyMultiset()
        size, buckets = self.domain_size, self.hash_buckets
        if size is None or AllFunctions(buckets, size).words > _MAX_WORDS:
            return OnlyMultiset(_LIMITED if size is None else _TOO_LARGE)
        with working_digits(self.digits):
            rest, other = (buckets - 1) / (self.ratio + (buckets - 1)), 1 / arb(buckets)
            return BitSums((1 - rest, rest), (other, 1 - other), size == 2, self.log_ratio)

    def support_mass(self, supported: int, named: int) -> arb:
        r"""Return :math:`\frac{g}{E+g-1}\,g^{-m}(1-1/g)^{t-m}`: hash values are independent."""
        g = arb(self.hash_buckets)
        return g ** (1 - named) * (g - 1) ** (named - supported) / (self.ratio + (g - 1))

    @property
    def law_error(self) -> float:
        """2**-48: what polynomials may differ from all functions, see above."""
        return _POLYNOMIAL_ERROR

    @property
    def hash_family(self) -> HashFamily:
        """The functions among which a user chooses.

        Raises:
            ValueError: if there are too many buckets, or if the accounting counts on constant
                functions that no family of this size has.
        """
        buckets, size = self.hash_buckets, self.domain_size
        if buckets > _MAX_BUCKETS:
            raise ValueError(f"{self} has {buckets} buckets; it runs with at most 2**32")
        if size is None:
            return Polynomials(buckets, LARGE_PRIME)
        functions = AllFunctions(buckets, size)
        if functions.words <= _MAX_WORDS:
            return functions
        if size * math.log(buckets) < self.epsilon0 + 52 * math.log(2):
            raise ValueError(
                f"the accounting of {self} counts on constant hash functions, which it cannot "
                "draw often enough; leave out domain_size"
            )
        small = buckets <= _FEW_BUCKETS and size <= SMALL_PRIME
        return Polynomials(buckets, SMALL_PRIME if small else LARGE_PRIME)

    @property
    def _response(self) -> KRR:
        """The randomized response of the bucket."""
        return KRR(k=self.hash_buckets, epsilon0=self.epsilon0)

    @property
    def report_dtype(self) -> np.dtype[Any]:
        """The integers that name the function, and the bucket."""
        family = self.hash_family
        function = ("function", family.dtype, (family.words,))
        return np.dtype([function, ("bucket", unsigned(self.hash_buckets))])

    def check_values(self, values: object) -> IntArray:
        """Return integers of the domain; without a domain size, below 2**61 - 1."""
        largest = LARGE_PRIME - 1 if self.domain_size is None else self.domain_size - 1
        return check_integers("values", values, largest)

    def draw(self, values: Values, bits: Bits) -> NDArray[Any]:
        """Draw a function, hash and randomize the bucket."""
        family, inputs = self.hash_family, np.asarray(values)
        reports = np.empty(inputs.size, dtype=self.report_dtype)
        reports["function"] = functions = family.draw(bits, inputs.size)
        reports["bucket"] = self._response.draw(family.apply(functions, inputs), bits)
        return reports

    def supports(self, reports: NDArray[Any], value: int) -> NDArray[np.bool_]:
        """Return which functions send the value to the reported bucket."""
        values = np.full(reports.size, value, dtype=np.int64)
        hit: NDArray[np.bool_] = (
            self.hash_family.apply(reports["function"], values) == reports["bucket"]
        )
        return hit

    def count_support(self, reports: NDArray[Any], candidates: IntArray | None) -> IntArray:
        """Count the functions that send a value to the reported bucket."""
        family = self.hash_family
        functions, buckets = reports["function"], reports["bucket"]
        if (functions > functions.dtype.type(family.word_bound - 1)).any() or (
            buckets > buckets.dtype.type(self.hash_buckets - 1)
        ).any():
            raise ValueError(f"reports must hold functions and buckets of {self}, got others")
        values = self.known_inputs() if candidates is None else candidates
        return family.count(functions, buckets, values)


@dataclass(frozen=True, repr=False)
class BinaryLocalHash(_LocalHash):
    r"""Binary local hashing (Bassily and Smith 2015; Wang et al. 2017).

    Args:
        epsilon0: replace-one LDP level.
        domain_size: size D of the input domain; None for the limit, which is an upper bound for
            every D.

    >>> str(BinaryLocalHash(epsilon0=1.0))
    'blh(epsilon0=1.0)'
    """

    name: ClassVar[str] = "blh"
    example: ClassVar[str | None] = "blh(epsilon0=1.0)"

    epsilon0: float
    domain_size: int | None = None

    @property
    def hash_buckets(self) -> int:
        """2."""
        return 2


@dataclass(frozen=True, repr=False)
class LocalHash(_LocalHash):
    r"""Local hashing into g buckets (OLH; Wang, Blocki, Li and Jha 2017).

    Args:
        epsilon0: replace-one LDP level.
        buckets: number of buckets g, at least 2; None chooses
            :math:`\mathrm{round}(e^{\varepsilon_0})+1`, the value of least variance. The choice
            jumps with epsilon0, so that the bound is not monotone in epsilon0 unless ``buckets`` is
            given.
        domain_size: size D of the input domain; None for the limit, an upper bound for every D.

    >>> str(LocalHash(epsilon0=1.0, buckets=4))
    'olh(epsilon0=1.0, buckets=4)'
    """

    name: ClassVar[str] = "olh"
    example: ClassVar[str | None] = "olh(epsilon0=1.0)"

    epsilon0: float
    buckets: int | None = None
    domain_size: int | None = None

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        if self.buckets is not None:
            object.__setattr__(self, "buckets", check_size("buckets", self.buckets))

    @property
    def monotone(self) -> bool:
        """False if the number of buckets follows epsilon0: it jumps, and the bound with it."""
        return self.buckets is not None

    @property
    def hash_buckets(self) -> int:
        """``buckets`` or its default."""
        return self.buckets if self.buckets is not None else nearest_to_exp(self.epsilon0) + 1
