"""What the page asks besides commands: a setting as TOML, and what a file says that it opens."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from shuffledp.accounting import Group, OpenGroup, Setting
from shuffledp.cli.answers.shown import to_json
from shuffledp.cli.answers.verified import verified
from shuffledp.cli.group_option import DUMMIES, GROUP
from shuffledp.cli.parameters import JSON
from shuffledp.cli.setting_options import FILES, SETTING, take_setting
from shuffledp.mechanisms import parse

if TYPE_CHECKING:
    from shuffledp.certificates import Certificate


@click.command(params=[*(p for p in SETTING if p not in FILES), GROUP, DUMMIES])
def setting(groups: tuple[Group | OpenGroup, ...], dummies: int | None, **options: Any) -> None:
    """Print a setting as TOML, which --setting of all commands reads."""
    try:
        given = tuple(group for group in groups if isinstance(group, Group))
        if len(given) < len(groups):
            raise ValueError("groups must say epsilon0, which a setting keeps")
        asked = take_setting({**options, "setting_file": None})
        asked = replace(asked, groups=given, dummies=dummies or 0)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    click.echo(asked.to_toml(), nl=False)


@click.command("open", params=[click.Argument(["text"]), JSON])
def opened(text: str, as_json: bool) -> None:
    """Say what the text of a file is: a setting, or what its certificate proves."""
    from shuffledp.certificates import Certificate, CertificateError
    from shuffledp.certificates import verify as check
    from shuffledp.outputs.review.embedded import certificate_in, is_page

    of_page = is_page(text)
    if not of_page and not text.lstrip("\ufeff \t\r\n").startswith("{"):
        click.echo(to_json({"file": "setting", "setting": _read(text).to_dict()}))
        return
    try:
        certificate = certificate_in(text) if of_page else Certificate.from_json(text)
        check(certificate)
    except CertificateError as error:
        raise click.ClickException(f"not verified: {error}") from None
    found = {
        "file": "document" if of_page else "certificate",
        "verified": [list(row) for row in verified(certificate, of_page=of_page)],
        "setting": _setting_of(certificate).to_dict(),
        "delta": certificate.guarantee.delta,
    }
    click.echo(to_json(found))


def _read(text: str) -> Setting:
    """Return the setting of a text in TOML; no mechanism in it is read from a file."""
    try:
        written = tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        raise click.UsageError(
            f"the file is neither a setting (TOML) nor a certificate nor a document: {error}"
        ) from None
    groups = written.get("groups")
    try:
        for entry in (written, *(groups if isinstance(groups, list) else ())):
            if isinstance(entry, dict) and isinstance(entry.get("mechanism"), str):
                entry["mechanism"] = parse(entry["mechanism"], files=False)
        return Setting.from_dict(written)
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def _setting_of(certificate: Certificate) -> Setting:
    return Setting(
        mechanism=parse(certificate.mechanism, files=False),
        n=certificate.n,
        corrupted=certificate.corrupted,
        rounds=certificate.rounds,
        at_most=certificate.at_most,
        view="sum" if certificate.is_of_sums else "multiset",
    )


#: By name the questions of the page alone.
QUESTIONS = {command.name or "": command for command in (setting, opened)}
