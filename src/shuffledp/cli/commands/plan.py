"""``shuffledp plan``: which mechanism estimates best what is wanted."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click

from shuffledp.accounting import Setting
from shuffledp.accounting.assumptions import assumptions_in
from shuffledp.basics.errors import MAX_SIZE, check_delta, check_positive
from shuffledp.cli.answers.chart_files import Written, read_outputs, write_chart
from shuffledp.cli.answers.facts import EPILOG
from shuffledp.cli.answers.plan_text import to_text
from shuffledp.cli.answers.shown import envelope
from shuffledp.cli.answers.study_plan import plan_of_study
from shuffledp.cli.parameters import DELTA, EPSILON, JSON, number, optional, reading, whole
from shuffledp.cli.setting_options import SETTING, refuse, save_setting, take_setting
from shuffledp.cli.terminal import counter
from shuffledp.planning import TASKS, Candidate, Option, Plan, error_chart
from shuffledp.planning import plan as make_plan
from shuffledp.planning.distribution import check_distribution, read_distribution
from shuffledp.planning.error_chart import epsilons_around

_MECHANISMS = 7  # until the planner says how many there are


def _read_domain(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> int | None:
    """Return the one size; several are several attributes."""
    read = reading(whole("domain", 2, MAX_SIZE))
    sizes = [read(ctx, param, text) for text in texts]
    if len(sizes) > 1:
        raise click.BadParameter(
            f"is for one attribute, got {len(sizes)} of them; several attributes are described in "
            "a file, --study",
            ctx,
            param,
        )
    return sizes[0] if sizes else None


_PARAMETERS = [
    click.Option(
        ["--task"],
        type=click.Choice(list(TASKS)),
        default="frequency",
        show_default=True,
        help="What to estimate: the share of every value, or the mean of values in [0, 1].",
    ),
    SETTING[1],
    optional(EPSILON),
    click.Option(
        ["--error"],
        callback=reading(number("error", lambda value, name: check_positive(name, value))),
        metavar="NUMBER",
        help="Ask the other way round: the root mean square error to reach, of a share or of the "
        "mean, at the least epsilon.",
    ),
    optional(DELTA),
    click.Option(
        ["--domain"],
        callback=_read_domain,
        metavar="INTEGER",
        multiple=True,
        help="Number of values. For a mean they are equidistant from 0 to 1; without it they are "
        "any numbers in between.",
    ),
    click.Option(
        ["--distribution"],
        callback=reading(read_distribution),
        metavar="SHARES",
        help="Shares of the values among the users, such as 0.5,0.3,0.2, or a file that holds "
        "them. Without it errors are those of the worst data.",
    ),
    click.Option(
        ["--chart", "charts"],
        callback=read_outputs,
        metavar="FILE",
        multiple=True,
        help="Draw error against epsilon, of a study the errors of all strategies: a picture "
        "(.png, .svg, .pdf) with its numbers (.csv, .json) beside it, or only numbers; may be "
        "repeated.",
    ),
    click.Option(
        ["--study", "study_file"],
        metavar="FILE",
        help="Plan for several attributes at once: a study in TOML or JSON, which says how many "
        "users there are and what to meet.",
    ),
    click.Option(
        ["-o", "--out"],
        metavar="FILE",
        help="Where to write the plan of a study, for shuffledp randomize --plan.",
    ),
    *SETTING[2:],
    JSON,
]


@dataclass(frozen=True, kw_only=True)
class _Request:
    """The options of the command line, by their names there."""

    setting: Setting
    task: str
    epsilon: float | None
    error: float | None
    delta: float | None
    domain: int | None
    distribution: tuple[float, ...] | None
    charts: tuple[Path, ...]
    study_file: str | None
    out: str | None
    as_json: bool

    def __post_init__(self) -> None:
        """Refuse what does not fit together before any work."""
        if self.out is not None:
            raise click.UsageError("--out writes the plan of a study: it needs --study")
        refuse(self.setting, "a plan is for users who run one mechanism", "groups")
        for names, value in (("'-n' / '--users'", self.setting.n), ("'--delta'", self.delta)):
            if value is None:
                raise click.UsageError(f"Missing option {names}, or a --study.")
        if (self.epsilon is None) == (self.error is None):
            raise click.UsageError("give either --epsilon or --error")
        if self.domain is None and self.task == "frequency":
            raise click.UsageError("the task frequency needs --domain")
        if self.domain is None and self.distribution is not None:
            raise click.UsageError("--distribution needs --domain")
        if self.distribution is not None and self.domain is not None:
            try:
                check_distribution(
                    self.distribution, self.domain, name="--distribution", size_name="--domain"
                )
            except ValueError as error:
                raise click.UsageError(str(error)) from None

    def answer(self, report: Callable[[int, int], None]) -> Plan:
        return make_plan(
            n=self.setting.crowd.n,
            target_delta=check_delta(self.delta),
            target_epsilon=self.epsilon,
            target_error=self.error,
            domain_size=self.domain,
            task=self.task,
            distribution=self.distribution,
            on_done=report,
            **self.setting.conditions,
        )


@click.command(params=_PARAMETERS, epilog=EPILOG)
def plan(kept: str | None, **options: Any) -> None:
    """Find the mechanism of least error, or of least epsilon.

    Every suitable mechanism gets its best parameters and the largest epsilon0 that is certified to
    be safe. Errors are predicted by formulas for unbiased estimates. What published bounds would
    have allowed is shown beside.
    """
    setting = take_setting(options)
    if options["study_file"] is not None:
        plan_of_study(setting, options)
        return
    request = _Request(setting=setting, **options)
    with counter(_MECHANISMS, "mechanism") as report:
        made = request.answer(report)
    save_setting(made.setting.of(made.best.ours.randomizer), kept)
    least = min(option.ours.epsilon for option in made.options)
    epsilons = epsilons_around(least) if request.charts else ()
    if request.as_json:
        written = _draw(made, epsilons, request.charts)
        click.echo(_to_json(made, written.names))
    else:
        click.echo(to_text(made))
        written = _draw(made, epsilons, request.charts)
        written.echo()
    written.check()


def _draw(made: Plan, epsilons: tuple[float, ...], charts: tuple[Path, ...]) -> Written:
    """Write all files, pictures last."""
    if not charts:
        return Written([])
    with counter(len(epsilons)) as report:
        chart = error_chart(
            made.task,
            epsilons,
            made.target_delta,
            setting=made.setting,
            on_done=report,
        )
    return write_chart(chart, charts, chart.to_json())


def _to_json(made: Plan, written: list[str]) -> str:
    """Return one JSON object with all digits; docs/json.md documents its fields."""
    fields = {
        "task": made.task.name,
        "n": made.task.n,
        "corrupted": made.crowd.corrupted,
        "corrupted_adaptively": made.crowd.corrupted_adaptively,
        "domain_size": made.task.domain_size,
        "data": "any" if made.task.distribution is None else "given distribution",
        "target_epsilon": made.target_epsilon,
        "target_error": made.target_error,
        "target_delta": made.target_delta,
        "view": made.setting.view,
        "rounds": made.setting.rounds,
        "at_most": made.setting.at_most,
        "options": [_option(option) for option in made.options],
        "left_out": [asdict(left_out) for left_out in made.left_out],
        "files": written,
    }
    mechanisms = [option.ours.randomizer for option in made.options]
    return envelope("plan", fields, assumptions_in(made.setting, mechanisms))


def _option(option: Option) -> dict[str, object]:
    previous = None if option.previous is None else _candidate(option.previous)
    fields = {"name": option.name, **_candidate(option.ours)}
    return fields | {"previous": previous, "gain": option.gain}


def _candidate(setting: Candidate) -> dict[str, object]:
    return {
        "mechanism": str(setting.randomizer),
        "relation": setting.randomizer.relation.to_dict(),
        "epsilon0": setting.randomizer.epsilon0,
        "epsilon": setting.epsilon,
        "bound": setting.bound,
        "error": setting.error,
        "worst_case": asdict(setting.worst_case),
        "expected": None if setting.expected is None else asdict(setting.expected),
        "report_bytes": setting.report_bytes,
        "largest_shift": None if setting.largest_shift == math.inf else setting.largest_shift,
    }
