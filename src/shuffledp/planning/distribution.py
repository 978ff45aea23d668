"""How the values of the users are distributed, where that is known."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

from shuffledp.basics.errors import check_exact
from shuffledp.basics.rounding import written
from shuffledp.basics.wording import counted, shorten

_MAX_ECHO = 60
_TOLERANCE = 1e-6  # of the sum: decimals in a file are rounded


def check_distribution(
    values: object,
    domain_size: int,
    *,
    name: str = "distribution",
    size_name: str = "domain_size",
) -> tuple[float, ...]:
    """Return the shares of the values of a domain; reject what is not a distribution.

    Messages call the two arguments by the given names.

    >>> check_distribution([0.5, 0.25, 0.25], 3)
    (0.5, 0.25, 0.25)

    Raises:
        TypeError: if ``values`` are not several numbers.
        ValueError: if they are not ``domain_size`` shares that sum to 1.
    """
    if not isinstance(values, Iterable) or isinstance(values, str | bytes):
        raise TypeError(f"{name} must hold one share per value, got {values!r}")
    shares = tuple(float(check_exact(f"{name}[{i}]", share)) for i, share in enumerate(values))
    if len(shares) != domain_size:
        raise ValueError(
            f"{name} must hold one share for each of the {size_name} = {domain_size} values, got "
            f"{counted(len(shares), 'share')}"
        )
    for i, share in enumerate(shares):
        if share < 0:
            raise ValueError(f"{name}[{i}] must be at least 0, got {share!r}")
    if not abs((total := math.fsum(shares)) - 1) <= _TOLERANCE:
        raise ValueError(f"{name} must sum to 1, got shares that sum to {total!r}")
    return shares


def read_distribution(text: str) -> tuple[float, ...]:
    """Read shares such as ``0.5,0.3,0.2``, or a file of shares separated by commas or spaces.

    >>> read_distribution("0.5, 0.25,0.25")
    (0.5, 0.25, 0.25)

    Raises:
        ValueError: if the text is neither.
    """
    try:
        return tuple(float(written(part)) for part in text.split(","))
    except ValueError:
        pass
    try:
        content = Path(text).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text file"
        raise ValueError(
            f"distribution must be shares such as 0.5,0.3,0.2 or a file that holds them, got "
            f"{shorten(text, _MAX_ECHO)!r}: {why}"
        ) from None
    shares = []
    for number, line in enumerate(content.splitlines(), start=1):
        for part in line.replace(",", " ").split():
            try:
                shares.append(float(written(part)))
            except ValueError:
                raise ValueError(
                    f"distribution must hold numbers, got {shorten(part, _MAX_ECHO)!r} in line "
                    f"{number} of {text!r}"
                ) from None
    return tuple(shares)
