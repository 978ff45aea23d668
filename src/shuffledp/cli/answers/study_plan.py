"""``shuffledp plan --study``: how to collect several attributes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from shuffledp.accounting import Setting
from shuffledp.accounting.assumptions import ASSUMPTIONS
from shuffledp.basics.figures import Mark, Panel, RowChart
from shuffledp.basics.rounding import plain, round_up
from shuffledp.basics.whole_file import check_writable
from shuffledp.basics.wording import counted, fill
from shuffledp.cli.answers.chart_files import keep_apart, write_chart
from shuffledp.cli.answers.shown import envelope, is_private
from shuffledp.cli.terminal import counter
from shuffledp.deployment.study import (
    Predictions,
    Study,
    StudyDesign,
    StudyOption,
    StudyPlan,
    plan_study,
)
from shuffledp.deployment.study.shuffle import users_of
from shuffledp.mechanisms import Relation

#: Options of a plan for one attribute, by their names on the command line.
_OF_ONE = {
    "epsilon": "--epsilon",
    "error": "--error",
    "delta": "--delta",
    "domain": "--domain",
    "distribution": "--distribution",
}

_STRATEGIES = 4  # until the planner says how many there are


def plan_of_study(setting: Setting, options: Mapping[str, Any]) -> None:
    """Plan for the study in a file; print the plan, and write it where that was asked for."""
    for field, name in _OF_ONE.items():
        if options[field] not in (None, ()):
            raise click.UsageError(f"{name} is for one attribute: a --study says it itself")
    if setting != Setting():
        raise click.UsageError(
            f"a --study says its users itself, who are honest and report once: leave out {setting}"
        )
    study = _read(options["study_file"])
    out = None if options["out"] is None else Path(options["out"])
    source = Path(options["study_file"])
    keep_apart(options["charts"], [source] if out is None else [source, out])
    if out is not None:
        if out.resolve() == source.resolve():
            raise click.UsageError(f"cannot write {str(out)!r}: it is the study that is read")
        try:
            check_writable(out)
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise click.UsageError(f"cannot write {str(out)!r}: {why}") from None
    with counter(_STRATEGIES, "strategy") as report:
        made = plan_study(study, on_done=report)
    if out is not None:
        StudyDesign.of(study, made.best).save(out)
    plans = [] if out is None else [str(out)]
    chart = _chart(made)
    if options["as_json"]:
        written = write_chart(chart, options["charts"], chart.to_json())
        click.echo(_to_json(made, [*plans, *written.names]))
    else:
        click.echo(_to_text(made, plans))
        written = write_chart(chart, options["charts"], chart.to_json())
        written.echo()
    written.check()


def _chart(made: StudyPlan) -> RowChart:
    """Return the predicted errors of all strategies."""
    marks = []
    for option in made.options:
        worst = option.predictions.by_name
        for name, expected in option.expected.by_name.items():
            most = max(expected.rms_error, worst[name].rms_error)
            marks.append(Mark(name, expected.rms_error, upper=most, group=option.strategy))
    study = made.study
    target = f"epsilon = {plain(study.epsilon)}, delta = {plain(study.delta)}"
    panel = Panel(f"{counted(study.n, 'user')}, {target}", tuple(marks))
    x_label = "root mean square error: expected, and up to the worst"
    return RowChart("Predicted errors", x_label, (panel,), x_log=True)


def _read(name: str) -> Study:
    try:
        return Study.load(name)
    except OSError as error:
        raise click.UsageError(f"cannot read {name!r}: {error.strerror or error}") from None
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def _to_json(made: StudyPlan, written: list[str]) -> str:
    fields = {
        "study": made.study.to_dict(),
        "options": [_option(made.study, option) for option in made.options],
        "left_out": [asdict(one) for one in made.left_out],
        "files": written,
    }
    return envelope("plan", fields, ASSUMPTIONS)


def _option(study: Study, option: StudyOption) -> dict[str, object]:
    design = StudyDesign.of(study, option).to_dict()
    names = ("strategy", "shuffles", "guarantee", "predicted_errors")
    scores = {"score": option.predictions.score, "expected_score": option.expected.score}
    return {**{name: design[name] for name in names}, **scores}


def _to_text(made: StudyPlan, written: list[str]) -> str:
    study, best = made.study, made.best
    target = f"epsilon = {plain(study.epsilon)}, delta = {plain(study.delta)}, all reports together"
    head = (
        ("users", f"{study.n:,}"),
        ("target", target),
        ("error", "root mean square of the estimates: expected, and worst for any data"),
        ("expected", _expectation(study)),
    )
    lines = [fill(value, label.ljust(10)) for label, value in head]
    notes = [fill(note) for note in _notes(made)]
    files = [f"Written: {name}" for name in written]
    return "\n".join([*lines, "", *_table(made), "", f"Best: {best.strategy}", *notes, *files])


def _expectation(study: Study) -> str:
    """Return whose answers the expected errors are for."""
    names = [attribute.name for attribute in study.attributes if attribute.expected is not None]
    if not names:
        return "all values alike: the study expects nothing else"
    others = "" if len(names) == len(study.attributes) else "; all values of the others alike"
    return f"what the study says of {', '.join(names)}{others}"


def _table(made: StudyPlan) -> list[str]:
    """Return one row per attribute and cross table, two columns per strategy."""
    rows = list(made.best.predictions.by_name)
    titles = ["", "", *rows, "together"]
    columns = [titles]
    for option in made.options:
        kinds = {"expected": option.expected, "worst": option.predictions}
        pair = [
            [title, *(round_up(own.by_name[row].rms_error) for row in rows), round_up(own.score)]
            for title, own in kinds.items()
        ]
        columns.append(_below(option.strategy, _joined(pair)))
    columns[0] = [title.ljust(max(map(len, titles))) for title in titles]
    return ["  ".join(row).rstrip() for row in zip(*columns, strict=True)]


def _joined(columns: list[list[str]]) -> list[str]:
    """Return columns side by side."""
    widths = [max(map(len, column)) for column in columns]
    return ["  ".join(map(str.rjust, row, widths)) for row in zip(*columns, strict=True)]


def _below(title: str, column: list[str]) -> list[str]:
    """Return a column with its title above it."""
    width = max(map(len, (title, *column)))
    return [text.rjust(width) for text in (title, *column)]


def _largest(predictions: Predictions) -> str:
    errors = predictions.by_name.items()
    return ", ".join(f"{name} {round_up(one.max_error)}" for name, one in errors)


def _notes(made: StudyPlan) -> Iterator[str]:
    study, best = made.study, made.best
    users = users_of(best.shuffles, study.n)
    for shuffle, count in zip(best.shuffles, users, strict=True):
        about = f" of {counted(count, 'user')}" if shuffle.share < 1 else ""
        yield f"{', '.join(shuffle.names)}{about}: {shuffle.mechanism}"
    private = is_private(round_up(best.epsilon), plain(study.delta), str(Relation()))
    what = "All shuffles together are" if len(best.shuffles) > 1 else "The shuffled reports are"
    yield (f"{what} {private}, if {study.n:,} users take part.")
    yield f"Standard error at worst, of one value for any data: {_largest(best.predictions)}."
    yield f"Standard error of the least certain value, as expected: {_largest(best.expected)}."
    if study.crosses:
        yield "Expected errors of cross tables take answers about the attributes as independent."
    if any(attribute.kind == "number" for attribute in study.attributes):
        yield "Errors of means are in parts of the range from low to high."
    if any(attribute.is_among_answers for attribute in study.attributes):
        yield (
            "Errors of shares and means among those who answer are for the share of answers that "
            "is expected, 1 if nothing is; with another share they change in inverse proportion "
            "to it."
        )
    for one in made.left_out:
        yield f"Not offered: {one.strategy}: {one.reason}."
