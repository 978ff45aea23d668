"""What all commands that ask about privacy have in common."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import click

from shuffledp.accounting import Report, ShuffleAccountant
from shuffledp.cli.answer import Answer
from shuffledp.cli.facts import EPILOG
from shuffledp.cli.parameters import JSON
from shuffledp.cli.progress import progress
from shuffledp.interval import Interval


def question(*parameters: click.Parameter) -> Callable[[Callable[..., Answer]], click.Command]:
    """Make a command of a function that returns an answer; its docstring is the help text.

    Nothing is printed before the whole answer is there.
    """

    def decorate(function: Callable[..., Answer]) -> click.Command:
        name = function.__name__

        def run(as_json: bool, **arguments: object) -> None:
            with progress():
                answer = function(**arguments)
            click.echo(answer.to_json(name) if as_json else answer.to_text())

        return click.Command(
            name, callback=run, params=[*parameters, JSON], help=function.__doc__, epilog=EPILOG
        )

    return decorate


def report_met_target(accountant: ShuffleAccountant, epsilon: float, delta: float) -> Report:
    """Report the epsilon at ``delta`` where (epsilon, delta) is known to be safe.

    The search that found the setting certified the target itself, so the guarantee is never above
    it, although the enclosure of the report may end a little further up.
    """
    report = accountant.epsilon_report(delta)
    guarantee = Interval(report.guarantee.lower, min(report.guarantee.upper, epsilon))
    reached = guarantee.width <= accountant.rtol * guarantee.upper
    return dataclasses.replace(report, guarantee=guarantee, rtol_reached=reached)
