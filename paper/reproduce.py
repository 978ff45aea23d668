"""Compute the paper's figures, tables and claims again: ``python paper/reproduce.py --help``."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import click

from reproduction import ITEMS, Outcome, Settings
from reproduction import reproduce as run
from reproduction.folder import Folder
from shuffledp import __version__
from shuffledp.basics.wording import fill
from shuffledp.cli.terminal import counter

_ALL = "all"
_HELP_WIDTH = 76
_INTERRUPTED = 130  # what shells report after Ctrl-C


def _read_names(
    ctx: click.Context, param: click.Parameter, names: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the names of items, each once, in the order of the paper."""
    for name in names:
        if name != _ALL and name not in ITEMS:
            known = ", ".join((_ALL, *ITEMS))
            raise click.BadParameter(f"unknown name {name!r}; known are {known}", ctx, param)
    chosen = set(names) or {_ALL}
    return tuple(name for name in ITEMS if _ALL in chosen or name in chosen)


def _read_folder(ctx: click.Context, param: click.Parameter, path: str) -> Path:
    """Return the folder; one that cannot be written fails now, not after the work."""
    try:
        Folder(Path(path)).prepare()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise click.BadParameter(f"cannot write to {path!r}: {why}", ctx, param) from None
    return Path(path)


_PARAMETERS = [
    click.Argument(["name"], nargs=-1, callback=_read_names, is_eager=True),
    click.Option(
        ["-o", "--out"],
        callback=_read_folder,
        metavar="DIR",
        required=True,
        help="Folder for the files; it is created. What it holds of the same settings is kept.",
    ),
    click.Option(
        ["--points"],
        type=click.IntRange(2, 1000),
        metavar="INTEGER",
        default=Settings().points,
        show_default=True,
        help="Numbers of users per curve: fewer for a quick look, which replaces a full run.",
    ),
    click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON object."),
]

_HELP = f"""Compute the figures, tables and claims of the paper again.

NAME is what to compute, one or several of the following; or all, which is the default:

\b
{textwrap.fill(" ".join(ITEMS), _HELP_WIDTH, break_on_hyphens=False)}

Each item is written to its own files: its numbers (.csv), their settings (.json) and, for a figure,
the picture (.svg). report.html shows all finished items of the folder and what they say about the
paper's claims. An interrupted run continues where it stopped.
"""


@click.command(
    params=_PARAMETERS, help=_HELP, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.pass_context
def main(ctx: click.Context, name: tuple[str, ...], out: Path, points: int, as_json: bool) -> None:
    """Run, then say where the report is and which claims hold."""
    settings = Settings(points=points)
    try:
        with counter(1) as report:
            outcome = run(name, out, settings, report)
    except KeyboardInterrupt:
        click.echo("interrupted: finished items are kept, the same command continues", err=True)
        ctx.exit(_INTERRUPTED)
    except OSError as error:
        raise click.ClickException(f"cannot write to {str(out)!r}: {error.strerror}") from error
    if outcome.plotting_missing is not None:
        raise click.ClickException(
            f"{outcome.plotting_missing}; without it the numbers and {outcome.report} are written"
        )
    click.echo(_to_json(outcome, settings) if as_json else _to_text(outcome))


def _to_text(outcome: Outcome) -> str:
    lines = [
        f"computed  {len(outcome.computed)}",
        f"reused    {len(outcome.reused)}",
        f"report    {outcome.report}",
        "",
    ]
    measured = [claim for claim in outcome.claims if claim.verdict != "not measured"]
    for claim in measured:
        lines.append(f"{claim.verdict.upper()}: {claim.paper}")
        lines += [fill(text, first="  ", rest="  ") for text in claim.found]
    if len(measured) < len(outcome.claims):
        lines.append(f"NOT MEASURED: {len(outcome.claims) - len(measured)} claims need more items.")
    return "\n".join(lines)


def _to_json(outcome: Outcome, settings: Settings) -> str:
    fields = {
        "settings": settings.to_dict(),
        "computed": outcome.computed,
        "reused": outcome.reused,
        "report": str(outcome.report),
        "claims": [
            {
                "name": claim.name,
                "paper": claim.paper,
                "found": claim.found,
                "verdict": claim.verdict,
            }
            for claim in outcome.claims
        ],
        "version": __version__,
    }
    return json.dumps(fields, indent=2, allow_nan=False)


if __name__ == "__main__":
    main()
