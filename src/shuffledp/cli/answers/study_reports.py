"""The reports of a study, for people and programs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from shuffledp.basics.rounding import nearest, plain, round_up
from shuffledp.basics.wording import counted, fill, shorten
from shuffledp.cli.answers.shown import is_private, to_json
from shuffledp.deployment.files import Estimation, Sidecar
from shuffledp.deployment.study import Place, StudyDesign, StudyEstimation
from shuffledp.mechanisms import Relation


def plan_text(design: StudyDesign, files: Mapping[Path, Sidecar]) -> str:
    """Return what was written, and how private it is."""
    first = next(iter(files.values()))
    run = first.plan or {}
    total = run["total"]
    epsilon, delta = round_up(total["epsilon"]), plain(total["delta"])
    rows = [
        ("strategy", design.strategy),
        ("users", f"{run['users']:,}"),
        ("delta", delta),
        ("guarantee", f"epsilon = {epsilon}"),
    ]
    for path, sidecar in files.items():
        about = ", ".join(column.name for column in sidecar.columns)
        rows.append(("reports", str(path)))
        users = f" of {counted(sidecar.n, 'user')}" if design.is_shared_out else ""
        rows.append(("", shorten(f"{about}{users}: {sidecar.mechanism}")))
    together = "All files together" if len(files) > 1 else "The reports"
    seed = "would be, without their seed, " if first.seeded else "are "
    meaning = (
        f"{together} {seed}{is_private(epsilon, delta, str(Relation()))}, if every row is another "
        "user. Each has its sidecar, .json, beside it."
    )
    return "\n".join([*(f"{label:<11}{value}" for label, value in rows), "", fill(meaning)])


def plan_json(files: Mapping[Path, Sidecar]) -> str:
    """Return all sidecars in one JSON object, by the names of their files."""
    return to_json({str(path): json.loads(sidecar.to_json()) for path, sidecar in files.items()})


def read_given(
    ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]
) -> dict[str, str]:
    """Return the values of attributes by their names."""
    given: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name or name in given:
            raise click.BadParameter(
                f"must be NAME=VALUE, each name once, got {shorten(text)!r}", ctx, param
            )
        given[name] = value
    return given


def largest(estimation: Estimation, count: int | None) -> dict[str, list[Place]]:
    """Return the largest shares of every attribute that has some; nothing if none is asked for."""
    if count is None or not isinstance(estimation, StudyEstimation):
        return {}
    return {
        name: own.top(min(count, len(own.labels)))
        for name, own in estimation.estimate.answers.items()
        if own.labels
    }


def top_notes(estimation: Estimation, count: int | None) -> Iterator[str]:
    """Yield the largest shares for people."""
    for name, places in largest(estimation, count).items():
        shown = ", ".join(f"{one.label} {nearest(one.share)}{_lead(one)}" for one in places)
        yield (
            f"Largest shares of {name}: {shown}. Each p-value is how probably two values of equal "
            "shares would seem at least as far apart as this one and the next; where it is not "
            "small, their order may well be the other way round."
        )


def _lead(place: Place) -> str:
    return "" if place.p_value is None else f" (p = {round_up(place.p_value, 2)})"


def study_notes(estimation: StudyEstimation) -> Iterator[str]:
    """Yield what has to be known about the estimates of a study."""
    study = estimation.estimate.design.study
    known = estimation.estimate.answers
    left = [a.name for a in study.attributes if a.name not in known]
    same = "" if estimation.estimate.design.is_shared_out else " of the same shuffle"
    yield (
        "The guarantee is that of all shuffles of the study together. It holds if no user is in "
        f"two files{same}."
    )
    if left:
        yield f"No reports were given about {', '.join(left)}."
    for name, answers in known.items():
        if answers.attribute.is_among_answers:
            yield f"Shares and means of {name} are those among people who answered."
        if answers.attribute.ordered:
            middle = answers.quantile(0.5)
            ends = f"{middle.lower} to {middle.upper}"
            yield f"Median of {name}: {middle.label}, 95% interval {ends}."
