"""The command ``shuffledp`` and what happens when something goes wrong."""

from __future__ import annotations

import errno
import warnings
from typing import Any

import click

from shuffledp._version import __version__
from shuffledp.basics.cluster import ClusterError
from shuffledp.basics.errors import ClaimError, NoAnswerError
from shuffledp.basics.extras import MissingExtraError
from shuffledp.cli.answers.facts import EPILOG
from shuffledp.cli.commands import Commands
from shuffledp.cli.internal_error import InternalError
from shuffledp.cli.misspelling import with_guess

_INTERRUPTED = 130  # what shells report after Ctrl-C
_ARGUMENTS = "shuffledp.arguments"


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
