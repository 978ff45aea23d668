"""``shuffledp verify``: check a certificate."""

from __future__ import annotations

from dataclasses import asdict
from typing import TextIO

import click

from shuffledp.cli.answers.facts import EPILOG
from shuffledp.cli.answers.shown import to_json
from shuffledp.cli.answers.verified import verified
from shuffledp.cli.parameters import JSON
from shuffledp.cli.terminal import proving


@click.command(
    params=[click.Argument(["file"], type=click.File(encoding="utf-8")), JSON], epilog=EPILOG
)
def verify(file: TextIO, as_json: bool) -> None:
    """Check a certificate: prove its statements again.

    FILE is what "shuffledp certify" printed, a document of "shuffledp report" with a certificate
    inside, or - for standard input; of a document nothing else is checked. Everything is computed
    from the mechanism and the number of users in it. The exit code is 0 only if every statement is
    proved and every field agrees.
    """
    from shuffledp.certificates import Certificate, CertificateError
    from shuffledp.certificates import verify as check
    from shuffledp.outputs.review.embedded import MAX_CHARACTERS, certificate_in, is_page

    try:
        text = file.read(MAX_CHARACTERS + 1)
    except UnicodeDecodeError:
        raise click.ClickException(f"{file.name} is not a certificate: not UTF-8 text") from None
    except OSError as error:
        raise click.ClickException(f"cannot read {file.name}: {error.strerror}") from None
    try:
        certificate = certificate_in(text) if is_page(text) else Certificate.from_json(text)
        with proving() as progress:
            check(certificate, progress=progress)
    except CertificateError as error:
        raise click.ClickException(f"not verified: {error}") from None
    if as_json:
        left_out = ("format", "one_round", "pairs", "assumptions", "versions", "digest")
        found = asdict(certificate).items()
        fields = {name: value for name, value in found if name not in left_out}
        click.echo(to_json({"command": "verify", "verified": True, **fields}))
        return
    for label, value in verified(certificate, of_page=is_page(text)):
        click.echo(label.ljust(13) + value)
