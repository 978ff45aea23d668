"""The accountant, or the crowd, that a command line asks for."""

from __future__ import annotations

from fractions import Fraction

import click

from shuffledp.accounting import ShuffleAccountant
from shuffledp.accounting.crowd import Crowd, crowd_of
from shuffledp.accounting.setting import Bound
from shuffledp.accounting.sum_view import View
from shuffledp.mechanisms import LocalRandomizer


def accountant(
    mechanism: LocalRandomizer,
    n: int,
    rtol: float,
    bound: Bound,
    corrupted: int | Fraction,
    corrupted_adaptively: int | Fraction,
    view: View = "multiset",
) -> ShuffleAccountant:
    """Return the accountant; what does not fit together is an error of the command line."""
    try:
        return ShuffleAccountant(
            mechanism,
            n,
            rtol=rtol,
            bound=bound,
            corrupted=corrupted,
            corrupted_adaptively=corrupted_adaptively,
            view=view,
        )
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def crowd_asked(n: int, corrupted: int | Fraction, corrupted_adaptively: int | Fraction) -> Crowd:
    """Return the crowd; one without an honest user is an error of the command line."""
    try:
        return crowd_of(n, corrupted, corrupted_adaptively)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
