"""``shuffledp compare``: what every published analysis says about one mechanism."""

from __future__ import annotations

from typing import Any

import click

from shuffledp.cli.answers.facts import EPILOG
from shuffledp.cli.answers.shown import envelope
from shuffledp.cli.parameters import DELTA, JSON, RTOL
from shuffledp.cli.setting_options import SHOWN, complete, refuse, save_setting, take_setting
from shuffledp.cli.terminal import progress
from shuffledp.comparison import compare as compare_bounds

_CSV = click.Option(
    ["--csv", "as_csv"],
    is_flag=True,
    help="Print one line per bound with all digits, values separated by commas.",
)


@click.command(params=[*SHOWN[:2], DELTA, RTOL, *SHOWN[2:], JSON, _CSV], epilog=EPILOG)
def compare(
    delta: float,
    rtol: float | None,
    as_json: bool,
    as_csv: bool,
    kept: str | None,
    **options: Any,
) -> None:
    """Compare our bounds on epsilon with all published ones.

    MECHANISM is what each user runs, for example "krr(k=10, epsilon0=2)"; see "shuffledp
    mechanisms" for all of them. Each bound is shown with its ratio to our guarantee and to our
    lower bound; analyses that do not apply say why.
    """
    if as_json and as_csv:
        raise click.UsageError("--json and --csv exclude each other")
    setting = complete(take_setting(options))
    refuse(setting, "published analyses are of users who run one mechanism", "groups")
    with progress():
        found = compare_bounds(
            setting.randomizer,
            setting.crowd.n,
            delta,
            rtol=rtol,
            **setting.conditions,
        )
    save_setting(setting, kept)
    if as_json:
        click.echo(envelope("compare", found.to_dict(), found.assumptions))
    elif as_csv:
        click.echo(found.to_csv(), nl=False)
    else:
        click.echo(str(found))
