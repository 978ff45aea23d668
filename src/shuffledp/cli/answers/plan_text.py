"""A plan as text for people."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator

from shuffledp.accounting.assumptions import ASSUMPTIONS, assumptions_in
from shuffledp.accounting.sum_view import is_exact, view_in_words
from shuffledp.basics.errors import MAX_EPSILON0
from shuffledp.basics.rounding import plain, round_down, round_up, share_up
from shuffledp.basics.wording import counted, fill
from shuffledp.cli.answers.shown import what_holds
from shuffledp.mechanisms import LocalRandomizer
from shuffledp.planning import Option, Plan

_NO_VALUE = "-"

#: What happens to a value in [0, 1] before the mechanism of a mean sees it.
_ENCODINGS = {
    "krr": "krr takes the value times k - 1, rounded at random to one of the two integers around "
    "it such that the mean stays.",
    "discrete_laplace": "discrete_laplace takes the value times its bound, rounded at random to "
    "one of the two integers around it such that the mean stays.",
}


def to_text(made: Plan) -> str:
    """Return the question, a table of the options and the rest in sentences."""
    data = "any data" if made.task.distribution is None else "data of the given distribution"
    head = (
        ("estimate", made.task.subject),
        ("users", made.crowd.in_figures),
        ("target", _target(made)),
        ("error", f"root mean square of the estimates, for {data}"),
    )
    lines = [label.ljust(10) + value for label, value in head]
    sentences = [fill(sentence) for sentence in _sentences(made)]
    return "\n".join([*lines, "", *_table(made), "", *sentences])


def _target(made: Plan) -> str:
    if made.target_error is not None:
        return f"error = {plain(made.target_error)}, delta = {plain(made.target_delta)}"
    return f"epsilon = {plain(made.best.ours.epsilon)}, delta = {plain(made.target_delta)}"


def _table(made: Plan) -> list[str]:
    """Return aligned lines; ``published`` is what the column before the last two would be."""
    asked = "error" if made.target_error is None else "epsilon"
    head = ("mechanism", "epsilon0", "worst value", "bytes", asked, "published", "gain")
    cells: list[tuple[str, ...]] = [head, *(_cells(option, asked) for option in made.options)]
    if made.task.name == "mean":  # there is one estimate, which is the worst
        cells = [(*row[:2], *row[3:]) for row in cells]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(
            (
                row[0].ljust(widths[0]),
                *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True)),
            )
        )
        for row in cells
    ]


def _cells(option: Option, asked: str) -> tuple[str, ...]:
    ours, previous = option.ours, option.previous
    return (
        _short(ours.randomizer),
        round_down(ours.randomizer.epsilon0),
        round_up((ours.expected or ours.worst_case).max_error),
        f"{ours.report_bytes:,}",
        round_up(getattr(ours, asked)),
        _NO_VALUE if previous is None else round_up(getattr(previous, asked)),
        _NO_VALUE if option.gain is None else round_down(option.gain, 3),
    )


def _short(randomizer: LocalRandomizer) -> str:
    """Return the mechanism with its discrete parameters only."""
    shown = [
        f"{field.name}={getattr(randomizer, field.name)!r}"
        for field in dataclasses.fields(randomizer)  # type: ignore[arg-type]
        if field.name not in ("epsilon0", "domain_size", "domain")
    ]
    return f"{randomizer.name}({', '.join(shown)})" if shown else randomizer.name


def _sentences(made: Plan) -> Iterator[str]:
    best, what = made.best.ours, "mean" if made.task.name == "mean" else "share"
    epsilon = round_up(best.epsilon) if made.target_epsilon is None else plain(best.epsilon)
    yield f"Best: {best.randomizer}"
    comma = "," if made.crowd.assumptions else ""
    holds = what_holds(made.setting.of(best.randomizer), epsilon, plain(made.target_delta))
    yield (
        f"With {made.crowd}{comma} an estimated {what} is typically off by "
        f"{round_up(best.error)}, and {holds}. "
        f"{_published(made)}"
    )
    if made.setting.rounds > 1:
        yield "Errors are those of an estimate from one round."
        facts = assumptions_in(made.setting, [best.randomizer])
        yield from (f"This assumes that {fact}." for fact in facts if fact not in ASSUMPTIONS)
    if made.crowd.corrupted:
        yield _poisoning(made, what)
    if made.task.name == "mean":
        yield from (_ENCODINGS[o.name] for o in made.options if o.name in _ENCODINGS)
    if any(option.ours.randomizer.epsilon0 == MAX_EPSILON0 for option in made.options):
        yield f"Where epsilon0 = {MAX_EPSILON0:g}, larger ones are not looked at."
    if made.setting.view == "sum":
        yield f"The best one: the analyst sees {_best_view(made)}."
        sums = [o.name for o in made.options if is_exact(o.ours.randomizer, made.crowd)]
        rest = [option.name for option in made.options if option.name not in sums]
        if rest:
            yield f"The guarantee of the multiset stands for {', '.join(rest)}."
    for left_out in made.left_out:
        yield f"Not offered: {left_out.name}: {left_out.reason}."


def _best_view(made: Plan) -> str:
    return view_in_words(made.best.ours.randomizer, made.setting.view, made.crowd)


def _poisoning(made: Plan, what: str) -> str:
    """Say what errors assume of corrupted users, and what these can do."""
    users, shift = counted(made.crowd.corrupted, "corrupted user"), made.best.ours.largest_shift
    start = f"Errors are those of the noise, if all {made.task.n:,} users report as planned."
    start += f" Poisoning: {users}"
    if shift is None or shift == math.inf:
        return f"{start} can move a {what} by any amount, since any number is a report."
    return (
        f"{start} who choose their reports can move a {what} by at most "
        f"{round_up(shift)} more; lying about their values moves it by no more than "
        f"{share_up(made.crowd.corrupted, made.task.n)} on average."
    )


def _published(made: Plan) -> str:
    """Compare with the mechanism that would be best if only published bounds were known."""
    asked = "error" if made.target_error is None else "epsilon"
    known = [option.previous for option in made.options if option.previous is not None]
    if made.setting.rounds > 1:
        return "Published bounds are about a single round."
    if made.crowd.corrupted_adaptively:
        return "Published bounds do not cover reports that are learned adaptively."
    if not known:
        return "No published bound meets the target with any mechanism."
    best = min(known, key=lambda setting: float(getattr(setting, asked)))
    return (
        f"The best that published bounds allow is {asked} = {round_up(getattr(best, asked))}, "
        f"with {_short(best.randomizer)} ({best.bound})."
    )
