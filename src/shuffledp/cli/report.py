"""``shuffledp report``: the document for a review board."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from shuffledp.cli.accountant import accountant
from shuffledp.cli.facts import EPILOG
from shuffledp.cli.parameters import (
    BOUND,
    CORRUPTED,
    CORRUPTED_ADAPTIVELY,
    DELTA,
    RTOL,
    USERS,
    optional,
    reading,
)
from shuffledp.cli.terminal import progress
from shuffledp.files import DataError, Sidecar
from shuffledp.files.sidecar import read_sidecar
from shuffledp.randomizers import parse
from shuffledp.whole_file import check_writable, write_whole


def _read_out(text: str) -> Path:
    path = Path(text)
    try:
        check_writable(path)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise ValueError(f"cannot write {text!r}: {why}") from None
    return path


def _read_reports(text: str) -> Sidecar:
    """Return what goes with a file of reports; those that a seed repeats have no guarantee."""
    path = Path(text)
    try:
        found = read_sidecar(path)
        found.check_file(path)
    except DataError as error:
        raise ValueError(str(error)) from None
    if found.seeded:
        raise ValueError(f"{text!r} was made from a seed, so it has no guarantee to write about")
    if found.warnings:
        raise ValueError(f"{text!r} has no guarantee to write about: {found.warnings[0]}")
    return found


_MECHANISM = click.Argument(["mechanism"], required=False, callback=reading(parse))

_PARAMETERS = [
    _MECHANISM,
    optional(USERS),
    optional(DELTA),
    click.Option(
        ["--reports"],
        callback=reading(_read_reports),
        metavar="FILE",
        help="Take mechanism, users and delta from the sidecar of a file that 'randomize' wrote, "
        "instead of MECHANISM, -n and --delta.",
    ),
    RTOL,
    BOUND,
    CORRUPTED,
    CORRUPTED_ADAPTIVELY,
    click.Option(["--title"], metavar="TEXT", help="What the document is called."),
    click.Option(["--organisation"], metavar="TEXT", help="Who collects the data."),
    click.Option(["--contact"], metavar="TEXT", help="Whom to ask."),
    click.Option(
        ["--certify", "certified"],
        is_flag=True,
        help='Prove the guarantee and embed the certificate. Needs the extra "certify".',
    ),
    click.Option(
        ["-o", "--out"],
        callback=reading(_read_out),
        metavar="FILE",
        help="Write the page to a file. Without it the page is printed.",
    ),
]


@click.command(params=_PARAMETERS, epilog=EPILOG)
def report(out: Path | None, certified: bool, reports: Sidecar | None, **options: Any) -> None:
    """Write the document for a review board: one HTML page.

    It holds the statement to quote, what is assumed and what holds if that fails, the guarantee as
    curves and in terms of attackers, what published analyses say, and definitions. It prints on
    about three pages. Needs the extra "plot".

    MECHANISM is what each user runs, for example "krr(k=10, epsilon0=2)"; see "shuffledp
    mechanisms" for all of them.
    """
    from shuffledp.review import Cover, review_page

    try:
        texts = {name: options.pop(name) for name in ("title", "organisation", "contact")}
        cover = Cover(**{name: text for name, text in texts.items() if text is not None})
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    options |= _question(reports, {name: options.pop(name) for name in _QUESTION})
    delta = options.pop("delta")
    asked = accountant(**options)
    if certified and asked.crowd.assumptions:
        raise click.UsageError("--certify proves guarantees for honest users, without --corrupted")
    with progress():
        found, certificate = asked.epsilon_report(delta), None
        if certified:
            from shuffledp.certification import certify

            certificate = certify(asked, target_delta=delta)
        page = review_page(found, cover, certificate)
    if out is None:
        click.echo(page, nl=False)
    else:
        write_whole(out, page.encode())
        click.echo(str(out))


_QUESTION = ("mechanism", "n", "delta")


def _question(reports: Sidecar | None, given: dict[str, Any]) -> dict[str, Any]:
    """Return mechanism, users and delta, all from one source."""
    known = [name for name, value in given.items() if value is not None]
    if reports is None:
        if len(known) < len(given):
            raise click.UsageError("give MECHANISM, '-n' / '--users' and '--delta', or '--reports'")
        return given
    if known:
        raise click.UsageError("'--reports' says itself what MECHANISM, '-n' and '--delta' are")
    delta = reports.guarantee.delta
    return {"mechanism": reports.randomizer(), "n": reports.n, "delta": delta}
