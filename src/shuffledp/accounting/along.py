"""Many questions along a curve: evaluated together, each knowing its neighbours' answers.

Nothing but certified evaluations decides, as for single questions. Neighbours only say where to
look: an answer lies close to a smooth curve through theirs, so that a few evaluations enclose it.
All searches take their steps at the same time, and what they ask for is evaluated together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from shuffledp.accounting.candidates import Candidate, Listed
from shuffledp.accounting.inversion import Root, Search, log_target
from shuffledp.accounting.profile_point import enclose_log_deltas
from shuffledp.accounting.proposals import Hint
from shuffledp.accounting.worst_case import WorstCase
from shuffledp.decomposition import Decomposition
from shuffledp.divergence import (
    LogEnclosure,
    Point,
    log_delta_bounds_at,
    log_deltas_at,
)
from shuffledp.errors import MAX_EPSILON0
from shuffledp.interval import Interval

_SPACING = 7  # about, of the questions that know nothing of their neighbours
_DEGREE, _LEAST_DEGREE = 5, 3  # of the curve through their answers
_ROUGH = 1e-3  # of log epsilon: how far an answer may be from the curve through those beside it
_LOOKS = 2  # at a problem whose root is only to be guessed
_MOST_CANDIDATES = 32


@dataclass(frozen=True, eq=False)
class RootProblem:
    """A bound and the logarithm of the delta to which it falls at the epsilon asked for."""

    decomposition: Decomposition
    n: int
    target: Interval
    rtol: float

    def at(self, epsilon: float) -> Point:
        """Return where to evaluate the bound."""
        return Point(self.decomposition, self.n, epsilon)

    def search(self, hint: Hint | None) -> Search:
        """Return a search that may know where to begin."""
        return Search(self.decomposition, self.n, self.target, self.rtol, hint)


def find_roots(problems: Sequence[RootProblem], places: Sequence[float]) -> list[Root]:
    """Enclose the epsilons of problems whose answers change smoothly with their places.

    Every root is as good as that of :func:`shuffledp.accounting.inversion.find_root`: both ends are
    certified, and the upper one keeps its word.

    Args:
        problems: what to solve.
        places: where each stands along a curve, increasing.
    """
    if not problems:
        return []
    last = len(problems) - 1
    parts = max(round(last / _SPACING), _LEAST_DEGREE)
    landmarks = sorted({last * part // parts for part in range(parts + 1)})
    known = _approached(problems, dict.fromkeys(landmarks))
    guesses = _Guesses(places, known)
    if rough := guesses.rough:
        sides = [(left, right) for left, right in pairwise(landmarks) if {left, right} & rough]
        between = {(left + right) // 2 for left, right in sides} - known.keys()
        known |= _approached(problems, {i: guesses.at(places[i]) for i in sorted(between)})
        guesses = _Guesses(places, known)
    hints = {i: known.get(i) or guesses.at(places[i]) for i in range(len(problems))}
    roots = _solved(problems, hints)
    return [roots[i] for i in range(len(problems))]


class _Guesses:
    """Smooth curves through some answers, and through the slopes of log delta at them."""

    def __init__(self, places: Sequence[float], hints: Mapping[int, Hint]) -> None:
        self.numbers = sorted(hints)
        self.places = [places[i] for i in self.numbers]
        # Of epsilons and of slopes.
        self.logs = [(math.log(hints[i].epsilon), math.log(-hints[i].slope)) for i in self.numbers]

    @property
    def rough(self) -> set[int]:
        """The problems whose answers are far from the curve through others."""
        found = set()
        for i in range(1, len(self.places) - 1):
            others = [j for j in range(len(self.places)) if j != i]
            guess = self._curve(self.places[i], others)
            if guess is not None and abs(guess[0] - self.logs[i][0]) > _ROUGH:
                found.add(self.numbers[i])
        return found

    def at(self, place: float) -> Hint | None:
        """Return what the curve through the answers next to a place says; None if there are few."""
        guess = self._curve(place, range(len(self.places)))
        if guess is None or not max(map(abs, guess)) < MAX_EPSILON0:
            return None
        return Hint(math.exp(guess[0]), -math.exp(guess[1]))

    def _curve(self, place: float, known: Sequence[int]) -> tuple[float, float] | None:
        """Return logarithms of epsilon and of the slope from those of the nearest answers."""
        nearest = sorted(known, key=lambda i: abs(self.places[i] - place))[: _DEGREE + 1]
        if len(nearest) <= _LEAST_DEGREE:
            return None
        epsilon = slope = 0.0
        for i in nearest:
            weight = math.prod(
                (place - self.places[j]) / (self.places[i] - self.places[j])
                for j in nearest
                if j != i
            )
            epsilon += weight * self.logs[i][0]
            slope += weight * self.logs[i][1]
        return epsilon, slope


def _solved(problems: Sequence[RootProblem], hints: Mapping[int, Hint | None]) -> dict[int, Root]:
    """Solve some of the problems: one step of each search after the other, all at once."""
    searches = {i: problems[i].search(hint) for i, hint in hints.items()}
    return _take_steps(problems, searches)


def _approached(
    problems: Sequence[RootProblem], hints: Mapping[int, Hint | None]
) -> dict[int, Hint]:
    """Return about where the roots of some problems are, and how steep log delta is there."""
    searches = {i: problems[i].search(hint) for i, hint in hints.items()}
    _take_steps(problems, searches, _LOOKS)
    found = {i: search.guide.root() for i, search in searches.items()}
    return {i: hint for i, hint in found.items() if hint is not None}


def _take_steps(
    problems: Sequence[RootProblem], searches: Mapping[int, Search], most: float = math.inf
) -> dict[int, Root]:
    """Take steps of all searches together, so many at most; return what those say that ended."""
    steps = {i: search.steps() for i, search in searches.items()}
    roots: dict[int, Root] = {}
    answers: dict[int, LogEnclosure | None] = dict.fromkeys(searches)
    taken = 0
    while answers:
        asked: dict[int, float] = {}
        for i, answer in answers.items():
            try:
                asked[i] = next(steps[i]) if answer is None else steps[i].send(answer)
            except StopIteration as end:
                roots[i] = end.value
        if taken >= most:
            break
        answers = _answers(problems, {i: searches[i].precision for i in asked}, asked)
        taken += 1
    return roots


def _answers(
    problems: Sequence[RootProblem], precisions: Mapping[int, float], asked: Mapping[int, float]
) -> dict[int, LogEnclosure | None]:
    """Enclose log delta wherever searches ask for it, as ``Search.steps`` wants it."""
    found: dict[int, LogEnclosure | None] = {}
    usual = [i for i in asked if precisions[i] == problems[i].rtol]
    closer = [i for i in asked if precisions[i] != problems[i].rtol]
    for own, enclose in ((usual, enclose_log_deltas), (closer, log_deltas_at)):
        points = [problems[i].at(asked[i]) for i in own]
        values = enclose(points, [precisions[i] for i in own])
        found |= zip(own, values, strict=True)
    return found


def prepare_epsilons(
    cases: Sequence[WorstCase], deltas: Sequence[float], places: Sequence[float]
) -> None:
    """Let every case know its epsilon at a delta, enclosed as closely as if it were asked alone.

    Args:
        cases: different objects.
        deltas: the target of each.
        places: where each stands along a curve, increasing.
    """
    targets = [log_target(delta) for delta in deltas]
    leaders = {
        i: leader
        for i, case in enumerate(cases)
        if 0 < deltas[i] < 1 and (leader := case.candidates.leader()) is not None
    }
    problems = [
        RootProblem(leader.decomposition, cases[i].n, targets[i], cases[i].rtol)
        for i, leader in leaders.items()
    ]
    roots = find_roots(problems, [places[i] for i in leaders])
    found = dict(zip(leaders, roots, strict=True))
    for i in _settled(cases, leaders, targets, found):
        cases[i].remember_epsilon(deltas[i], (found[i].epsilon, leaders[i]))


def _settled(
    cases: Sequence[WorstCase],
    leaders: Mapping[int, Candidate],
    targets: Sequence[Interval],
    roots: Mapping[int, Root],
) -> set[int]:
    """Return the cases in which no candidate is above the target where the leader falls to it."""
    settled = {
        i
        for i, root in roots.items()
        if _is_short(cases[i])
        and root.at_upper is not None
        and root.at_upper.upper <= targets[i].lower
    }
    others = _others(cases, {i: leader for i, leader in leaders.items() if i in settled})
    open_ = [
        (i, Point(other.decomposition, cases[i].n, roots[i].epsilon.upper)) for i, other in others
    ]
    bounds = log_delta_bounds_at([point for _, point in open_])
    pairs = zip(open_, bounds, strict=True)
    open_ = [(i, point) for (i, point), bound in pairs if not bound <= targets[i].lower]
    values = log_deltas_at([point for _, point in open_], [cases[i].rtol for i, _ in open_])
    for (i, _), value in zip(open_, values, strict=True):
        if not value.upper <= targets[i].lower:
            settled.discard(i)
    return settled


def prepare_log_deltas(cases: Sequence[WorstCase], epsilons: Sequence[float]) -> None:
    """Let every case know its log delta at an epsilon, as closely as if it were asked alone."""
    bounds = _bounds(cases, epsilons)
    first = {i: max(own, key=lambda pair: pair[0])[1] for i, own in bounds.items()}
    best = dict(zip(first, _enclosed(cases, epsilons, list(first.items())), strict=True))
    worst = dict(first)
    open_ = [
        (i, other)
        for i, own in bounds.items()
        for bound, other in own
        if other is not first[i] and not bound <= best[i].lower
    ]
    for (i, other), value in zip(open_, _enclosed(cases, epsilons, open_), strict=True):
        if value.upper > best[i].upper:
            worst[i] = other
        ends = best[i], value
        best[i] = LogEnclosure(max(end.lower for end in ends), max(end.upper for end in ends))
    for i, value in best.items():
        cases[i].remember_log_delta(epsilons[i], (value, worst[i]))


def _bounds(
    cases: Sequence[WorstCase], epsilons: Sequence[float]
) -> dict[int, list[tuple[float, Candidate]]]:
    """Bound log delta of all candidates of every case, if they are few; one alone needs none."""
    bounds: dict[int, list[tuple[float, Candidate]]] = {}
    asked = []
    for i, case in enumerate(cases):
        if isinstance(case.candidates, Listed) and _is_short(case):
            listed = case.candidates.candidates
            if len(listed) > 1:
                asked += [(k, i, own) for k, own in enumerate(listed)]
            elif listed:
                bounds[i] = [(math.inf, listed[0])]
    asked.sort(key=lambda each: each[:2])  # neighbours of the same kind after each other
    points = [Point(own.decomposition, cases[i].n, epsilons[i]) for _, i, own in asked]
    for (_, i, own), bound in zip(asked, log_delta_bounds_at(points), strict=True):
        bounds.setdefault(i, []).append((bound, own))
    return bounds


def _is_short(case: WorstCase) -> bool:
    candidates = case.candidates
    return isinstance(candidates, Listed) and len(candidates.candidates) <= _MOST_CANDIDATES


def _others(
    cases: Sequence[WorstCase], leaders: Mapping[int, Candidate]
) -> Iterator[tuple[int, Candidate]]:
    """Yield all candidates but the leaders."""
    for i, leader in leaders.items():
        candidates = cases[i].candidates
        if isinstance(candidates, Listed):
            yield from ((i, own) for own in candidates.candidates if own is not leader)


def _enclosed(
    cases: Sequence[WorstCase], epsilons: Sequence[float], asked: Sequence[tuple[int, Candidate]]
) -> list[LogEnclosure]:
    points = [Point(own.decomposition, cases[i].n, epsilons[i]) for i, own in asked]
    return enclose_log_deltas(points, [cases[i].rtol for i, _ in asked])
