"""What n, neighbours, the view, epsilon0 and written numbers mean, for every answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from shuffledp.basics.wording import shorten
from shuffledp.mechanisms import AnyPureLDP, LocalRandomizer, Relation
from shuffledp.mechanisms.finite.identity import foreign_classes, stated_by
from shuffledp.mechanisms.noise.continuous_noise import ContinuousNoise

if TYPE_CHECKING:
    from shuffledp.accounting.setting import Setting

#: Who is counted, behind every number.
COUNTED = "n counts all users, the one whose data changes included"

#: What an analyst sees, by the view of an answer.
SEEN = {
    "multiset": "the analyst sees the shuffled multiset of whole reports",
    "sum": "the analyst sees nothing but the sum of the reports",
}

#: The assumptions behind every number, unless the mechanism or the question says otherwise.
ASSUMPTIONS = (COUNTED, f"neighbouring datasets {Relation()}", SEEN["multiset"])


def assumptions_of(
    mechanisms: Iterable[LocalRandomizer], view: str = "multiset", bound: str = "best"
) -> tuple[str, ...]:
    """Return the assumptions behind numbers about some mechanisms, each of them on its own.

    >>> from shuffledp import parse
    >>> limited = parse("joint(krr(k=3, epsilon0=2), krr(k=4, epsilon0=2), at_most=1)")
    >>> for fact in assumptions_of([limited], "sum"):
    ...     print(fact)
    n counts all users, the one whose data changes included
    neighbouring datasets change at most 1 of 2 attributes of one user
    the analyst sees nothing but the sum of the reports
    """
    known = list(dict.fromkeys(mechanisms))
    own = dict.fromkeys(fact for one in known for fact in particulars(one, bound))
    return (COUNTED, *neighbours_of(known), SEEN[view], *own)


def noteworthy(mechanisms: Iterable[LocalRandomizer]) -> tuple[str, ...]:
    """Return what must be said beside answers about some mechanisms: the help holds the rest.

    >>> from shuffledp import parse
    >>> noteworthy([parse("krr(k=2, epsilon0=1)")])
    ()
    """
    facts = assumptions_of(mechanisms)
    return tuple(fact for fact in facts if fact not in ASSUMPTIONS)


def neighbours_of(mechanisms: Iterable[LocalRandomizer]) -> tuple[str, ...]:
    """Return what neighbouring datasets do, for each mechanism if they differ in it."""
    first = _by_relation(mechanisms)
    if len(first) < 2:
        return tuple(f"neighbouring datasets {relation}" for relation in first)
    return tuple(
        f"neighbouring datasets {relation}, where users run {shorten(str(one))}"
        for relation, one in first.items()
    )


def neighbours_in_rounds(mechanisms: Iterable[LocalRandomizer]) -> str:
    """Return what neighbouring datasets do, of several rounds together.

    >>> from shuffledp import parse
    >>> neighbours_in_rounds([parse("joint(oue(1.0), oue(2.0), exactly=1)")])
    'neighbouring datasets change at most 1 of 2 attributes of one user, any in each round'
    """
    first = _by_relation(mechanisms)
    if len(first) < 2:
        return f"neighbouring datasets {next(iter(first), Relation()).in_rounds}"
    rounds = (f"in rounds of {shorten(str(one))} they {own}" for own, one in first.items())
    return (
        "neighbouring datasets differ in each round as its mechanism says, and nothing is claimed "
        f"of others: {'; '.join(rounds)}"
    )


def _by_relation(mechanisms: Iterable[LocalRandomizer]) -> dict[Relation, LocalRandomizer]:
    """Return the first mechanism of each relation."""
    first: dict[Relation, LocalRandomizer] = {}
    for one in mechanisms:
        first.setdefault(one.relation, one)
    return first


#: What several rounds assume, besides.
ROUNDS = (
    "every round has fresh noise and a fresh shuffle",
    "reports of one user cannot be linked across rounds; if they can, they are one joint report",
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


def assumptions_in(setting: Setting, mechanisms: Iterable[LocalRandomizer]) -> tuple[str, ...]:
    """Return what numbers about some mechanisms assume, each of them in the same setting."""
    known = list(mechanisms)
    facts = assumptions_of(known, setting.view, setting.bound)
    who = setting.corruption.assumptions
    if setting.rounds == 1:
        return (*facts, *who)
    some = () if setting.at_most is None else (limited(setting.at_most),)
    among = (f"in each round {fact}" for fact in who)
    return (*facts, *ROUNDS, neighbours_in_rounds(known), PLANNED, *among, *some)


#: What the swap bound of anything of a level assumes, and where nothing of the kind is needed.
ONE_RANDOMIZER = (
    "all users run one and the same randomizer, fixed in advance; for randomizers that are chosen "
    "from earlier reports the bound is blanket"
)


def particulars(randomizer: LocalRandomizer, bound: str) -> tuple[str, ...]:
    """Return what is assumed of this randomizer under a bound, and of few others.

    >>> [len(particulars(AnyPureLDP(1.0), bound)) for bound in ("swap", "blanket")]
    [1, 0]
    """
    kinds, whole = foreign_classes(randomizer), list(_components(randomizer))
    trusted = (f"{_TRUSTED} {stated_by(kinds)} and not proved",) if kinds else ()
    generic = bound != "blanket" and any(isinstance(one, AnyPureLDP) for one in whole)
    rounded = dict.fromkeys(_rounding(one) for one in whole if isinstance(one, ContinuousNoise))
    return (*trusted, *((ONE_RANDOMIZER,) if generic else ()), *rounded)


#: What a class of one's own says; a check of random inputs found nothing against it.
_TRUSTED = "laws, levels and worst inputs of the mechanism are"


def _components(randomizer: LocalRandomizer) -> Iterator[LocalRandomizer]:
    """Yield the mechanism and all that it is made of."""
    yield randomizer
    for part in randomizer.components:
        yield from _components(part)


def _rounding(noise: ContinuousNoise) -> str:
    return (
        f"reports of {shorten(str(noise))} are ideal ones rounded to multiples of 1/{noise.steps}, "
        "drawn exactly; the guarantee covers that, the lower bound leaves out what rounding hides"
    )


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
