"""``shuffledp report``: the document for a review board."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shuffledp.accounting import MixedAccountant, Setting, ShuffleAccountant
from shuffledp.basics.whole_file import check_writable, write_whole
from shuffledp.cli.answers.asked import accountant
from shuffledp.cli.answers.facts import EPILOG
from shuffledp.cli.parameters import DELTA, RTOL, optional, reading
from shuffledp.cli.setting_options import SETTING, complete, refuse, save_setting, take_setting
from shuffledp.cli.terminal import progress
from shuffledp.outputs.review.cover import ANSWERS, LINES, Cover

if TYPE_CHECKING:
    from shuffledp.certificates import Certificate
    from shuffledp.cli.answers.report_source import Source


def _read_out(text: str) -> Path:
    path = Path(text)
    try:
        check_writable(path)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise ValueError(f"cannot write {text!r}: {why}") from None
    return path


#: Options that are not called as the field; "--version" is that of the program.
_OPTIONS = {"version": "collection-version"}

_PARAMETERS = [
    *SETTING[:2],
    optional(DELTA),
    click.Option(
        ["--from", "source"],
        metavar="FILE",
        help="Take mechanism, users and delta from a file instead: reports that 'randomize' wrote, "
        "or their sum, with their sidecar, a plan of 'plan --study', or a certificate, which is "
        "checked and embedded.",
    ),
    click.Option(
        ["--attribute"],
        metavar="NAME",
        help="Which shuffle of a plan with several: the one that is about this attribute.",
    ),
    RTOL,
    *SETTING[2:],
    *(
        click.Option([f"--{_OPTIONS.get(name, name)}", name], metavar="TEXT", help=says)
        for name, says in {**LINES, **ANSWERS}.items()
    ),
    click.Option(
        ["--cover", "cover_file"],
        metavar="FILE",
        help="Read title, organisation and so on from a TOML file; what the command line says "
        "besides counts instead.",
    ),
    click.Option(
        ["--certify", "certified"],
        is_flag=True,
        help="Prove the guarantee, of one round of honest users, and embed the certificate.",
    ),
    click.Option(
        ["-o", "--out"],
        callback=reading(_read_out),
        metavar="FILE",
        help="Write the page to a file. Without it the page is printed.",
    ),
]


@click.command(params=_PARAMETERS, epilog=EPILOG)
def report(out: Path | None, certified: bool, kept: str | None, **options: Any) -> None:
    """Write the document for a review board: one HTML page.

    It holds the statement to quote, what is assumed and what holds if that fails, the guarantee as
    curves and in terms of attackers, what published analyses say, and definitions, about one round
    or about several together. What only the owner of the collection knows, such as how long reports
    are kept, is given by --retention and so on, and marked where it is missing. It prints on about
    four pages. Needs the extra "plot".

    MECHANISM is what each user runs, for example "krr(k=10, epsilon0=2)"; see "shuffledp
    mechanisms" for all of them.
    """
    from shuffledp.outputs.review import review_page

    cover = _cover(options)
    source = _question(options)
    asked = accountant(source.setting, options["rtol"])
    if isinstance(asked, MixedAccountant):
        raise click.UsageError(
            "documents are about users who run one mechanism; 'shuffledp epsilon --setting' "
            "answers for groups"
        )
    if certified and source.certificate:
        raise click.UsageError("--certify proves what the certificate of --from has proved")
    if certified or source.certificate:
        refuse(source.setting, "certificates are about one round", "rounds", "at_most")
        honest = ("corrupted", "corrupted_adaptively")
        refuse(source.setting, "certificates are about honest users", *honest)
    with progress():
        found, certificate = asked.epsilon_report(source.delta), source.certificate
        if certificate is not None:
            _check(certificate)
        elif certified and isinstance(asked, ShuffleAccountant):
            from shuffledp.certificates import certify

            certificate = certify(asked, target_delta=source.delta)
        page = review_page(found, cover, certificate, source.whole)
    save_setting(source.setting, kept)
    if out is None:
        click.echo(page, nl=False)
    else:
        write_whole(out, page.encode())
        click.echo(str(out))


def _cover(options: dict[str, Any]) -> Cover:
    """Take what the owner of the collection says out of the options."""
    said = {name: options.pop(name) for name in (*LINES, *ANSWERS)}
    file = options.pop("cover_file")
    try:
        base = Cover() if file is None else Cover.load(file)
        return replace(base, **{name: text for name, text in said.items() if text is not None})
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def _check(certificate: Certificate) -> None:
    """Prove again what a certificate says; only then it goes into a document."""
    from shuffledp.certificates import CertificateError, verify

    try:
        verify(certificate)
    except CertificateError as error:
        raise click.ClickException(f"not verified: {error}") from None


def _question(options: dict[str, Any]) -> Source:
    """Take mechanism, users and delta out of the options, all from one source."""
    from shuffledp.cli.answers.report_source import Source, read_source

    setting, delta = take_setting(options), options.pop("delta")
    name, attribute = options.pop("source"), options.pop("attribute")
    if name is None:
        if delta is None:
            raise click.UsageError("Missing option '--delta', or '--from'")
        if attribute is not None:
            raise click.UsageError("--attribute chooses a shuffle of a plan: it needs --from")
        return Source(complete(setting), delta)
    if delta is not None:
        raise click.UsageError("'--from' says itself what '--delta' is")
    refuse(setting, "'--from' says itself what is collected", "mechanism", "n", "groups", "view")
    try:
        source = read_source(name, attribute)
        return replace(source, setting=replace(source.setting, **_besides(setting)))
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def _besides(setting: Setting) -> dict[str, Any]:
    """Return what the command line adds to what a file says."""
    usual = Setting()
    return {
        name: value for name, value in setting.conditions.items() if value != getattr(usual, name)
    }
