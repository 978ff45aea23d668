"""What n, neighbours, the view, epsilon0 and written numbers mean, for every answer."""

from __future__ import annotations

from shuffledp.randomizers import AnyPureLDP, LocalRandomizer
from shuffledp.randomizers.parts import parts_of

#: The assumptions behind every number.
ASSUMPTIONS = (
    "n counts all users, the one whose data changes included",
    "neighbouring datasets replace the input of one user",
    "the analyst sees the shuffled multiset of whole reports",
)

#: What an analyst sees who only gets sums.
_SUM = "the analyst sees nothing but the sum of the reports"


def assumptions_of(view: str) -> tuple[str, ...]:
    """Return the assumptions behind numbers for the view "multiset" or "sum".

    >>> assumptions_of("sum")[-1]
    'the analyst sees nothing but the sum of the reports'
    """
    return ASSUMPTIONS if view == "multiset" else (*ASSUMPTIONS[:-1], _SUM)


#: What several rounds assume, besides.
ROUNDS = (
    "every round has fresh noise and a fresh shuffle",
    "reports of one user cannot be linked across rounds; if they can, they are one joint report",
    "neighbouring datasets replace the inputs of one user in all rounds",
)

#: What they assume unless a filter watches over them.
PLANNED = (
    "mechanisms, numbers of users and of rounds are planned in advance; data may react to what was "
    "published"
)


def limited(rounds: int) -> str:
    """Return what it means that a user takes part in at most so many rounds."""
    return (
        f"each user takes part in at most {rounds:,} of the rounds, in a pattern that depends "
        "neither on private data nor on own earlier reports"
    )


#: What the swap bound of anything of a level assumes, and where nothing of the kind is needed.
ONE_RANDOMIZER = (
    "all users run one and the same randomizer, fixed in advance; for randomizers that are chosen "
    "from earlier reports the bound is blanket"
)


def fixed_in_advance(randomizer: LocalRandomizer, bound: str) -> tuple[str, ...]:
    """Return what is assumed of a randomizer of which only the level is known, under a bound.

    >>> [len(fixed_in_advance(AnyPureLDP(1.0), bound)) for bound in ("swap", "blanket")]
    [1, 0]
    """
    return (ONE_RANDOMIZER,) if bound != "blanket" and _is_generic(randomizer) else ()


def _is_generic(randomizer: LocalRandomizer) -> bool:
    """Whether it stands for all mechanisms of a level, or is made of one that does."""
    return isinstance(randomizer, AnyPureLDP) or any(map(_is_generic, parts_of(randomizer)))


#: What certificates assume, besides: they are about one round.
ONE_ROUND = "there is one round of collection; what several reveal together is not covered"

#: How the numbers of a proof are meant, besides.
EXACT_NUMBERS = (
    "parameters of the mechanism are the doubles nearest to the decimals written",
    "rows of a matrix and weights of a parallel composition are divided by their exact sums",
    "epsilon, delta and the enclosures are the decimals written, exactly",
)

#: What the level in a mechanism's text means.
LEVEL = "epsilon0 is the replace-one LDP level of the local randomizer"
