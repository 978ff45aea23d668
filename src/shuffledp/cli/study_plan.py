"""``shuffledp plan --study``: how to collect several attributes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from shuffledp.cli.chart_files import keep_apart, write_chart
from shuffledp.cli.document import envelope
from shuffledp.cli.terminal import counter
from shuffledp.figures import Mark, Panel, RowChart
from shuffledp.rounding import plain, round_up
from shuffledp.study import Study, StudyDesign, StudyOption, StudyPlan, plan_study
from shuffledp.study.option import users_of
from shuffledp.whole_file import check_writable
from shuffledp.wording import counted, fill

#: Options of a plan for one attribute, by their names on the command line.
_OF_ONE = {
    "n": "-n",
    "epsilon": "--epsilon",
    "error": "--error",
    "delta": "--delta",
    "domain": "--domain",
    "distribution": "--distribution",
}

_STRATEGIES = 4  # until the planner says how many there are


def plan_of_study(options: Mapping[str, Any]) -> None:
    """Plan for the study in a file; print the plan, and write it where that was asked for."""
    for field, name in _OF_ONE.items():
        if options[field] not in (None, ()):
            raise click.UsageError(f"{name} is for one attribute: a --study says it itself")
    if options["view"] != "multiset":
        raise click.UsageError("--view is for one attribute: the reports of a study are shuffled")
    if options["cluster"] is not None:
        raise click.UsageError("--cluster is for one attribute: studies are planned here")
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
        errors = {
            **option.predictions.attributes,
            **{" x ".join(names): one for names, one in option.predictions.crosses.items()},
        }
        marks += [Mark(name, one.rms_error, group=option.strategy) for name, one in errors.items()]
    study = made.study
    target = f"epsilon = {plain(study.epsilon)}, delta = {plain(study.delta)}"
    panel = Panel(f"{counted(study.n, 'user')}, {target}", tuple(marks))
    return RowChart(
        "Predicted errors", "root mean square error, for any data", (panel,), x_log=True
    )


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
    return envelope("plan", fields)


def _option(study: Study, option: StudyOption) -> dict[str, object]:
    design = StudyDesign.of(study, option).to_dict()
    names = ("strategy", "shuffles", "guarantee", "predicted_errors")
    return {**{name: design[name] for name in names}, "score": option.predictions.score}


def _to_text(made: StudyPlan, written: list[str]) -> str:
    study, best = made.study, made.best
    target = f"epsilon = {plain(study.epsilon)}, delta = {plain(study.delta)}, all reports together"
    head = (
        ("users", f"{study.n:,}"),
        ("target", target),
        ("error", "root mean square of the estimates, for any data"),
    )
    lines = [label.ljust(10) + value for label, value in head]
    notes = [fill(note) for note in _notes(made)]
    files = [f"Written: {name}" for name in written]
    return "\n".join([*lines, "", *_table(made), "", f"Best: {best.strategy}", *notes, *files])


def _table(made: StudyPlan) -> list[str]:
    """Return one row per attribute and cross table, one column per strategy."""
    rows = [("", *(option.strategy for option in made.options))]
    for attribute in made.study.attributes:
        errors = (option.predictions.attributes[attribute.name] for option in made.options)
        rows.append((attribute.name, *(round_up(error.rms_error) for error in errors)))
    for names in made.study.crosses:
        errors = (option.predictions.crosses[names] for option in made.options)
        rows.append((" x ".join(names), *(round_up(error.rms_error) for error in errors)))
    rows.append(("together", *(round_up(o.predictions.score) for o in made.options)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join((row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:]))) for row in rows
    ]


def _worst(option: StudyOption) -> str:
    errors = {
        **option.predictions.attributes,
        **{" x ".join(names): one for names, one in option.predictions.crosses.items()},
    }
    return ", ".join(f"{name} {round_up(one.max_error)}" for name, one in errors.items())


def _notes(made: StudyPlan) -> Iterator[str]:
    study, best = made.study, made.best
    users = users_of(best.shuffles, study.n)
    for shuffle, count in zip(best.shuffles, users, strict=True):
        about = f" of {counted(count, 'user')}" if shuffle.share < 1 else ""
        yield f"{', '.join(shuffle.names)}{about}: {shuffle.mechanism}"
    what = "All shuffles together are" if len(best.shuffles) > 1 else "The shuffled reports are"
    yield (
        f"{what} ({round_up(best.epsilon)}, {plain(study.delta)})-differentially private if "
        f"{study.n:,} users take part."
    )
    yield f"Standard error at worst, of one value for any data: {_worst(best)}."
    if any(attribute.kind == "number" for attribute in study.attributes):
        yield "Errors of means are in parts of the range from low to high."
    if any(attribute.is_among_answers for attribute in study.attributes):
        yield (
            "Errors of shares and means among those who answer are larger, in inverse proportion "
            "to their share."
        )
    for one in made.left_out:
        yield f"Not offered: {one.strategy}: {one.reason}."
