"""``shuffledp explore``: a local page to play with."""

from __future__ import annotations

import webbrowser

import click

from shuffledp.cli.answers.facts import EPILOG
from shuffledp.cli.parameters import reading, whole

_MAX_PORT = 65535

_PARAMETERS = [
    click.Option(
        ["--port"],
        callback=reading(whole("port", 0, _MAX_PORT)),
        metavar="INTEGER",
        default="0",
        help="Where the page is served on this machine. Default: any port that is free.",
    ),
    click.Option(
        ["--browser/--no-browser"],
        default=True,
        help="Whether to open the page in a browser. Its address is printed in any case.",
    ),
]


@click.command(params=_PARAMETERS, epilog=EPILOG)
@click.pass_context
def explore(context: click.Context, port: int, browser: bool) -> None:
    """Open a page with sliders, curves, plans and rounds.

    Settings, certificates and reports can be dropped on it. It is served to this machine alone,
    loads nothing from elsewhere, and ends with Ctrl-C. Needs the extra "web".
    """
    from shuffledp.cli.answers.served import ask, served
    from shuffledp.web import create_app, listen, serve

    group = context.find_root().command
    commands = group.commands if isinstance(group, click.Group) else {}
    try:
        door = listen(port)
    except OSError as error:
        raise click.ClickException(f"port {port} cannot be used: {error.strerror}") from None
    app = create_app(ask, served(commands), port=door.getsockname()[1])

    def ready(address: str) -> None:
        click.echo(f"{address}  (Ctrl-C ends it)")
        if browser:
            webbrowser.open(address)

    serve(app, door, ready)
