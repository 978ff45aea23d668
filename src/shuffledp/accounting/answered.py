"""What every report holds: one of epsilon and delta was given, the other one is proved."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Literal

from shuffledp.accounting.crowd import Crowd
from shuffledp.accounting.setting import Setting
from shuffledp.accounting.sum_view import View
from shuffledp.basics.interval import Interval
from shuffledp.basics.rounding import DIGITS, above, below, decade, plain, round_down, round_up
from shuffledp.mechanisms import LocalRandomizer

#: One of epsilon and delta is asked for, the other one is given.
Quantity = Literal["epsilon", "delta"]


class OneMechanism:
    """What is said about users who all run one mechanism: the parts of its ``setting``."""

    if TYPE_CHECKING:  # a field, an attribute or a property

        @property
        def setting(self) -> Setting:
            """What was asked about."""

    @property
    def randomizer(self) -> LocalRandomizer:
        """What each user runs."""
        return self.setting.randomizer

    @property
    def crowd(self) -> Crowd:
        """The users, and how many of them are corrupted."""
        return self.setting.crowd

    @property
    def n(self) -> int:
        """Number of users."""
        return self.crowd.n

    @property
    def view(self) -> View:
        """What the analyst sees, "multiset" or "sum"."""
        return self.setting.view


@dataclass(frozen=True, kw_only=True, eq=False)
class Answered:
    """A guarantee and a lower bound, as doubles and for people.

    Attributes:
        quantity: what is asked for, "epsilon" or "delta".
        target: the other one of the two, which is given.
        guarantee: enclosure of the bound; its upper end is the guarantee.
        lower_bound: what concrete datasets already reveal, rounded down.
        rtol_reached: whether the enclosure is as narrow as was asked for.
        log_guarantee: for delta, the enclosure of its logarithm, which never underflows.
        log_lower_bound: for delta, the logarithm of the lower bound.
    """

    quantity: Quantity
    target: float
    guarantee: Interval
    lower_bound: float
    rtol_reached: bool
    log_guarantee: Interval | None = None
    log_lower_bound: float | None = None

    if TYPE_CHECKING:  # a field of one report, a property of the other

        @property
        def setting(self) -> Setting | None:
            """What was asked about; None if that is no single setting."""

        @property
        def rtol(self) -> float:
            """The relative width of epsilon that was asked for."""

    @property
    def target_epsilon(self) -> float | None:
        """The epsilon that was given, if delta was asked for."""
        return self.target if self.quantity == "delta" else None

    @property
    def target_delta(self) -> float | None:
        """The delta that was given, if epsilon was asked for."""
        return self.target if self.quantity == "epsilon" else None

    @property
    def given(self) -> str:
        """What was given, in words."""
        return f"{'delta' if self.quantity == 'epsilon' else 'epsilon'} = {plain(self.target)}"

    @property
    def digits(self) -> int:
        """As many digits as the accuracy that was asked for makes meaningful."""
        return max(DIGITS, -decade(self.rtol))

    @property
    def decimal_guarantee(self) -> Decimal:
        """The guarantee, also where it is too small for doubles."""
        log = self.log_guarantee
        return above(self.guarantee.upper, None if log is None else log.upper)

    @property
    def decimal_lower_bound(self) -> Decimal:
        """The lower bound, also where it is too small for doubles."""
        return below(self.lower_bound, self.log_lower_bound)

    @property
    def at_most(self) -> str:
        """The guarantee for people, rounded up."""
        return round_up(self.decimal_guarantee, self.digits)

    @property
    def at_least(self) -> str:
        """The lower bound for people, rounded down."""
        return round_down(self.decimal_lower_bound, self.digits)

    def to_html(self, **cover: str) -> str:
        """Return a document for a review board: one page that needs nothing else.

        Args:
            cover: ``title``, ``organisation``, ``date``, ``retention`` and so on: the fields of
                :class:`shuffledp.outputs.review.Cover`, all of which may be left out.

        Raises:
            NoAnswerError: if there is no finite epsilon.
            MissingExtraError: an ImportError, if matplotlib is not installed.
            ValueError: if rounds are of several kinds, or a text is empty or too long.
        """
        from shuffledp.outputs.review import Cover, review_page

        return review_page(self, Cover(**cover))
