"""The command ``shuffledp`` and what happens when something goes wrong."""

from __future__ import annotations

import errno
import os
import platform
import shlex
import traceback
import warnings
from collections.abc import Sequence
from typing import IO, Any

import click
import numpy as np

from shuffledp._version import __version__
from shuffledp.basics.cluster import ClusterError
from shuffledp.basics.errors import ClaimError, NoAnswerError
from shuffledp.basics.extras import MissingExtraError
from shuffledp.basics.wording import closest, did_you_mean
from shuffledp.cli.answers.facts import EPILOG
from shuffledp.cli.commands import Commands

#: Set it to see the traceback of an internal error.
TRACEBACK = "SHUFFLEDP_TRACEBACK"

_EX_SOFTWARE = 70  # "internal software error" in sysexits.h

_INTERRUPTED = 130  # what shells report after Ctrl-C

_ARGUMENTS = "shuffledp.arguments"


class InternalError(click.ClickException):
    """A mistake of the package: no answer, and one line with all that a report of it needs."""

    exit_code = _EX_SOFTWARE

    def __init__(self, error: Exception, arguments: Sequence[str]) -> None:
        self.error = error
        where = (
            f"shuffledp {__version__}, numpy {np.__version__}, Python {platform.python_version()}, "
            f"{platform.machine()}"
        )
        command = shlex.join(["shuffledp", *arguments])
        line = (
            "no answer because of an error in shuffledp itself, please report it: "
            f"{error!r} in {command} ({where}; {TRACEBACK}=1 shows more)"
        )
        super().__init__(" ".join(line.split()))

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the line, after the traceback if that is wanted."""
        if os.environ.get(TRACEBACK, "0") not in ("", "0"):
            click.echo(
                "".join(traceback.format_exception(self.error)), file=file, err=True, nl=False
            )
        super().show(file)


class TidyGroup(click.Group):
    """A group whose commands never end in a traceback."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order in which they were added."""
        return list(self.commands)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Remember the arguments, which a report of an error needs."""
        ctx.meta[_ARGUMENTS] = tuple(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; say in one line what went wrong.

        Warnings are not shown: answers say themselves where the asked accuracy was not reached.
        """
        typed = list(ctx.args)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return super().invoke(ctx)
        except click.NoSuchOption as error:
            raise with_guess(error, typed) from None
        except (click.ClickException, click.Abort, click.exceptions.Exit):
            raise
        except KeyboardInterrupt:
            ctx.exit(_INTERRUPTED)
        except (ClaimError, NoAnswerError, MissingExtraError, ClusterError) as error:
            raise click.ClickException(str(error)) from error
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise  # click ends quietly when nobody reads on
            what = "write the answer" if error.filename is None else f"use {error.filename!r}"
            raise click.ClickException(f"cannot {what}: {error.strerror or error}") from error
        except Exception as error:
            raise InternalError(error, ctx.meta[_ARGUMENTS]) from error


@click.group(
    cls=TidyGroup,
    commands=Commands(),
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="shuffledp", message="%(prog)s %(version)s")
def main() -> None:
    """Certified privacy of locally randomized reports behind a shuffler.

    n people each randomize their own answer, and a shuffler hides who sent which report. How much
    privacy is there really?
    """


def with_guess(error: click.NoSuchOption, typed: Sequence[str]) -> click.NoSuchOption:
    """Return the error with the option as typed, and those that look like it.

    click reads ``-delta`` as the short option ``-d``, and takes ``--n`` for ``--json``.

    Args:
        error: what click says.
        typed: the arguments of the command.
    """
    words = [word.partition("=")[0] for word in typed]
    word = next((word for word in words if word.startswith(error.option_name)), error.option_name)
    context = error.ctx
    options: dict[str, str] = {}
    if context is not None:
        known = (name for p in context.command.get_params(context) for name in p.opts)
        options = {name.lstrip("-"): name for name in known if name.startswith("-")}
    name = word.lstrip("-")
    exact = options.get(name) or options.get(name.lower().replace("_", "-"))
    meant = [exact] if exact else [options[found] for found in closest(name, options)]
    message = f"No such option {word!r}{did_you_mean(meant)}"
    return click.NoSuchOption(word, message=message, ctx=context)
