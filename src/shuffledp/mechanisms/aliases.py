"""Names that people use for mechanisms beside ours, for "did you mean"."""

from __future__ import annotations

from collections.abc import Mapping

from shuffledp.basics.wording import closest
from shuffledp.mechanisms.base import LocalRandomizer

#: What papers and other programs call a mechanism, in small letters without underscores.
_ALIASES = {
    "grr": "krr",
    "rr": "krr",
    "de": "krr",
    "directencoding": "krr",
    "randomizedresponse": "krr",
    "generalizedrandomizedresponse": "krr",
    "karyrandomizedresponse": "krr",
    "binarylocalhashing": "blh",
    "lh": "olh",
    "localhashing": "olh",
    "optimallocalhashing": "olh",
    "optimizedlocalhashing": "olh",
    "sue": "rappor",
    "symmetricunaryencoding": "rappor",
    "basicrappor": "rappor",
    "optimizedunaryencoding": "oue",
    "optimisedunaryencoding": "oue",
    "optimalunaryencoding": "oue",
    "ue": "unary",
    "hr": "hadamard",
    "ss": "subset",
    "normal": "gaussian",
    "gauss": "gaussian",
    "geometric": "discrete_laplace",
    "twosidedgeometric": "discrete_laplace",
    "channel": "matrix",
    "generic": "any_pure_ldp",
    "ldp": "any_pure_ldp",
    "product": "joint",
    "mixture": "parallel",
    "poisson": "subsample",
    "poissonsubsampling": "subsample",
    "subsampling": "subsample",
}


def guess(name: str, known: Mapping[str, type[LocalRandomizer]]) -> list[str]:
    """Return the known names that were probably meant, the likeliest first.

    >>> from shuffledp.mechanisms.text import MECHANISMS
    >>> [guess(name, MECHANISMS) for name in ("KRR", "optimal_local_hashing", "nosuch")]
    [['krr'], ['olh'], []]
    """
    plain = _plain(name)
    spelt = {_plain(other): other for other in known}
    classes = {_plain(cls.__name__): other for other, cls in known.items()}
    for names in (spelt, classes, _ALIASES):
        if names.get(plain) in known:
            return [names[plain]]
    alike = [(classes | spelt)[found] for found in closest(plain, classes | spelt)]
    return list(dict.fromkeys(alike))


def _plain(name: str) -> str:
    return name.lower().replace("_", "")
