"""``shuffledp compare``: what every published analysis says about one mechanism."""

from __future__ import annotations

from fractions import Fraction

import click

from shuffledp.accounting.sum_view import View
from shuffledp.cli.accountant import crowd_asked
from shuffledp.cli.answers.document import envelope
from shuffledp.cli.answers.facts import EPILOG
from shuffledp.cli.parameters import (
    CORRUPTED,
    CORRUPTED_ADAPTIVELY,
    DELTA,
    JSON,
    MECHANISM,
    RTOL,
    USERS,
    VIEW,
)
from shuffledp.cli.terminal import progress
from shuffledp.comparison import compare as compare_bounds
from shuffledp.mechanisms import LocalRandomizer

_CSV = click.Option(
    ["--csv", "as_csv"],
    is_flag=True,
    help="Print one line per bound with all digits, values separated by commas.",
)


_PARAMETERS = [
    MECHANISM,
    USERS,
    DELTA,
    RTOL,
    CORRUPTED,
    CORRUPTED_ADAPTIVELY,
    VIEW,
    JSON,
    _CSV,
]


@click.command(params=_PARAMETERS, epilog=EPILOG)
def compare(
    mechanism: LocalRandomizer,
    n: int,
    delta: float,
    rtol: float,
    corrupted: int | Fraction,
    corrupted_adaptively: int | Fraction,
    view: View,
    as_json: bool,
    as_csv: bool,
) -> None:
    """Compare our bounds on epsilon with all published ones.

    MECHANISM is what each user runs, for example "krr(k=10, epsilon0=2)"; see "shuffledp
    mechanisms" for all of them. Each bound is shown with its ratio to our guarantee and to our
    lower bound; analyses that do not apply say why.
    """
    if as_json and as_csv:
        raise click.UsageError("--json and --csv exclude each other")
    crowd = crowd_asked(n, corrupted, corrupted_adaptively)
    with progress():
        found = compare_bounds(
            mechanism,
            n,
            delta,
            rtol=rtol,
            view=view,
            corrupted=crowd.corrupted,
            corrupted_adaptively=crowd.corrupted_adaptively,
        )
    if as_json:
        click.echo(envelope("compare", found.to_dict(), found.assumptions))
    elif as_csv:
        click.echo(found.to_csv(), nl=False)
    else:
        click.echo(str(found))
